import { defineSection } from './attack.js'

const types = [
  'Patient',
  'Practitioner',
  'Organization',
  'Observation',
  'Encounter',
  'Flag',
  'List',
  'Questionnaire',
  'Binary',
  'Bundle'
]

/** A1: read, vread, history, HEAD, conditional reads. */
export const reads = defineSection([
  ...types.map(type => ({ row: 'A1 read', send: `GET /${type}/{stranger}`, status: 404 })),
  { row: 'A1 read', send: 'GET /Patient/{own}', status: 200, shows: ['{ownMark}', '{own}'] },
  { row: 'A1 read', send: 'GET /Observation/{own}', status: 200, shows: ['{ownMark}', 'Patient/{own}'] },
  { row: 'A1 read', send: 'GET /Questionnaire/{own}', status: 200, shows: ['{ownMark}'] },
  { row: 'A1 read', send: 'GET /Patient/{theirs}', as: 'victim', status: 200, shows: ['{theirMark}'] },
  { row: 'A1 read', send: 'GET /Patient/{liveOnly}', as: 'live', status: 200, shows: ['{liveMark}'] },
  { row: 'A1 read', send: 'GET /Patient/{own}', as: 'live', status: 404 },
  { row: 'A1 read of another type', send: 'GET /Practitioner/{intruder}', status: 404 },
  { row: 'A1 read of another type', send: 'GET /Parameters/{stranger}', status: 404 },
  { row: 'A1 read of another type', send: 'GET /patient/{own}', status: 404 },
  { row: 'A1 vread', send: 'GET /Patient/{stranger}/_history/1', status: 404 },
  { row: 'A1 vread', send: 'GET /Observation/{stranger}/_history/1', status: 404 },
  { row: 'A1 vread', send: 'GET /Flag/{stranger}/_history/1', status: 404 },
  { row: 'A1 vread', send: 'GET /Patient/{own}/_history/1', status: 200, shows: ['{ownMark}'] },
  { row: 'A1 vread', send: 'GET /Patient/{own}/_history/99', status: 404 },
  { row: 'A1 vread', send: 'GET /Patient/{own}/_history/a%2Fb', status: 404 },
  { row: 'A1 vread', send: 'GET /Patient/{own}/_history/..', status: 404 },
  { row: 'A1 vread', send: 'GET /Patient/{own}/_history/1?_format=xml', status: 406 },
  { row: 'A1 vread of a former owner', send: 'GET /Basic/{inherited}/_history/1', status: 404 },
  { row: 'A1 vread of a former owner', send: 'GET /Basic/{inherited}/_history/2', status: 200, shows: ['{ownMark}'] },
  { row: 'A1 history', send: 'GET /Patient/{stranger}/_history', status: 404 },
  { row: 'A1 history', send: 'GET /Observation/{stranger}/_history', status: 404 },
  { row: 'A1 history', send: 'GET /Flag/{stranger}/_history', status: 404 },
  { row: 'A1 history', send: 'GET /Patient/{stranger}/_history?_since=2020-01-01T00:00:00Z&_count=1', status: 404 },
  { row: 'A1 history', send: 'GET /Patient/{own}/_history', status: 200, shows: ['{ownMark}', '"total":'] },
  {
    row: 'A1 history of a former owner',
    send: 'GET /Basic/{inherited}/_history',
    status: 200,
    shows: ['{ownMark}'],
    hides: ['"total":']
  },
  {
    row: 'A1 history of a former owner',
    send: 'GET /Basic/{inherited}/_history?_since=2001-01-01T00:00:00Z',
    status: 200,
    shows: ['{ownMark}'],
    hides: ['"total":']
  },
  { row: 'A1 history', send: 'GET /Patient/{own}/_history?_at=2020', status: 400 },
  { row: 'A1 history', send: 'GET /Patient/{own}/_history?_since=ge2020', status: 400 },
  { row: 'A1 history', send: 'GET /Patient/{own}/_history?_count=-1', status: 400 },
  { row: 'A1 history', send: 'GET /Patient/{own}/_history?_offset=0', status: 400 },
  { row: 'A1 history', send: 'GET /Patient/{own}/_history?_tag=urn:clinigate:tenant|{theirTenant}', status: 400 },
  { row: 'A1 type history', send: 'GET /Patient/_history', status: 405 },
  { row: 'A1 type history', send: 'GET /Patient/_history?_tag=urn:clinigate:tenant|{ownTenant}', status: 405 },
  { row: 'A1 type history', send: 'GET /Patient/_history/1', status: [404, 405] },
  { row: 'A1 system history', send: 'GET /_history', status: [404, 405] },
  { row: 'A1 system history', send: 'GET /_history?_count=1', status: [404, 405] },
  { row: 'A1 HEAD', send: 'HEAD /Patient/{stranger}', status: 404 },
  { row: 'A1 HEAD', send: 'HEAD /Patient/{stranger}/_history/1', status: 404 },
  { row: 'A1 HEAD', send: 'HEAD /Patient/{own}', status: 200 },
  { row: 'A1 HEAD', send: 'HEAD /Patient?family={secret}', status: 200 },
  ...[
    'if-none-match: W/"1"',
    'if-none-match: "1"',
    'if-none-match: *',
    'if-modified-since: Sat, 01 Jan 2050 00:00:00 GMT',
    'if-unmodified-since: Sat, 01 Jan 2000 00:00:00 GMT',
    'if-match: W/"1"',
    'if-match: W/"9"',
    'range: bytes=0-10',
    'if-range: W/"1"'
  ].flatMap(header => [
    { row: 'A1 conditional read', send: 'GET /Patient/{stranger}', headers: [header], status: 404 },
    { row: 'A1 conditional read', send: 'HEAD /Flag/{stranger}', headers: [header], status: 404 },
    { row: 'A1 conditional read', send: 'GET /Patient/{stranger}/_history/1', headers: [header], status: 404 }
  ]),
  { row: 'A1 conditional read', send: 'GET /Patient/{own}', headers: ['if-none-match: W/"1"'], status: 304 },
  {
    row: 'A1 conditional read',
    send: 'GET /Patient/{own}',
    headers: ['if-none-match: W/"9"'],
    status: 200,
    shows: ['{ownMark}']
  },
  ...[
    '_elements=id',
    '_elements=name',
    '_elements=meta',
    '_summary=true',
    '_summary=text',
    '_summary=data',
    '_summary=false'
  ].flatMap(query => [
    { row: 'A1 _elements and _summary', send: `GET /Patient/{stranger}?${query}`, status: 404 },
    { row: 'A1 _elements and _summary', send: `GET /Flag/{stranger}?${query}`, status: 404 }
  ]),
  {
    row: 'A1 _elements and _summary',
    send: 'GET /Patient/{own}?_elements=birthDate',
    status: 200,
    shows: ['1990-03-14'],
    hides: ['"name"', '"text"']
  },
  { row: 'A1 _elements and _summary', send: 'GET /Patient/{own}?_elements:exclude=meta', status: 400 },
  { row: 'A1 _elements and _summary', send: 'GET /Patient/{own}?_elements=Patient.name', status: 400 },
  { row: 'A1 _elements and _summary', send: 'GET /Patient/{own}?_elements=id%26_tag=x', status: 400 },
  { row: 'A1 _elements and _summary', send: 'GET /Patient/{own}?_summary=count', status: [200, 400] },
  ...['xml', 'ttl', 'html', 'application/fhir%2Bxml', 'ndjson', 'text/html', 'json;x=%0d%0ay'].map(format => ({
    row: 'A1 _format',
    send: `GET /Patient/{stranger}?_format=${format}`,
    status: format.startsWith('json') ? [404, 406] : 406
  })),
  { row: 'A1 _format', send: 'GET /Patient/{own}?_format=json', status: 200, shows: ['{ownMark}'] },
  { row: 'A1 _format', send: 'GET /Patient/{own}?_format=json&_format=xml', status: 406 },
  { row: 'A1 _format', send: 'GET /Patient/{stranger}', headers: ['accept: application/fhir+xml'], status: 406 },
  {
    row: 'A1 _format',
    send: 'GET /Patient/{own}',
    headers: ['accept: application/fhir+json; fhirVersion=4.0'],
    status: 200,
    shows: ['{ownMark}']
  },
  ...['OPTIONS', 'TRACE', 'PROPFIND', 'LINK', 'SEARCH', 'QUERY'].map(method => ({
    row: 'A1 other methods',
    send: `${method} /Patient/{stranger}`,
    status: [400, 404, 405]
  })),
  { row: 'A1 read', send: 'GET /Patient/{stranger}?x=1', status: 400 },
  { row: 'A1 read', send: 'GET /Patient/{own}?_tag=urn:clinigate:tenant|{theirTenant}', status: 400 }
])
