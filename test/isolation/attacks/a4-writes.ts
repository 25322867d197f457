import { defineSection } from './attack.js'

const patient = (more: object = {}) => ({ resourceType: 'Patient', name: [{ family: '{ownMark}' }], ...more })
const claim = (tag: unknown) => patient({ meta: { tag } })
const theirs = { system: 'urn:clinigate:tenant', code: '{theirTenant}' }
const mine = { system: 'urn:clinigate:tenant', code: '{ownTenant}' }

/** Bodies that claim another owner. The stored record must carry the writer's tag alone. */
const claims = [
  [theirs],
  [mine, theirs],
  [theirs, mine],
  [{ ...theirs, userSelected: true }],
  [{ ...theirs, version: '1' }],
  [{ ...theirs, display: 'x' }],
  [{ ...theirs, system: 'URN:CLINIGATE:TENANT' }],
  [{ ...theirs, system: 'urn:clinigate:tenant ' }],
  [{ ...theirs, system: ' urn:clinigate:tenant' }],
  [{ ...theirs, system: 'urn:clinigate:tenant\t' }],
  [{ ...theirs, system: 'urn:clinigate:tena\uFF4Et' }],
  [{ ...theirs, system: 'urn:clinigate:tenant\u200B' }],
  [{ ...theirs, system: 'urn:clin\u00EDgate:tenant' }],
  [{ ...theirs, system: 'urn:clinigate:tenant\u00AD' }],
  []
]

/** Forms of `meta` that two servers could read in two ways. */
const unclear = [
  claim(theirs),
  claim('x'),
  claim([[theirs]]),
  claim(['x']),
  claim([null]),
  claim([{ system: ['urn:clinigate:tenant'], code: '{theirTenant}' }]),
  claim([{ system: { value: 'urn:clinigate:tenant' }, code: '{theirTenant}' }]),
  patient({ meta: [{ tag: [theirs] }] }),
  patient({ meta: 'x' }),
  patient({ meta: { tag: [], _tag: [{ id: 'x' }] } }),
  patient({ meta: { security: theirs } }),
  patient({ meta: { _security: [null] } })
]

/** Texts that two parsers read as two bodies. */
const differentials = [
  '{"resourceType":"Patient","meta":{"tag":[]},"meta":{"tag":[{"system":"urn:clinigate:tenant","code":"{theirTenant}"}]}}',
  '{"resourceType":"Observation","resourceType":"Patient"}',
  '{"resourceType":"Patient","resourceTyp\\u0065":"Observation"}',
  '{"resourceType":"Patient","__proto__":{"meta":{}}}',
  '{"resourceType":"Patient"/* x */}',
  '{"resourceType":"Patient",}',
  "{'resourceType':'Patient'}",
  '\uFEFF{"resourceType":"Patient"}',
  '{"resourceType":"Patient"}{"resourceType":"Patient"}',
  '{"resourceType":"Patient","gender":"\\u0000"}',
  '{"resourceType":"Patient","gender":"\\ud800"}',
  '{"resourceType":"Patient","multipleBirthInteger":1e400}',
  '{"resourceType":"Patient","multipleBirthInteger":NaN}',
  `{"resourceType":"Patient","x":${'['.repeat(200)}${']'.repeat(200)}}`,
  '',
  'null',
  '[]',
  '"x"',
  '{}',
  '{"resourceType":"patient"}',
  '{"resourceType":"Observation"}',
  '{"resourceType":["Patient"]}'
]

/** A4: create, update and delete of single records. */
export const writes = defineSection([
  {
    row: 'A4 create',
    send: 'POST /Patient',
    body: patient(),
    status: 201,
    shows: ['{ownMark}', '"code":"{ownTenant}"']
  },
  { row: 'A4 create', send: 'POST /Patient', body: patient({ id: '{theirs}' }), status: 201, hides: ['/{theirs}'] },
  {
    row: 'A4 create',
    send: 'POST /Patient',
    body: patient({ id: '{theirsGone}' }),
    status: 201,
    hides: ['/{theirsGone}']
  },
  { row: 'A4 create', send: 'POST /Patient', body: patient(), as: 'reader', status: 403 },
  { row: 'A4 create', send: 'POST /Patient/{stranger}', body: patient(), status: 405 },
  { row: 'A4 create', send: 'POST /Practitioner', body: patient(), status: 400 },
  { row: 'A4 create', send: 'POST /Patient?_id={stranger}', body: patient(), status: 400 },
  ...claims.flatMap(tag => [
    { row: 'A4 tag', send: 'POST /Patient', body: claim(tag), status: 201, shows: ['"code":"{ownTenant}"'] },
    {
      row: 'A4 tag',
      send: 'PUT /Patient/{ownEdit}',
      body: { ...claim(tag), id: '{ownEdit}' },
      status: 200,
      shows: ['"code":"{ownTenant}"']
    },
    { row: 'A4 tag', send: 'POST /Patient', body: patient({ meta: { security: tag } }), status: [201, 422] },
    {
      row: 'A4 tag',
      send: 'POST /Patient',
      body: patient({
        contained: [{ resourceType: 'Practitioner', id: 'p', meta: { tag } }],
        generalPractitioner: [{ reference: '#p' }]
      }),
      status: [201, 422]
    },
    {
      row: 'A4 tag',
      send: 'POST /Bundle',
      body: { resourceType: 'Bundle', type: 'collection', entry: [{ resource: claim(tag) }] },
      status: [201, 422]
    }
  ]),
  {
    row: 'A4 tag',
    send: 'POST /Patient',
    body: claim([{ code: '{theirTenant}' }]),
    status: 201,
    shows: ['"code":"{ownTenant}"']
  },
  {
    row: 'A4 tag',
    send: 'PUT /Patient/{theirs}',
    as: 'attacker',
    body: { ...claim([theirs]), id: '{theirs}' },
    status: 404
  },
  {
    row: 'A4 words of a tag',
    send: 'POST /Account',
    as: 'victim',
    body: {
      resourceType: 'Account',
      status: 'active',
      meta: {
        tag: [{ system: 'urn:shared', code: '{ownMark}', display: 'words {theirMark}', version: '{theirMark}' }],
        security: [{ system: 'urn:shared', code: '{ownMark}', display: 'words {theirMark}' }]
      }
    },
    status: 201
  },
  {
    row: 'A4 words of a tag',
    send: 'POST /Account',
    body: {
      resourceType: 'Account',
      status: 'active',
      meta: {
        tag: [{ system: 'urn:shared', code: '{ownMark}' }],
        security: [{ system: 'urn:shared', code: '{ownMark}' }]
      }
    },
    status: 201
  },
  {
    row: 'A4 words of a tag',
    send: 'GET /Account?_tag=urn:shared|{ownMark}',
    status: 200,
    shows: ['urn:shared'],
    hides: ['words']
  },
  {
    row: 'A4 label without a system',
    send: 'POST /Basic',
    body: { resourceType: 'Basic', meta: { security: [{ code: '{ownMark}' }] }, code: { text: 'x' } },
    status: 422
  },
  {
    row: 'A4 meta',
    send: 'POST /Patient',
    body: patient({
      meta: { versionId: '99', lastUpdated: '1999-01-01T00:00:00Z', source: 'http://evil.example#{theirs}' }
    }),
    status: 201,
    hides: ['evil.example', '1999-01-01', '"99"']
  },
  ...unclear.flatMap(body => [
    { row: 'A4 meta of two readings', send: 'POST /Patient', body, status: 422 },
    { row: 'A4 meta of two readings', send: 'PUT /Patient/{ownEdit}', body: { ...body, id: '{ownEdit}' }, status: 422 }
  ]),
  ...differentials.flatMap(body => [
    { row: 'A4 JSON', send: 'POST /Patient', body, status: 400 },
    { row: 'A4 JSON', send: 'PUT /Patient/{ownEdit}', body, status: 400 },
    { row: 'A4 JSON', send: 'PUT /Patient/{stranger}', body, status: 400 }
  ]),
  {
    row: 'A4 JSON',
    send: 'POST /Observation',
    body: '{"resourceType":"Observation","status":"final","code":{"text":"{ownMark}"},"valueQuantity":{"value":1.10}}',
    status: 201,
    shows: ['1.10']
  },
  ...[
    'application/fhir+xml',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/ndjson',
    'application/fhir+json; charset=utf-16',
    'application/fhir+json;charset=latin1'
  ].map(type => ({
    row: 'A4 content type',
    send: 'POST /Patient',
    headers: [`content-type: ${type}`],
    body: JSON.stringify(patient()),
    status: 415
  })),
  { row: 'A4 content type', send: 'POST /Patient', headers: ['content-encoding: gzip'], body: patient(), status: 415 },
  {
    row: 'A4 content type',
    send: 'POST /Patient',
    headers: ['content-encoding: deflate, identity'],
    body: patient(),
    status: 415
  },
  { row: 'A4 update', send: 'PUT /Patient/{stranger}', body: patient({ id: '{stranger}' }), status: 404 },
  { row: 'A4 update', send: 'PUT /Patient/{stranger}', body: patient(), status: 404 },
  {
    row: 'A4 update',
    send: 'PUT /Flag/{stranger}',
    body: { resourceType: 'Flag', status: 'active', code: { text: 'x' }, subject: { reference: 'Patient/{own}' } },
    status: 404
  },
  { row: 'A4 update', send: 'PUT /Patient/{stranger}', body: patient({ meta: { tag: 'x' } }), status: 404 },
  { row: 'A4 update', send: 'PUT /Patient/{own}', body: patient({ id: '{theirs}' }), status: 400 },
  { row: 'A4 update', send: 'PUT /Patient/{theirs}', body: patient({ id: '{own}' }), status: 400 },
  {
    row: 'A4 update',
    send: 'PUT /Patient/{ownEdit}',
    body: patient({ id: '{ownEdit}' }),
    status: 200,
    shows: ['{ownMark}']
  },
  { row: 'A4 update', send: 'PUT /Patient/{ownEdit}', body: patient(), as: 'reader', status: 403 },
  { row: 'A4 update', send: 'PUT /Patient/{stranger}', body: patient(), as: 'reader', status: 403 },
  { row: 'A4 update', send: 'PUT /Patient/{stranger}?_id={own}', body: patient(), status: 400 },
  {
    row: 'A4 update-as-create',
    send: 'PUT /Patient/{ownTenant}-1',
    body: patient({ id: '{ownTenant}-1' }),
    status: 404
  },
  { row: 'A4 update-as-create', send: 'PUT /Patient/12345', body: patient({ id: '12345' }), status: 404 },
  ...['if-match: W/"1"', 'if-match: W/"9"', 'if-match: *'].flatMap(header => [
    {
      row: 'A4 If-Match',
      send: 'PUT /Patient/{stranger}',
      headers: [header],
      body: patient({ id: '{stranger}' }),
      status: 404
    },
    {
      row: 'A4 If-Match',
      send: 'PUT /Flag/{stranger}',
      headers: [header],
      body: { resourceType: 'Flag', status: 'active', code: { text: 'x' }, subject: { reference: 'Patient/{own}' } },
      status: 404
    },
    { row: 'A4 If-Match', send: 'DELETE /Patient/{stranger}', headers: [header], status: 404 }
  ]),
  ...['if-none-match: *', 'if-none-match: W/"1"', 'if-unmodified-since: Sat, 01 Jan 2000 00:00:00 GMT'].flatMap(
    header => [
      {
        row: 'A4 If-None-Match',
        send: 'PUT /Patient/{stranger}',
        headers: [header],
        body: patient({ id: '{stranger}' }),
        status: 400
      },
      { row: 'A4 If-None-Match', send: 'DELETE /Patient/{stranger}', headers: [header], status: 400 }
    ]
  ),
  {
    row: 'A4 If-Match',
    send: 'PUT /Patient/{ownEdit}',
    headers: ['if-match: W/"999"'],
    body: patient({ id: '{ownEdit}' }),
    status: 412
  },
  {
    row: 'A4 If-Match',
    send: 'PUT /Patient/{ownEdit}',
    headers: ['if-match: W/"1", W/"2"'],
    body: patient({ id: '{ownEdit}' }),
    status: 400
  },
  {
    row: 'A4 If-Match',
    send: 'PUT /Patient/{ownEdit}',
    headers: ['if-match: 1'],
    body: patient({ id: '{ownEdit}' }),
    status: 400
  },
  {
    row: 'A4 If-Match',
    send: 'PUT /Patient/{ownEdit}',
    headers: ['if-match: W/"1', 'if-match: 2"'],
    body: patient({ id: '{ownEdit}' }),
    status: 400
  },
  { row: 'A4 If-Match', send: 'DELETE /Patient/{ownEdit}', headers: ['if-match: W/"999"'], status: 412 },
  { row: 'A4 delete', send: 'DELETE /Patient/{stranger}', status: 404 },
  { row: 'A4 delete', send: 'DELETE /Flag/{stranger}', status: 404 },
  { row: 'A4 delete', send: 'DELETE /Patient/{stranger}', as: 'reader', status: 403 },
  { row: 'A4 delete', send: 'DELETE /Patient/{own}', as: 'live', status: 404 },
  ...['_cascade=delete', '_expunge=true', 'hardDelete=true', '_tag=urn:clinigate:tenant|{theirTenant}', 'x=1'].flatMap(
    query => [
      { row: 'A4 delete', send: `DELETE /Patient/{stranger}?${query}`, status: 400 },
      { row: 'A4 delete', send: `DELETE /Patient/{ownEdit}?${query}`, status: 400 }
    ]
  ),
  {
    row: 'A4 delete',
    send: 'DELETE /Patient/{own}',
    headers: ['x-cascade: delete'],
    status: 409,
    shows: ['Observation/', 'delete it first'],
    hides: ['irst reference']
  },
  {
    row: 'A4 delete',
    send: 'DELETE /Patient/{own}',
    as: 'writer',
    status: 409,
    hides: ['Observation', 'Encounter', 'irst reference', '{own}']
  },
  { row: 'A4 delete', send: 'DELETE /Basic/{ownDelete}', status: 204 },
  { row: 'A4 delete', send: 'DELETE /Basic/{ownDelete}', status: 404 },
  {
    row: 'A4 delete',
    send: 'PUT /Basic/{ownDelete}',
    body: { resourceType: 'Basic', id: '{ownDelete}', code: { text: 'x' } },
    status: 404
  },
  { row: 'A4 delete', send: 'DELETE /Patient', status: [400, 405, 412] },
  { row: 'A4 delete', send: 'DELETE /', status: [400, 404, 405] },
  ...[
    'return=minimal',
    'return=OperationOutcome',
    'return=representation',
    'respond-async',
    'respond-async, return=minimal',
    'return=x',
    'handling=lenient'
  ].flatMap(prefer => [
    { row: 'A4 Prefer', send: 'POST /Patient', headers: [`prefer: ${prefer}`], body: patient(), status: 201 },
    {
      row: 'A4 Prefer',
      send: 'PUT /Patient/{stranger}',
      headers: [`prefer: ${prefer}`],
      body: patient(),
      status: 404
    },
    { row: 'A4 Prefer', send: 'GET /Patient/{stranger}', headers: [`prefer: ${prefer}`], status: 404 }
  ]),
  ...['x-http-method-override: DELETE', 'x-method-override: PUT', 'x-http-method: PATCH'].map(header => ({
    row: 'A4 method override',
    send: 'POST /Patient/{stranger}',
    headers: [header],
    body: patient(),
    status: [400, 405]
  })),
  {
    row: 'A4 mark of a keyed write',
    send: 'POST /Patient',
    body: patient({ meta: { tag: [{ system: 'urn:clinigate:tenant:idempotency', code: 'x' }] } }),
    status: 201,
    hides: ['idempotency']
  }
])
