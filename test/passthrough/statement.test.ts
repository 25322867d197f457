import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { listParameterNames, findSearchParameter } from '../../src/mappings/r4/search-parameters.js'
import { isTenantType, resourceTypes } from '../../src/fhir/resource-types.js'
import { restrict } from '../../src/tenant-guard/restrict.js'
import { startGateway } from '../harness/gateway.js'
import { testStatement } from './statement-contract.js'

t.test('the CapabilityStatement is true on the sandbox', t => testStatement(t, {}, ['Patient', 'Encounter']))

t.test('a client gets the statement without a key, in the only format', async t => {
  const { inject } = await startGateway(t)
  const url = '/v1/fhir/metadata'
  const response = await inject(url)
  t.equal(response.headers['content-type'], 'application/fhir+json; charset=utf-8')
  t.match(response.json(), {
    resourceType: 'CapabilityStatement',
    fhirVersion: '4.0.1',
    kind: 'instance',
    implementation: { url: /\/v1\/fhir$/ },
    rest: [{ mode: 'server' }]
  })
  t.equal(response.json().rest.length, 1)
  t.equal((await inject(`${url}?_format=json&_pretty=true`)).statusCode, 200)
  const head = await inject({ method: 'HEAD', url })
  t.strictSame(
    [head.statusCode, head.body, head.headers['content-length']],
    [200, '', response.headers['content-length']]
  )
  for (const [refused, headers] of [[`${url}?_format=xml`, {}], [url, { accept: 'application/fhir+xml' }]] as const) {
    const { statusCode, body } = await inject({ url: refused, headers })
    t.strictSame([statusCode, JSON.parse(body).resourceType], [406, 'OperationOutcome'])
  }
  const posted = await inject({ method: 'POST', url })
  t.strictSame(
    [posted.statusCode, posted.headers.allow, posted.json().resourceType],
    [405, 'GET, HEAD', 'OperationOutcome']
  )
})

t.test('the statement, which is large, is sent compressed, and is 304 for a client that has it', async t => {
  const { inject } = await startGateway(t)
  for (const [url, headers] of [
    ['/v1/fhir/metadata', {}],
    ['/v1/metadata', { accept: 'application/fhir+json' }]
  ] as const) {
    const plain = await inject({ url, headers })
    const zipped = await inject({ url, headers: { ...headers, 'accept-encoding': 'gzip' } })
    t.equal(gunzipSync(zipped.rawPayload).toString(), plain.body)
    t.ok(zipped.rawPayload.length < plain.rawPayload.length / 5)
    t.equal(
      (await inject({ url, headers: { ...headers, 'if-none-match': plain.headers.etag as string } })).statusCode,
      304
    )
  }
})

t.test(
  'all routes below /v1 are stated at /v1/metadata: the simple resources, then raw FHIR as at /v1/fhir/metadata',
  async t => {
    const { inject } = await startGateway(t)
    const { data } = (await inject('/v1/metadata')).json()
    t.equal(data.rest.length, 2)
    t.strictSame(data.rest[1], (await inject('/v1/fhir/metadata')).json().rest[0])
    t.match(
      data.rest[0].resource.find(({ type }: { type: string }) => type === 'AuditEvent'),
      { interaction: [{ code: 'create' }, { code: 'read' }, { code: 'search-type' }] }
    )
  }
)

/** Composites that HAPI refuses. */
const unanswered = [
  'DocumentReference.relationship',
  ...['chromosome-variant', 'chromosome-window', 'referenceseqid-variant', 'referenceseqid-window'].map(
    name => `MolecularSequence.${name}-coordinate`
  )
]

t.test(
  'every type of a tenant is stated with versioning, conditional requests and references, and no shared type with interactions',
  async t => {
    const { inject } = await startGateway(t)
    const {
      rest: [{ resource, interaction: onSystem }]
    } = (await inject('/v1/fhir/metadata')).json()
    t.strictSame(onSystem, [{ code: 'transaction' }, { code: 'batch' }])
    const withRecords = resource.filter(({ interaction }: { interaction?: unknown }) => interaction !== undefined)
    t.strictSame(
      withRecords.map(({ type }: { type: string }) => type),
      [...resourceTypes].filter(isTenantType)
    )
    for (const { type, interaction, searchParam = [], ...stated } of withRecords) {
      const changes = type === 'AuditEvent' ? [] : ['update', 'patch']
      t.match(
        stated,
        {
          versioning: 'versioned',
          readHistory: true,
          updateCreate: false,
          conditionalCreate: true,
          conditionalRead: 'full-support',
          conditionalUpdate: changes.length > 0,
          conditionalDelete: 'single',
          referencePolicy: ['literal', 'logical', 'enforced', 'local']
        },
        type
      )
      t.strictSame(
        interaction.map(({ code }: { code: string }) => code),
        ['read', 'vread', ...changes, 'delete', 'history-instance', 'create', 'search-type'],
        type
      )
      // The sandbox states no composites, since it has none.
      const supported = listParameterNames(type).filter(
        name => !unanswered.includes(`${type}.${name}`) && findSearchParameter(type, name)!.kind !== 'composite'
      )
      t.strictSame(
        searchParam,
        supported.map(name => ({ name, type: findSearchParameter(type, name)!.kind })),
        type
      )
    }
  }
)

t.test('the guard accepts every stated search parameter', async t => {
  const { inject } = await startGateway(t)
  const { rest: [{ resource, searchParam: ofAll }] } = (await inject('/v1/fhir/metadata')).json()
  const tenant = { system: 'urn:clinigate:tenant', id: 't' }
  const isTaken = (type: string, name: string): boolean => {
    try {
      return restrict({ type, parameters: [[name, 'urn:x|y']], count: 1 }, tenant).path.startsWith(type)
    } catch {
      return false
    }
  }
  const stated: Array<[string, string]> = resource.flatMap(({ type, searchParam = [] }: any) =>
    [...searchParam, ...ofAll].map(({ name }) => [type, name])
  )
  t.ok(stated.length > 2_000)
  t.strictSame(stated.filter(([type, name]) => !isTaken(type, name)), [])
})

t.test('a request for another kind of statement is refused', async t => {
  const { inject } = await startGateway(t)
  t.match(
    [
      (await inject('/v1/fhir/metadata?mode=terminology')).statusCode,
      (await inject('/v1/fhir/metadata?mode=full')).statusCode
    ],
    [400, 200]
  )
})
