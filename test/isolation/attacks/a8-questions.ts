import { defineSection } from './attack.js'

const parameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })
const questionnaireResponse = (questionnaire: string) => ({
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  questionnaire,
  item: [{ linkId: 'x', answer: [{ valueString: 'y' }] }]
})
const observation = (reference: string) => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  subject: { reference }
})

/** A8: operations on resources and codes, and A3: compartments. */
export const questions = defineSection([
  { row: 'A8 $validate', send: 'POST /Observation/$validate', body: observation('Patient/{stranger}'), status: 422 },
  {
    row: 'A8 $validate',
    send: 'POST /Observation/$validate',
    body: observation('Patient?_id={stranger}'),
    status: 422
  },
  {
    row: 'A8 $validate',
    send: 'POST /Observation/$validate',
    body: observation('{backend}/Patient/{stranger}'),
    status: 422
  },
  {
    row: 'A8 $validate',
    send: 'POST /Observation/$validate',
    body: parameters({ name: 'resource', resource: observation('Patient/{stranger}') }),
    status: 422
  },
  { row: 'A8 $validate', send: 'POST /Observation/$validate', body: observation('Patient/{own}'), status: [200, 501] },
  {
    row: 'A8 $validate',
    send: 'POST /Patient/$validate',
    body: {
      resourceType: 'Patient',
      gender: 'nosuch',
      meta: { tag: [{ system: 'urn:clinigate:tenant', code: '{theirTenant}' }] }
    },
    status: [200, 501],
    hides: ['{theirTenant}']
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /QuestionnaireResponse/$validate',
    body: questionnaireResponse('http://q.example/{secret}'),
    status: [200, 422, 501]
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /QuestionnaireResponse/$validate',
    body: questionnaireResponse('http://q.example/{secret}|1'),
    status: [200, 422, 501]
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /QuestionnaireResponse/$validate',
    body: questionnaireResponse('Questionnaire/{stranger}'),
    status: 422
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /QuestionnaireResponse/$validate',
    body: parameters({ name: 'resource', resource: questionnaireResponse('http://q.example/{secret}') }),
    status: [200, 422, 501]
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /Bundle/$validate',
    body: {
      resourceType: 'Bundle',
      type: 'collection',
      entry: [
        { fullUrl: 'urn:uuid:7d1b4c5e-0000-4000-8000-000000000002', resource: questionnaireResponse('http://q.example/{secret}') }
      ]
    },
    status: [200, 422, 501]
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /List/$validate',
    body: {
      resourceType: 'List',
      status: 'current',
      mode: 'working',
      contained: [{ id: 'q', ...questionnaireResponse('http://q.example/{secret}') }],
      entry: [{ item: { reference: '#q' } }]
    },
    status: [200, 422, 501]
  },
  {
    row: 'A8 $validate by a questionnaire',
    send: 'POST /Task/$validate',
    body: {
      resourceType: 'Task',
      status: 'draft',
      intent: 'order',
      instantiatesCanonical: 'http://q.example/{secret}',
      focus: { reference: 'Questionnaire/{own}' }
    },
    status: [200, 422, 501]
  },
  {
    row: 'A8 $validate by a profile',
    send: 'POST /Patient/$validate?profile=http://q.example/{secret}',
    body: { resourceType: 'Patient' },
    status: 400
  },
  {
    row: 'A8 $validate by a profile',
    send: 'POST /Patient/$validate',
    body: parameters(
      { name: 'resource', resource: { resourceType: 'Patient' } },
      { name: 'profile', valueCanonical: 'http://q.example/{secret}' }
    ),
    status: 400
  },
  {
    row: 'A8 $validate by a profile',
    send: 'POST /Patient/$validate',
    body: { resourceType: 'Patient', meta: { profile: ['http://q.example/{secret}'] } },
    status: [200, 422, 501]
  },
  ...[
    'GET /Patient/{stranger}/$validate',
    'GET /Patient/$validate',
    'GET /Observation/{stranger}/$validate?mode=delete'
  ].map(send => ({ row: 'A8 $validate of a record', send, status: [404, 405] })),
  {
    row: 'A8 $validate of a record',
    send: 'POST /Patient/{stranger}/$validate',
    body: { resourceType: 'Patient' },
    status: [404, 405]
  },
  {
    row: 'A8 $validate',
    send: 'POST /Patient/$validate',
    body: { resourceType: 'Patient' },
    as: 'writer',
    status: [403, 200, 501]
  },
  {
    row: 'A8 $validate of a shared type',
    send: 'POST /ValueSet/$validate',
    body: { resourceType: 'ValueSet', status: 'active' },
    status: [404, 405]
  },
  { row: 'A8 codes', send: 'GET /ValueSet/$expand?url=http://q.example/{secret}', status: [400, 404, 501] },
  {
    row: 'A8 codes',
    send: 'GET /ValueSet/$expand?url=http://q.example/{secret}&filter={secret}',
    status: [400, 404, 501]
  },
  { row: 'A8 codes', send: 'GET /CodeSystem/$lookup?system=urn:marks&code={secret}', status: [400, 404, 501] },
  { row: 'A8 codes', send: 'GET /CodeSystem/$validate-code?url=urn:marks&code={secret}', status: [200, 400, 404, 501] },
  { row: 'A8 codes', send: 'GET /ValueSet/$expand?url={backend}/ValueSet/{stranger}', status: [400, 404, 501] },
  {
    row: 'A8 codes',
    send: 'GET /ValueSet/$expand?url=http://hl7.org/fhir/ValueSet/administrative-gender',
    headers: ['x-forwarded-host: evil.example', 'content-location: Patient/{theirs}', 'x-request-partition-ids: 1'],
    status: [200, 404, 501],
    hides: ['evil.example']
  },
  ...[
    'context={backend}/Patient/{stranger}',
    'valueSet={theirs}',
    'url=http://x&_tag=x',
    'url=Patient/{stranger}',
    'url=/Patient/{stranger}',
    'url=http://x&url=http://y%0d%0aX-Evil:1',
    'url=http://x&_id={stranger}',
    'url=http://x&profile=http://y',
    'url=http://x&_format=xml',
    'url=http://x&tx-resource=y',
    'filter=x',
    ''
  ].map(query => ({ row: 'A8 codes', send: `GET /ValueSet/$expand?${query}`, status: [400, 404, 406, 501] })),
  {
    row: 'A8 codes',
    send: 'POST /ValueSet/$expand',
    body: parameters({
      name: 'valueSet',
      resource: { resourceType: 'ValueSet', compose: { include: [{ valueSet: ['http://q.example/{secret}'] }] } }
    }),
    status: 400
  },
  {
    row: 'A8 codes',
    send: 'POST /ValueSet/$expand?url=http://x',
    body: parameters({ name: 'url', valueUri: 'http://q.example/{secret}' }),
    status: 400
  },
  {
    row: 'A8 codes',
    send: 'POST /ValueSet/$validate-code',
    body: parameters(
      { name: 'url', valueUri: 'http://q.example/{secret}' },
      { name: 'coding', valueCoding: { system: 'urn:marks', code: '{secret}' } }
    ),
    status: [200, 400, 404, 501]
  },
  ...[
    'GET /ValueSet/{stranger}/$expand',
    'GET /ValueSet/{stranger}/$validate-code?code=x',
    'GET /CodeSystem/$lookup/x',
    'GET /ValueSet/%2524expand?url=http://x',
    'GET /ValueSet/$expand/../../Patient/{stranger}',
    'DELETE /ValueSet/$expand',
    'GET /ValueSet/$expand;x?url=http://x',
    'GET /ValueSet/$expand%2F..%2F..%2FPatient%2F{stranger}?url=http://x',
    'GET /CodeSystem/$expand?url=http://x',
    'GET /ConceptMap/$closure?name=x',
    'GET /ValueSet/$',
    'GET /ValueSet/$expand%3Furl=http://x'
  ].map(send => ({ row: 'A8 codes elsewhere', send, status: [400, 404, 405] })),
  {
    row: 'A8 codes',
    send: 'GET /ValueSet/$expand?url=http://hl7.org/fhir/ValueSet/administrative-gender',
    as: 'writer',
    status: 403
  },
  {
    row: 'A8 codes',
    send: 'GET /ValueSet/$expand?url=http://hl7.org/fhir/ValueSet/administrative-gender',
    as: 'nobody',
    status: 401
  },
  ...[
    'Observation',
    'Observation?code=lab',
    'Encounter',
    'Observation?_include=Observation:subject',
    'Patient'
  ].flatMap(rest => [
    { row: 'A3 compartment', send: `GET /Patient/{stranger}/${rest}`, status: rest === 'Patient' ? [404, 405] : 404 }
  ]),
  { row: 'A3 compartment', send: 'GET /Encounter/{stranger}/Observation', status: 404 },
  {
    row: 'A3 compartment',
    send: 'POST /Patient/{stranger}/Observation/_search',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: 'code=lab',
    status: 404
  },
  {
    row: 'A3 compartment',
    send: 'GET /Patient/{own}/Observation?_count=1000',
    status: 200,
    shows: ['{ownMark}'],
    hides: ['{intruder}']
  },
  {
    row: 'A3 compartment',
    send: 'GET /Patient/{own}/Observation?_include=Observation:performer&_count=1000',
    status: 200
  },
  {
    row: 'A3 compartment',
    send: 'GET /Patient/{own}/Encounter?_revinclude=Observation:encounter&_count=1000',
    status: 200,
    shows: ['{ownMark}']
  },
  {
    row: 'A3 compartment',
    send: 'GET /Patient/{own}/Observation?patient={stranger}',
    status: 200,
    shows: ['"total":0']
  },
  {
    row: 'A3 compartment',
    send: 'GET /Patient/{own}/Observation?_tag=urn:clinigate:tenant|{theirTenant}',
    status: 400
  },
  { row: 'A3 compartment', send: 'GET /Patient/{own}/Observation?_cursor={theirCursor}', status: 400 },
  { row: 'A3 compartment', send: 'GET /Patient/{own}/Observation?_cursor={cursor}', status: 400 },
  { row: 'A3 compartment', send: 'GET /Patient/{own}/Observation/{stranger}', status: [404, 405] },
  {
    row: 'A3 compartment',
    send: 'POST /Patient/{own}/Observation',
    body: observation('Patient/{own}'),
    status: [404, 405]
  },
  { row: 'A3 compartment', send: 'GET /Patient/{own}/ValueSet', status: [404, 405] },
  { row: 'A3 compartment', send: 'GET /Patient/{own}/Observation', as: 'writer', status: 403 }
])
