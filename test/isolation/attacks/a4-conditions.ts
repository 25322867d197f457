import { inheritedNames } from '../built-ins.js'
import { defineSection } from './attack.js'

const patient = (more: object = {}) => ({ resourceType: 'Patient', name: [{ family: '{ownMark}' }], ...more })
const buildKnownPatient = (more: object = {}) => patient({ identifier: [{ system: 'urn:mrn', value: '{secret}' }], ...more })
const patch = 'content-type: application/json-patch+json'
const theirs = { system: 'urn:clinigate:tenant', code: '{theirTenant}' }

/** Criteria that lead past the tenant's own records, or that mean everything. */
const refused = [
  '_tag=urn:clinigate:tenant|{theirTenant}',
  '_tag:not=urn:x|y',
  '_tag={theirTenant}',
  '_tag=',
  'birthdate:not=1970-01-01',
  'family:not=x',
  'active:exact=true',
  'active:missing=1',
  'general-practitioner.name=x',
  'general-practitioner:Practitioner.family={beyondMark}',
  '_has:Observation:patient:code=lab',
  '_include=Patient:general-practitioner&active=true',
  '_revinclude=Observation:subject&active=true',
  '_sort=family&active=true',
  '_count=1&active=true',
  '_filter=x',
  '_list={theirs}',
  'nosuch=1',
  '_cursor=x',
  '_elements=id&active=true',
  '_summary=count&active=true',
  '_total=none&active=true',
  '_offset=0&active=true',
  '_getpages={theirPages}',
  '_cascade=delete&active=true',
  '_expunge=true',
  'identifier=',
  '_id='
]

/** Malicious patches: each is applied to the attacker's own record. */
const patches: ReadonlyArray<readonly [object[], number | readonly number[]]> = [
  [[{ op: 'replace', path: '/meta/tag/0/code', value: '{theirTenant}' }], 200],
  [[{ op: 'add', path: '/meta/tag/-', value: theirs }], 200],
  [[{ op: 'add', path: '/meta/tag/-', value: { code: '{theirTenant}' } }], 200],
  [[{ op: 'remove', path: '/meta/tag' }], 200],
  [[{ op: 'replace', path: '/meta', value: { tag: [theirs] } }], 200],
  [
    [
      { op: 'add', path: '/contained', value: [{ resourceType: 'Practitioner', id: 'p', meta: { tag: [theirs] } }] },
      { op: 'add', path: '/generalPractitioner', value: [{ reference: '#p' }] }
    ],
    200
  ],
  [[{ op: 'replace', path: '/id', value: '{theirs}' }], 422],
  [[{ op: 'replace', path: '/resourceType', value: 'Practitioner' }], [400, 422]],
  [[{ op: 'remove', path: '/id' }], 422],
  [[{ op: 'replace', path: '', value: { resourceType: 'Patient', id: '{theirs}' } }], [400, 422]],
  [[{ op: 'replace', path: '/meta', value: 'x' }], 422],
  [[{ op: 'replace', path: '/meta/versionId', value: '99' }], 200],
  [[{ op: 'add', path: '/__proto__/meta', value: {} }], [400, 422]],
  [[{ op: 'add', path: '/constructor/prototype/x', value: {} }], [400, 422]],
  [[{ op: 'test', path: '/id', value: '{theirs}' }], 422],
  [[{ op: 'copy', from: '/id', path: '/nosuch/x' }], 422],
  [[{ op: 'nosuch', path: '/id' }], [400, 422]],
  [[{ op: 'add', path: 'id', value: 1 }], [400, 422]],
  [[{ op: 'add', path: '/text/~2', value: 1 }], [400, 422]]
]

/**
 * Where what every value of its kind has could be taken for a member: the record itself, and an object, a list and a
 * text in it.
 */
const holders = {
  fhir: ['', '/meta', '/name/0', '/name', '/resourceType', '/meta/tag/0/code'],
  simple: ['', '/address', '/identifiers', '/lastName', '/active']
} as const

/** Patches whose pointer names an inherited member of a JavaScript value; none of them may have an effect. */
const buildInheritedPatches = (holder: string, name: string): ReadonlyArray<Readonly<Record<string, unknown>>> => [
  ...[`${holder}/${name}/x`, `${holder}/${name}/call`, `${holder}/${name}/prototype/x`].map(path => ({
    op: 'add',
    path,
    value: 1
  })),
  ...[`${holder}/${name}`, `${holder}/${name}/name`].flatMap(path => [
    { op: 'remove', path },
    { op: 'replace', path, value: 1 },
    { op: 'test', path, value: 1 },
    { op: 'copy', from: path, path: '/language' },
    { op: 'move', from: path, path: '/language' }
  ]),
  { op: 'copy', from: '/id', path: `${holder}/${name}/x` },
  { op: 'move', from: '/id', path: `${holder}/${name}/x` }
]

/** Each name once, at another place and with another operation each time; in a batch all of its operations. */
const inherited = inheritedNames.flatMap((name, at) => {
  const [ofFhir, ofSimple] = [holders.fhir, holders.simple].map((paths: readonly string[]) =>
    buildInheritedPatches(paths[at % paths.length]!, name)
  )
  const entries = ofFhir!.map(operation => ({
    resource: {
      resourceType: 'Binary',
      contentType: 'application/json-patch+json',
      data: Buffer.from(JSON.stringify([operation])).toString('base64')
    },
    request: { method: 'PATCH', url: 'Patient/{ownEdit}' }
  }))
  return [
    {
      row: 'A4 inherited member',
      send: 'PATCH /Patient/{ownEdit}',
      headers: [patch],
      body: [ofFhir![at % ofFhir!.length]],
      status: 422
    },
    {
      row: 'A4 inherited member',
      send: 'PATCH !/v1/patients/{ownEdit}',
      headers: [patch],
      body: [ofSimple![(at + 3) % ofSimple!.length]],
      status: 422
    },
    ...(at % 10 === 0
      ? [
          {
            row: 'A4 inherited member',
            send: 'POST /',
            body: { resourceType: 'Bundle', type: 'batch', entry: entries },
            status: 200,
            hides: ['"status":"200']
          }
        ]
      : [])
  ]
})

/** A4: conditional writes and patches. */
export const conditions = defineSection([
  ...['family={secret}', 'identifier=urn:mrn|{secret}', '_tag=urn:ward|{secret}'].flatMap(query => [
    {
      row: 'A4 conditional patch',
      send: `PATCH /Patient?${query}`,
      headers: [patch],
      body: [{ op: 'add', path: '/active', value: false }],
      status: 404
    },
    { row: 'A4 conditional delete', send: `DELETE /Patient?${query}`, status: 204 },
    {
      row: 'A4 conditional update',
      send: `PUT /Patient?${query}`,
      headers: ['if-match: W/"1"'],
      body: patient(),
      status: 412
    },
    { row: 'A4 conditional update', send: `PUT /Patient?${query}`, body: patient({ id: '{theirs}' }), status: 404 }
  ]),
  ...['_id={stranger}', '_id={stranger}&active=true', 'link=Patient/{stranger}'].flatMap(query => [
    {
      row: 'A4 conditional patch',
      send: `PATCH /Patient?${query}`,
      headers: [patch],
      body: [{ op: 'add', path: '/active', value: false }],
      status: 404
    },
    { row: 'A4 conditional delete', send: `DELETE /Patient?${query}`, status: 204 },
    { row: 'A4 conditional delete', send: `DELETE /Patient?${query}`, headers: ['if-match: W/"1"'], status: 412 },
    {
      row: 'A4 conditional update',
      send: `PUT /Patient?${query}`,
      headers: ['if-match: W/"1"'],
      body: patient(),
      status: 412
    },
    { row: 'A4 conditional update', send: `PUT /Patient?${query}`, body: patient({ id: '{stranger}' }), status: 404 }
  ]),
  { row: 'A4 conditional delete of two owners', send: 'DELETE /Flag?_id={stranger}', status: 204, incident: true },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: identifier=urn:mrn|{secret}'],
    body: buildKnownPatient(),
    status: 201
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: _id={stranger}'],
    body: patient(),
    status: [201, 422]
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: Patient?identifier=urn:mrn|{secret}&active=false'],
    body: buildKnownPatient({ active: false }),
    status: 201
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: http://evil.example/Patient?identifier=urn:mrn|{secret}&gender=male'],
    body: buildKnownPatient({ gender: 'male' }),
    status: [201, 400],
    hides: ['evil.example']
  },
  {
    row: 'A4 conditional create of two owners',
    send: 'POST /Flag',
    headers: ['if-none-exist: _id={twoTags}'],
    body: { resourceType: 'Flag', status: 'active', code: { text: 'x' }, subject: { reference: 'Patient/{own}' } },
    status: 201,
    incident: true
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: Observation?code=lab'],
    body: patient(),
    status: 400
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: identifier=urn:mrn|{ownMark}&_id={own}'],
    body: patient(),
    status: 200,
    shows: ['{own}']
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: _id={own},{ownEdit}'],
    body: patient(),
    status: 412
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: active=true'],
    body: patient(),
    as: 'writer',
    status: 403
  },
  {
    row: 'A4 conditional create',
    send: 'POST /Patient',
    headers: ['if-none-exist: active=true'],
    body: patient(),
    as: 'reader',
    status: 403
  },
  { row: 'A4 conditional create', send: 'POST /Patient', headers: ['if-none-exist: '], body: patient(), status: 400 },
  {
    row: 'A4 conditional update',
    send: 'PUT /Patient?_id={ownEdit}',
    body: patient(),
    status: 200,
    shows: ['{ownEdit}']
  },
  { row: 'A4 conditional update', send: 'PUT /Patient?_id={ownEdit}', body: patient({ id: '{theirs}' }), status: 400 },
  {
    row: 'A4 conditional update',
    send: 'PUT /Patient?identifier=urn:mrn|{secret}&gender=female',
    body: buildKnownPatient({ gender: 'female' }),
    status: 201
  },
  { row: 'A4 conditional update', send: 'PUT /Patient?_id={own},{ownEdit}', body: patient(), status: 412 },
  { row: 'A4 conditional delete', send: 'DELETE /Patient?_id={own},{ownEdit}', status: 412 },
  { row: 'A4 conditional delete', send: 'DELETE /Patient?active=true', as: 'reader', status: 403 },
  { row: 'A4 conditional delete', send: 'DELETE /Patient?family={ownMark}', as: 'writer', status: 403 },
  { row: 'A4 conditional update', send: 'PUT /Patient?family={ownMark}', body: patient(), as: 'writer', status: 403 },
  {
    row: 'A4 conditional patch',
    send: 'PATCH /Patient?family={ownMark}',
    headers: [patch],
    body: [{ op: 'test', path: '/active', value: 'x' }],
    as: 'writer',
    status: 403
  },
  {
    row: 'A4 conditional patch',
    send: 'PATCH /Patient?_id={ownEdit}',
    headers: [patch],
    body: [{ op: 'add', path: '/active', value: true }],
    status: 200,
    shows: ['{ownEdit}']
  },
  ...refused.flatMap(query => [
    { row: 'A4 criteria', send: `DELETE /Patient?${query}`, status: 400 },
    { row: 'A4 criteria', send: `PUT /Patient?${query}`, body: patient(), status: 400 },
    {
      row: 'A4 criteria',
      send: `PATCH /Patient?${query}`,
      headers: [patch],
      body: [{ op: 'add', path: '/active', value: true }],
      status: 400
    },
    { row: 'A4 criteria', send: 'POST /Patient', headers: [`if-none-exist: ${query}`], body: patient(), status: 400 }
  ]),
  ...['PUT', 'PATCH', 'DELETE'].map(method => ({
    row: 'A4 no criteria',
    send: `${method} /Patient`,
    headers: [patch],
    body: method === 'DELETE' ? undefined : [],
    status: [400, 415]
  })),
  ...patches.map(([body, status]) => ({
    row: 'A4 patch',
    send: 'PATCH /Patient/{ownEdit}',
    headers: [patch],
    body,
    status,
    hides: ['{theirTenant}']
  })),
  ...['Patient/{stranger}', '{backend}/Patient/{stranger}', 'Patient?_id={stranger}'].map(reference => ({
    row: 'A4 patch',
    send: 'PATCH /Patient/{ownEdit}',
    headers: [patch],
    body: [{ op: 'add', path: '/link', value: [{ other: { reference }, type: 'seealso' }] }],
    status: 422
  })),
  ...inherited,
  ...[
    '/name/length',
    '/name/-',
    '/name/00',
    '/name/+0',
    '/name/0x0',
    '/name/1e0',
    '/name/4294967295',
    '/name/ 0',
    '/name/map'
  ]
    .flatMap(path => [
      { op: 'remove', path },
      { op: 'replace', path, value: 4294967295 },
      { op: 'move', from: path, path: '/language' },
      { op: 'copy', from: path, path: '/language' }
    ])
    .map(operation => ({
      row: 'A4 token of a list',
      send: 'PATCH /Patient/{ownEdit}',
      headers: [patch],
      body: [operation],
      status: 422
    })),
  {
    row: 'A4 patch',
    send: 'PATCH /Patient/{stranger}',
    headers: [patch],
    body: [{ op: 'add', path: '/active', value: false }],
    status: 404
  },
  {
    row: 'A4 patch',
    send: 'PATCH /Patient/{stranger}',
    headers: [patch],
    body: [{ op: 'test', path: '/id', value: '{stranger}' }],
    status: 404
  },
  { row: 'A4 patch', send: 'PATCH /Patient/{stranger}', headers: [patch], body: [], status: 404 },
  {
    row: 'A4 patch',
    send: 'PATCH /Flag/{stranger}',
    headers: [patch, 'if-match: W/"1"'],
    body: [{ op: 'test', path: '/status', value: 'active' }],
    status: 404
  },
  {
    row: 'A4 patch',
    send: 'PATCH /Patient/{own}',
    headers: [patch, 'if-match: W/"99"'],
    body: [{ op: 'add', path: '/active', value: true }],
    status: 412
  },
  {
    row: 'A4 patch',
    send: 'PATCH /Patient/{own}',
    headers: [patch],
    body: [{ op: 'add', path: '/active', value: true }],
    as: 'reader',
    status: 403
  },
  ...[
    'application/fhir+json',
    'application/fhir+xml',
    'application/xml-patch+xml',
    'application/merge-patch+json',
    'text/plain'
  ].map(type => ({
    row: 'A4 patch of another form',
    send: 'PATCH /Patient/{stranger}',
    headers: [`content-type: ${type}`],
    body: { resourceType: 'Parameters', parameter: [] },
    status: [400, 404, 415]
  })),
  {
    row: 'A4 patch of another form',
    send: 'PATCH /Patient/{own}',
    headers: [patch],
    body: '[{"op":"test","op":"add","path":"/active","value":true}]',
    status: 400
  },
  { row: 'A4 patch', send: 'PATCH /Patient/{own}?_id={theirs}', headers: [patch], body: [], status: 400 },
  { row: 'A4 patch', send: 'PATCH /SearchParameter/{stranger}', headers: [patch], body: [], status: [404, 405] }
])
