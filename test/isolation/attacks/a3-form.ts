import { form, defineSection } from './attack.js'

/** So many values that a search no longer fits into a URL. */
const padding = Array.from({ length: 100 }, (_, at) => `${at}`.padStart(64, 'p')).join(',')
/** More records than one look-up names. */
const many = Array.from({ length: 210 }, (_, at) => ({ item: { reference: `Patient/nobody-${at}` } }))

/** A3: searches that the gateway sends as a form, of which servers read the form, the URL or both. */
export const formSearches = defineSection([
  { row: 'A3 padded search', send: `GET /Patient?family={secret},${padding}`, status: 200, shows: ['"total":0'] },
  {
    row: 'A3 padded search',
    send: `GET /Patient?identifier=urn:mrn|{secret},${padding}`,
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 padded search',
    send: `GET /Patient?identifier=urn:mrn|{secret},${padding}&_summary=count`,
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 padded search',
    send: `GET /Patient?identifier=urn:mrn|{secret},${padding}&_count=0`,
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 padded search',
    send: `GET /Observation?code={secret},${padding}&_total=accurate&_include=Observation:subject`,
    status: 200,
    shows: ['"total":0']
  },
  { row: 'A3 padded search', send: `GET /Patient?_id={stranger},${padding}`, status: 200, shows: ['"total":0'] },
  {
    row: 'A3 padded search by form',
    send: 'POST /Patient/_search',
    headers: [form],
    body: `family={secret},${padding}`,
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 padded chain',
    send: `GET /Observation?subject:Patient.family={secret},${padding}`,
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 padded _has',
    send: `GET /Patient?_has:Observation:patient:code={secret},${padding}`,
    status: 200,
    shows: ['"total":0']
  },
  { row: 'A3 padded honest', send: `GET /Patient?family={ownMark},${padding}`, status: 200, shows: ['{own}'] },
  {
    row: 'A3 padded honest chain',
    send: `GET /Observation?subject:Patient.family={ownMark},${padding}`,
    status: 200,
    shows: ['{own}']
  },
  {
    row: 'A3 padded two owners',
    send: `GET /Flag?_id={twoTags},${padding}`,
    status: 200,
    shows: ['"total":0'],
    incident: true
  },
  { row: 'A4 padded conditional delete', send: `DELETE /Patient?identifier=urn:mrn|{secret},${padding}`, status: 204 },
  {
    row: 'A4 padded conditional patch',
    send: `PATCH /Patient?identifier=urn:mrn|{secret},${padding}`,
    headers: ['content-type: application/json-patch+json'],
    body: [{ op: 'add', path: '/gender', value: 'other' }],
    status: 404
  },
  {
    row: 'A7 many references',
    send: 'POST /List',
    body: {
      resourceType: 'List',
      status: 'current',
      mode: 'working',
      entry: [...many, { item: { reference: 'Patient/{stranger}' } }]
    },
    status: 422
  }
])
