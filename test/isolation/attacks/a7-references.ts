import { defineSection } from './attack.js'

const observation = (more: object) => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: '{ownMark}' },
  ...more
})
const to = (reference: unknown) => observation({ subject: { reference } })

/** Texts in place of `Type/id` that one server or another follows to a record. */
const spellings = [
  'Patient/{stranger}',
  'Patient/{stranger}/_history/1',
  '{backend}/Patient/{stranger}',
  'https://gateway.test/v1/fhir/Patient/{stranger}',
  'https://gateway.test/v1/fhir/Patient/{stranger}/_history/1',
  'https://gateway.test/v1/fhir/Patient?_id={stranger}',
  'http://127.0.0.1/fhir/Patient/{stranger}',
  './Patient/{stranger}',
  '/Patient/{stranger}',
  '//Patient/{stranger}',
  'Patient//{stranger}',
  '../fhir/Patient/{stranger}',
  'Patient/{stranger}?x',
  ' Patient/{stranger}',
  'Patient/{stranger} ',
  'Patient/{stranger}#x',
  'Patient/{stranger}|1',
  '{stranger}',
  'patient/{stranger}',
  'Patient?_id={stranger}',
  'Patient?identifier=urn:mrn|{stranger}',
  'Patient?family={stranger}',
  'Patient/{stranger}/',
  'Patient/{stranger}/Observation/1',
  'Patient/%7Bstranger}',
  'urn:uuid:{stranger}',
  'urn:oid:1.2.3',
  '#{stranger}',
  'ValueSet/{stranger}',
  'Subscription/{stranger}',
  'Binary/{stranger}',
  'Practitioner/{stranger}',
  'Patient/{stranger}\\u0000',
  'Patient/{stranger}%00',
  'Patient\\{stranger}',
  'Patient/{stranger},Patient/{own}',
  'https://evil.example/fhir/Patient/{stranger}',
  'javascript:x',
  ''
]

const ofPatient = { reference: 'Patient/{stranger}' }

/** Every place in a resource that leads to a record, or might. */
const referenceLocations: ReadonlyArray<readonly [string, object]> = [
  [
    'performer',
    observation({ performer: [{ reference: 'Practitioner/{own}' }, { reference: 'Practitioner/{stranger}' }] })
  ],
  ['extension', observation({ extension: [{ url: 'http://x.example/e', valueReference: ofPatient }] })],
  [
    'extension in an extension',
    observation({ extension: [{ url: 'http://x.example/e', extension: [{ url: 'y', valueReference: ofPatient }] }] })
  ],
  ['modifierExtension', observation({ modifierExtension: [{ url: 'http://x.example/e', valueReference: ofPatient }] })],
  [
    'extension of a primitive',
    observation({ _status: { extension: [{ url: 'http://x.example/e', valueReference: ofPatient }] } })
  ],
  [
    'extension of a reference',
    observation({
      subject: { reference: 'Patient/{own}', extension: [{ url: 'http://x.example/e', valueReference: ofPatient }] }
    })
  ],
  [
    'extension of meta',
    observation({ meta: { extension: [{ url: 'http://x.example/e', valueReference: ofPatient }] } })
  ],
  ['annotation', observation({ note: [{ text: 'x', authorReference: { reference: 'Practitioner/{stranger}' } }] })],
  [
    'contained',
    observation({
      contained: [
        { resourceType: 'Encounter', id: 'e', status: 'planned', class: { code: 'AMB' }, subject: ofPatient }
      ],
      encounter: { reference: '#e' }
    })
  ],
  [
    'contained in contained',
    observation({
      contained: [
        { resourceType: 'Bundle', id: 'b', type: 'collection', entry: [{ resource: to('Patient/{stranger}') }] }
      ]
    })
  ],
  [
    'identifier assigner',
    observation({ identifier: [{ value: 'x', assigner: { reference: 'Organization/{stranger}' } }] })
  ],
  ['List', { resourceType: 'List', status: 'current', mode: 'working', entry: [{ item: ofPatient }] }],
  ['Group', { resourceType: 'Group', type: 'person', actual: true, member: [{ entity: ofPatient }] }],
  [
    'Provenance',
    {
      resourceType: 'Provenance',
      target: [ofPatient],
      recorded: '2026-01-01T00:00:00Z',
      agent: [{ who: { reference: 'Practitioner/{own}' } }]
    }
  ],
  [
    'Provenance of a version',
    {
      resourceType: 'Provenance',
      target: [{ reference: 'Patient/{stranger}/_history/1' }],
      recorded: '2026-01-01T00:00:00Z',
      agent: [{ who: { reference: 'Practitioner/{own}' } }]
    }
  ],
  [
    'AuditEvent',
    {
      resourceType: 'AuditEvent',
      type: { code: 'rest' },
      recorded: '2026-01-01T00:00:00Z',
      agent: [{ requestor: true }],
      source: { observer: { reference: 'Organization/{own}' } },
      entity: [{ what: ofPatient }]
    }
  ],
  [
    'Composition',
    {
      resourceType: 'Composition',
      status: 'final',
      type: { text: 'x' },
      date: '2026-01-01',
      author: [{ reference: 'Practitioner/{own}' }],
      title: 'x',
      section: [{ section: [{ entry: [ofPatient] }] }]
    }
  ],
  [
    'QuestionnaireResponse answer',
    {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      item: [{ linkId: '1', answer: [{ item: [{ linkId: '2', answer: [{ valueReference: ofPatient }] }] }] }]
    }
  ],
  [
    'QuestionnaireResponse questionnaire',
    { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: 'Questionnaire/{stranger}' }
  ],
  [
    'canonical with a version',
    { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: 'Questionnaire/{stranger}|1' }
  ],
  [
    'canonical with a fragment',
    { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: 'Questionnaire/{stranger}#x' }
  ],
  [
    'canonical below the datastore',
    { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: '{backend}/Questionnaire/{stranger}' }
  ],
  [
    'canonical below the gateway',
    {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      questionnaire: 'https://gateway.test/v1/fhir/Questionnaire/{stranger}|1'
    }
  ],
  [
    'attachment',
    { resourceType: 'DocumentReference', status: 'current', content: [{ attachment: { url: 'Binary/{stranger}' } }] }
  ],
  [
    'attachment below the datastore',
    {
      resourceType: 'DocumentReference',
      status: 'current',
      content: [{ attachment: { url: '{backend}/Binary/{stranger}' } }]
    }
  ],
  [
    'attachment below the gateway',
    {
      resourceType: 'DocumentReference',
      status: 'current',
      content: [{ attachment: { url: 'https://gateway.test/v1/fhir/Binary/{stranger}' } }]
    }
  ],
  ['photo', { resourceType: 'Patient', photo: [{ url: 'Binary/{stranger}' }] }],
  ['link', { resourceType: 'Patient', link: [{ other: ofPatient, type: 'seealso' }] }],
  ['stored Bundle', { resourceType: 'Bundle', type: 'collection', entry: [{ resource: to('Patient/{stranger}') }] }],
  [
    'stored Bundle with its own',
    {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        {
          fullUrl: 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0',
          resource: { resourceType: 'Patient', contained: [{ resourceType: 'Patient', id: '{stranger}' }] }
        },
        { fullUrl: 'https://gateway.test/v1/fhir/Patient/{stranger}', resource: to('Patient/{stranger}') }
      ]
    }
  ],
  [
    'stored Bundle with what another entry contains',
    {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        { resource: { resourceType: 'Patient', contained: [{ resourceType: 'Patient', id: '{stranger}' }] } },
        { resource: to('#{stranger}') }
      ]
    }
  ],
  [
    'stored Bundle fullUrl',
    {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [{ fullUrl: 'Patient/{stranger}', resource: { resourceType: 'Patient' } }]
    }
  ],
  [
    'stored Bundle request',
    {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [{ request: { method: 'DELETE', url: 'Patient/{stranger}' } }]
    }
  ],
  [
    'Binary securityContext',
    { resourceType: 'Binary', contentType: 'text/plain', data: 'eA==', securityContext: ofPatient }
  ],
  ['Basic', { resourceType: 'Basic', code: { text: 'x' }, subject: ofPatient }],
  [
    'Task input',
    {
      resourceType: 'Task',
      status: 'draft',
      intent: 'order',
      input: [{ type: { text: 'x' }, valueReference: ofPatient }]
    }
  ],
  [
    'Task instantiates',
    { resourceType: 'Task', status: 'draft', intent: 'order', instantiatesUri: 'Questionnaire/{stranger}' }
  ],
  ['Linkage', { resourceType: 'Linkage', item: [{ type: 'source', resource: ofPatient }] }],
  [
    'Consent data',
    {
      resourceType: 'Consent',
      status: 'active',
      scope: { text: 'x' },
      category: [{ text: 'x' }],
      provision: { data: [{ meaning: 'instance', reference: ofPatient }] }
    }
  ],
  ['a list of texts', observation({ subject: { reference: ['Patient/{stranger}'] } })],
  ['a list of references', observation({ subject: [ofPatient] })],
  ['a list of lists', observation({ performer: [[{ reference: 'Practitioner/{stranger}' }]] })],
  ['an unknown element', observation({ nosuch: ofPatient })],
  ['Media content', { resourceType: 'Media', status: 'completed', content: { url: 'Binary/{stranger}' } }],
  [
    'MessageHeader focus',
    {
      resourceType: 'MessageHeader',
      eventUri: 'http://x.example/e',
      source: { endpoint: 'http://x.example' },
      focus: [ofPatient]
    }
  ]
]

/** A7: references in written resources, wherever they are. */
export const references = defineSection([
  ...spellings.map(text => ({
    row: 'A7 spelling',
    send: 'POST /Observation',
    body: to(text.replace('\\u0000', '')),
    status: 422
  })),
  ...[
    'Patient/{own}/Observation/1',
    'Patient/{own}/_history',
    'Patient/{own}/_history/',
    'Patient/{own}/_history/1/x',
    'Patient/{own}/x',
    'patient/{own}',
    ' Patient/{own}',
    'Patient/{own}?x',
    '{own}',
    'http://127.0.0.1/Patient/{own}',
    'Patient?_id={own}'
  ].map(text => ({ row: 'A7 spelling of an own one', send: 'POST /Observation', body: to(text), status: 422 })),
  ...[1, true, ['Patient/{theirs}'], [['Patient/{theirs}']], { value: 'Patient/{theirs}' }].map(value => ({
    row: 'A7 no text',
    send: 'POST /Observation',
    body: to(value),
    status: typeof value === 'object' && !Array.isArray(value) ? [201, 400, 422] : [400, 422]
  })),
  ...referenceLocations.map(([name, body]) => ({
    row: `A7 ${name}`,
    send: `POST /${(body as { resourceType: string }).resourceType}`,
    body,
    status: [400, 422]
  })),
  {
    row: 'A7 two owners',
    send: 'POST /Basic',
    body: {
      resourceType: 'Basic',
      code: { text: 'x' },
      extension: [{ url: 'http://x.example/e', valueReference: { reference: 'Flag/{stranger}' } }]
    },
    status: 422
  },
  { row: 'A7 update', send: 'PUT /Observation/{own}', body: to('Patient/{stranger}'), status: 422 },
  { row: 'A7 update', send: 'PUT /Observation/{crossing}', body: to('Patient/{beyond}'), status: 422 },
  { row: 'A7 update', send: 'PUT /Observation/{stranger}', body: to('Patient/{theirs}'), status: 404 },
  { row: 'A7 honest', send: 'POST /Observation', body: to('Patient/{own}'), status: 201, shows: ['Patient/{own}'] },
  { row: 'A7 honest', send: 'POST /Observation', body: to('Patient/{own}/_history/1'), status: 201 },
  {
    row: 'A7 honest',
    send: 'POST /Observation',
    body: observation({
      subject: { display: 'somebody' },
      performer: [{ identifier: { system: 'urn:mrn', value: '{theirMark}' } }]
    }),
    status: 201
  },
  {
    row: 'A7 honest',
    send: 'POST /Observation',
    body: observation({ contained: [{ resourceType: 'Patient', id: 'p' }], subject: { reference: '#p' } }),
    status: 201
  },
  {
    row: 'A7 honest',
    send: 'POST /QuestionnaireResponse',
    body: { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: 'http://q.example/{theirMark}' },
    status: 201
  }
])
