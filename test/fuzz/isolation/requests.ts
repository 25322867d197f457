import fc from 'fast-check'

/**
 * A generated request: names in braces stand for ids and texts of the sender (`{own}`), of the other organization
 * (`{other}`) and of no organization, so that the same request can be sent for the other's records and for records that
 * never existed.
 */
export interface FuzzRequest {
  readonly method: string
  /** Below `/v1/fhir`, as it goes into the request line. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON text, a form or anything else; undefined for no body. */
  readonly body?: string | undefined
}

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
  'Bundle',
  'Basic'
]
const oddTypes = [
  'ValueSet',
  'Subscription',
  'SearchParameter',
  'Parameters',
  'patient',
  'Nope',
  'metadata',
  '*',
  '',
  '.',
  '..',
  '%2e%2e',
  'Patient%2F{other}',
  '$meta',
  'constructor'
]
const type = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...types) },
  { weight: 1, arbitrary: fc.constantFrom(...oddTypes) }
)

const oddIds = [
  '{other}%00',
  '{other};x=1',
  '{other}/',
  '{other}%2F_history',
  '.',
  '..',
  '%2e%2e',
  '{other}%20',
  '{other}|1',
  '{other},{own}',
  '{own},{other}',
  '%257B',
  '{other}?',
  '{other}#x',
  '{other}\\',
  '{other}%0d%0ax:y',
  '_search',
  '$everything',
  '12345'
]
const id = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('{other}', '{own}') },
  { weight: 2, arbitrary: fc.constantFrom('{otherTwo}', '{otherGone}', '{unknown}', '{crossing}') },
  { weight: 1, arbitrary: fc.constantFrom(...oddIds) }
)

/** Texts for values: harmless, hostile, the other's. */
const value = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '{other}',
      '{own}',
      '{otherMark}',
      '{ownMark}',
      'Patient/{other}',
      'Patient/{own}',
      'urn:mrn|{otherMark}',
      'urn:ward|{otherMark}',
      'http://q.example/{otherMark}',
      'urn:clinigate:tenant|{otherTenant}',
      '{otherTenant}',
      'lab',
      'true',
      'final',
      'x'
    )
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '{backend}/Patient/{other}',
      'https://gateway.test/v1/fhir/Patient/{other}',
      'Patient/{other}/_history/1',
      '{own},{other}',
      '{other}\\,{own}',
      '|{otherTenant}',
      'urn:clinigate:tenant|',
      '*',
      '',
      ',',
      '%00',
      '%ff',
      '$',
      '\\',
      'ge2000',
      'lt3000',
      '-1',
      '0',
      '1',
      '1000',
      '99999999999',
      'Observation:subject',
      'Observation:performer',
      'Patient:general-practitioner',
      '{otherCursor}',
      '{ownCursor}',
      '{otherPages}'
    )
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }).map(encodeURIComponent) }
)

const parameters = [
  '_id',
  '_tag',
  '_security',
  '_profile',
  '_source',
  '_lastUpdated',
  '_sort',
  '_count',
  '_total',
  '_summary',
  '_elements',
  '_include',
  '_revinclude',
  '_include:iterate',
  '_cursor',
  '_has:Observation:patient:code',
  '_has:Observation:subject:_id',
  'subject',
  'patient',
  'performer',
  'encounter',
  'code',
  'family',
  'name',
  'identifier',
  'active',
  'general-practitioner',
  'status',
  'url',
  'subject:Patient.family',
  'patient.identifier',
  'performer:Practitioner.family',
  'encounter.status'
]
const oddParameters = [
  '_tag:not',
  '_tag:missing',
  '%5Ftag',
  '_TAG',
  '_filter',
  '_list',
  '_query',
  '_text',
  '_content',
  '_getpages',
  '_getpagesoffset',
  '_offset',
  '_type',
  '_format',
  '_pretty',
  '_since',
  '_at',
  '_cascade',
  '_expunge',
  'code:in',
  'name:missing',
  'active:not',
  'subject:identifier',
  'subject:missing',
  'patient._tag',
  'patient._has:Observation:patient:code',
  'subject.general-practitioner.name',
  '_has:Observation:patient:_tag',
  '_has:Encounter:patient:status',
  'ct',
  '_contained',
  '_elements:exclude',
  ''
]
const parameter = fc
  .tuple(
    fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...parameters) },
      { weight: 1, arbitrary: fc.constantFrom(...oddParameters) }
    ),
    value
  )
  .map(([name, value]) => `${name}=${value}`)
const query = fc.array(parameter, { maxLength: 4 }).map(pairs => pairs.join('&'))

const conditions = [
  'if-match: W/"1"',
  'if-match: W/"2"',
  'if-match: *',
  'if-none-match: W/"1"',
  'if-none-match: *',
  'if-modified-since: Sat, 01 Jan 2050 00:00:00 GMT',
  'prefer: return=minimal',
  'prefer: return=representation',
  'prefer: handling=lenient',
  'prefer: respond-async',
  'accept: application/fhir+xml',
  'accept: */*',
  'accept: text/plain',
  'content-location: Patient/{other}',
  'x-cascade: delete',
  'x-request-partition-ids: 1',
  'x-http-method-override: DELETE',
  'content-encoding: identity',
  'content-encoding: gzip',
  'x-forwarded-host: evil.example',
  'x-security-context: Patient/{other}',
  'x-provenance: {"target":"Patient/{other}"}'
]
const header = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...conditions) },
  {
    weight: 1,
    arbitrary: query
      .filter(text => !/%(?:00|ff)|[^\x20-\x7e]/.test(text))
      .map(criteria => `if-none-exist: ${criteria}`)
  }
)
const headers = fc
  .array(header, { maxLength: 2 })
  .map(lines =>
    Object.fromEntries(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  )

const reference = fc.constantFrom(
  'Patient/{other}',
  'Patient/{own}',
  'Practitioner/{other}',
  'Patient/{unknown}',
  'Patient/{otherGone}',
  'Patient/{other}/_history/1',
  'Patient?_id={other}',
  'Patient?identifier=urn:mrn|{otherMark}',
  '{backend}/Patient/{other}',
  'https://gateway.test/v1/fhir/Patient/{other}',
  '#p',
  'urn:uuid:7d1b4c5e-0000-4000-8000-000000000001',
  './Patient/{other}',
  'Patient/{other} ',
  'Binary/{other}',
  'Questionnaire/{other}|1'
)
// Stored records name nothing of the other's outside the places that are rejected or cleaned: a search would find it
// there.
const tag = fc.oneof(
  fc.record(
    {
      system: fc.constantFrom('urn:clinigate:tenant', 'URN:clinigate:tenant', 'urn:clinigate:tenant ', ''),
      code: fc.constantFrom('{otherTenant}', '{ownTenant}'),
      display: fc.constant('{ownMark}')
    },
    { requiredKeys: ['system'] }
  ),
  fc.record(
    {
      system: fc.constantFrom('urn:ward', 'urn:clinigate:tenant:idempotency'),
      code: fc.constant('x'),
      display: fc.constant('{otherMark}')
    },
    { requiredKeys: ['system', 'code'] }
  )
)
const meta = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record(
      {
        tag: fc.array(tag, { maxLength: 3 }),
        security: fc.array(tag, { maxLength: 1 }),
        profile: fc.constant(['http://x.example/p']),
        versionId: fc.constant('99'),
        source: fc.constant('http://evil.example')
      },
      { requiredKeys: [] }
    )
  },
  { weight: 1, arbitrary: fc.constantFrom<unknown>('x', [], null, { tag: 'x' }, { tag: [[]] }, { _tag: [] }) }
)

/** Names that may be anywhere in a resource, elements or not. */
const extra = fc.oneof(
  reference.map(text => ({ extension: [{ url: 'http://x.example/e', valueReference: { reference: text } }] })),
  reference.map(text => ({ generalPractitioner: [{ reference: text }] })),
  reference.map(text => ({
    contained: [
      {
        resourceType: 'Encounter',
        id: 'p',
        status: 'planned',
        class: { code: 'AMB' },
        subject: { reference: text },
        meta: { tag: [{ system: 'urn:clinigate:tenant', code: '{otherTenant}' }] }
      }
    ]
  })),
  reference.map(text => ({ link: [{ other: { reference: text }, type: 'seealso' }] })),
  reference.map(text => ({ photo: [{ url: text }] })),
  fc.constant({ id: '{other}' }),
  fc.constant({ id: '{own}' }),
  fc.constant({ resourceType: 'Basic' }),
  fc.constant({ nosuch: { reference: 'Patient/{other}' } }),
  fc.constant({
    extension: [{ url: 'http://hapifhir.io/fhir/StructureDefinition/externalized-binary-id', valueString: '{other}' }]
  }),
  meta.map(meta => ({ meta }))
)

const bases: Readonly<Record<string, object>> = {
  Patient: { resourceType: 'Patient', name: [{ family: '{ownMark}' }], active: true },
  Observation: {
    resourceType: 'Observation',
    status: 'final',
    code: { text: '{ownMark}' },
    subject: { reference: 'Patient/{own}' }
  },
  Encounter: {
    resourceType: 'Encounter',
    status: 'planned',
    class: { code: 'AMB' },
    subject: { reference: 'Patient/{own}' }
  },
  List: {
    resourceType: 'List',
    status: 'current',
    mode: 'working',
    entry: [{ item: { reference: 'Patient/{own}' } }]
  },
  Binary: { resourceType: 'Binary', contentType: 'text/plain', data: 'eA==' },
  Basic: { resourceType: 'Basic', code: { text: '{ownMark}' } },
  Questionnaire: { resourceType: 'Questionnaire', url: 'http://q.example/{ownMark}', status: 'draft' }
}
const anyResource = (name: string): fc.Arbitrary<object> =>
  fc
    .array(extra, { maxLength: 2 })
    .map(extras => Object.assign({ ...(bases[name] ?? { resourceType: name }) }, ...extras) as object)

const theirs = { system: 'urn:clinigate:tenant', code: '{otherTenant}' }
const operation = fc.constantFrom<object>(
  { op: 'add', path: '/meta/tag/-', value: theirs },
  { op: 'add', path: '/meta/tag/-', value: { code: '{otherTenant}' } },
  { op: 'replace', path: '/meta/tag/0/code', value: '{otherTenant}' },
  { op: 'remove', path: '/meta/tag' },
  { op: 'replace', path: '/meta', value: { tag: [theirs] } },
  { op: 'replace', path: '/meta', value: 'x' },
  { op: 'replace', path: '/id', value: '{other}' },
  { op: 'test', path: '/id', value: '{other}' },
  { op: 'test', path: '/name/0/family', value: '{otherMark}' },
  { op: 'replace', path: '/resourceType', value: 'Basic' },
  { op: 'add', path: '/active', value: false },
  { op: 'copy', from: '/id', path: '/name/0/family' },
  { op: 'move', from: '/name', path: '/alias' },
  { op: 'add', path: '/link', value: [{ other: { reference: 'Patient/{other}' }, type: 'seealso' }] },
  { op: 'add', path: '/generalPractitioner', value: [{ reference: 'Practitioner/{own}' }] },
  { op: 'add', path: '/photo', value: [{ url: 'Binary/{other}' }] },
  { op: 'add', path: '/contained', value: [{ resourceType: 'Basic', id: 'p', meta: { tag: [theirs] } }] },
  { op: 'replace', path: '', value: { resourceType: 'Patient', id: '{other}' } },
  { op: 'add', path: '/__proto__/x', value: true },
  { op: 'nosuch', path: '/id' },
  { op: 'add' }
)
const patch = fc.array(operation, { maxLength: 3 })

const json = 'application/fhir+json'
const withBody = (request: FuzzRequest, contentType: string, body: string): FuzzRequest => ({
  ...request,
  body,
  headers: { 'content-type': contentType, ...request.headers }
})

/** Reads, searches and other requests without a body. */
const bodiless: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'DELETE', 'OPTIONS', 'POST', 'TRACE'),
    type,
    fc.option(id, { freq: 3 }),
    fc.option(
      fc.constantFrom(
        '_history',
        '_history/1',
        '_history/2',
        '$everything',
        '$meta',
        '$validate',
        'Observation',
        'Encounter',
        '*',
        '_history/1/$meta',
        '$export',
        '_search',
        '$graphql'
      )
    ),
    query,
    headers
  )
  .map(([method, type, id, rest, query, headers]) => ({
    method,
    target: `/${[type, ...(id === null ? [] : [id]), ...(rest === null ? [] : [rest])].join('/')}${query === '' ? '' : `?${query}`}`,
    headers
  }))

const searching: fc.Arbitrary<FuzzRequest> = fc
  .tuple(type, query, query, headers)
  .map(([type, inUrl, inBody, headers]) =>
    withBody(
      { method: 'POST', target: `/${type}/_search${inUrl === '' ? '' : `?${inUrl}`}`, headers },
      'application/x-www-form-urlencoded',
      inBody
    )
  )

const writing: fc.Arbitrary<FuzzRequest> = fc.constantFrom(...types).chain(name =>
  fc
    .tuple(
      fc.constantFrom('POST', 'POST', 'PUT', 'PUT', 'PATCH', 'DELETE'),
      fc.option(id, { freq: 3 }),
      query,
      headers,
      anyResource(name),
      patch,
      fc.constantFrom('', '', '', '$validate')
    )
    .map(([method, id, query, headers, resource, patch, rest]) => {
      const path = [
        name,
        ...(id === null || method === 'POST' ? [] : [id]),
        ...(method === 'POST' && rest !== '' ? [rest] : [])
      ].join('/')
      const request = {
        method,
        target: `/${path}${query === '' || (id !== null && query.length % 2 === 0) ? '' : `?${query}`}`,
        headers
      }
      return method === 'DELETE'
        ? request
        : method === 'PATCH'
          ? withBody(request, 'application/json-patch+json', JSON.stringify(patch))
          : withBody(request, json, JSON.stringify(resource))
    })
)

const single = fc.oneof(bodiless, searching, writing)

/** A Bundle of other requests, and of entries that are none. */
const bundled: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    fc.constantFrom('batch', 'transaction', 'batch', 'transaction', 'collection', ''),
    fc.array(
      fc.tuple(
        single,
        fc.option(
          fc.constantFrom(
            'urn:uuid:7d1b4c5e-0000-4000-8000-000000000001',
            'Patient/{other}',
            '{backend}/Patient/{other}'
          ),
          { freq: 3 }
        )
      ),
      { minLength: 1, maxLength: 4 }
    ),
    headers
  )
  .map(([type, items, headers]) => {
    const entry = items.map(([{ method, target, headers, body }, fullUrl]) => ({
      ...(fullUrl !== null && { fullUrl }),
      ...(body !== undefined && toEntryResource(method, body)),
      request: {
        method,
        url: target.slice(1),
        ...(headers['if-match'] !== undefined && { ifMatch: headers['if-match'] }),
        ...(headers['if-none-exist'] !== undefined && { ifNoneExist: headers['if-none-exist'] })
      }
    }))
    return withBody(
      { method: 'POST', target: '', headers },
      json,
      JSON.stringify({ resourceType: 'Bundle', type, entry })
    )
  })

function toEntryResource (method: string, body: string): object {
  if (method === 'PATCH') {
    return {
      resource: { resourceType: 'Binary', contentType: 'application/json-patch+json', data: `base64(${body})` }
    }
  }
  return body.startsWith('{') ? { resource: JSON.parse(body) as unknown } : {}
}

/** Any request to raw FHIR: valid, odd and hostile ones. */
export const anyRequest: fc.Arbitrary<FuzzRequest> = fc.oneof(
  { weight: 4, arbitrary: bodiless },
  { weight: 2, arbitrary: searching },
  { weight: 4, arbitrary: writing },
  { weight: 2, arbitrary: bundled }
)

/** The request with its names filled in, and patches of Bundles encoded. */
export function fillNames (
  { method, target, headers, body }: FuzzRequest,
  names: Readonly<Record<string, string>>
): FuzzRequest {
  const fill = (text: string): string =>
    text.replace(/\{([a-z][A-Za-z]*)\}/g, (match, name: string) => names[name] ?? match)
  const encoded =
    body === undefined
      ? undefined
      : fill(body).replace(/"base64\(((?:[^"\\]|\\.)*)\)"/g, (_, text: string) =>
        JSON.stringify(Buffer.from(JSON.parse(`"${text}"`) as string).toString('base64'))
      )
  return {
    method,
    target: fill(target),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)])),
    body: encoded
  }
}
