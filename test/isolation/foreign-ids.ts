import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { deepEqual } from '../../src/mappings/core/element.js'
import { mappings } from '../../src/mappings/registry.js'
import { createGatewayClient, unlimitedPlans, type ClientResponse, type Client } from '../harness/client.js'
import { createFhirClient, type FhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { Bodies, replaceWithRecords, type Body } from '../resources/bodies.js'
import { probedJobRoutes } from './foreign-jobs.js'
import { probedSubscriptionRoutes } from './foreign-subscriptions.js'
import { probedWebhookRoutes } from './foreign-webhooks.js'
import { makeWorld, type World } from '../resources/fixture.js'

/** The FHIR servers of test and live keys. */
export interface Servers { readonly testUrl: string, readonly liveUrl: string }

/** Records that are not the caller's: each kind must get the same response as an unknown id. */
interface Strangers {
  readonly unknown: World
  readonly foreign: World
  readonly deleted: World
  /** The same organization's, with keys of the other mode. */
  readonly otherMode: World
}

interface ProbeContext {
  readonly client: Client
  /** Another organization's. */
  readonly other: Client
  readonly live: Client
  readonly own: World
  readonly strangers: Strangers
}

/** Routes without records. */
const openRoutes = [
  '/docs',
  '/health',
  '/health/ready',
  '/openapi.json',
  '/v1/bulk/export',
  '/v1/bulk/import',
  // Only says that events are switched off.
  '/v1/events',
  '/v1/fhir/metadata',
  '/v1/fhir/:operation(^\\$import$)',
  '/v1/metadata',
  '/v1/usage',
  ...['CodeSystem', 'ConceptMap', 'ValueSet'].map(type => `/v1/fhir/${type}/:operation(^\\$.*$)`)
]
/** Raw FHIR, which the attacks probe. */
const rawRoutes = ['/v1/fhir', '/v1/fhir*']

/**
 * The probe "another tenant's id" for every route of the running gateway: the response must be that for an unknown id,
 * and nothing may change.
 */
export async function probeForeignIds (t: Test, { testUrl, liveUrl }: Servers): Promise<void> {
  t.setTimeout(600_000)
  const gateway = await startGateway(t, {
    environment: { FHIR_TEST_URL: testUrl, FHIR_LIVE_URL: liveUrl },
    plans: unlimitedPlans
  })
  const [test, live] = [createFhirClient(testUrl), createFhirClient(liveUrl)]
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const own = await makeWorld(test, client.tenantId)
  const context: ProbeContext = {
    client,
    other,
    live: await createGatewayClient(gateway, { tenantId: client.tenantId, mode: 'live' }),
    own,
    strangers: {
      unknown: { recordOf: (types, pick) => `${own.recordOf(types, pick).split('/')[0]}/nobody-has-this-id` },
      foreign: await makeWorld(test, other.tenantId),
      deleted: await makeDeletedWorld(test, client.tenantId),
      otherMode: await makeWorld(live, client.tenantId)
    }
  }
  await t.test('every route is probed, or has no record behind it', async t =>
    t.strictSame(
      listUnprobedRoutes(gateway.app),
      [...openRoutes, ...rawRoutes, ...probedJobRoutes, ...probedWebhookRoutes, ...probedSubscriptionRoutes].sort()
    )
  )
  const owners: Array<[FhirServer, string]> = [[test, client.tenantId], [test, other.tenantId], [live, client.tenantId]]
  await t.test('each resource', async t => {
    t.setTimeout(600_000)
    t.jobs = 6
    for (const mapping of mappings) t.test(mapping.path, t => probeResource(t, mapping, { context, owners }))
  })
}

async function probeResource (
  t: Test,
  mapping: Mapping,
  { context, owners }: { readonly context: ProbeContext; readonly owners: ReadonlyArray<[FhirServer, string]> }
): Promise<void> {
  const bodies = new Bodies(mapping, replaceWithRecords(context.own, 1)).buildFull()
  const records = await Promise.all(bodies.map(body => context.client.send('POST', mapping.path, body)))
  t.strictSame(
    records.map(({ status }) => status),
    bodies.map(() => 201),
    'its own references are taken'
  )
  const listVersions = () =>
    Promise.all(
      owners.map(async ([server, tenantId]) =>
        (await server.fetchTagged(tenantId, mapping.type)).map(({ id, meta }) => `${id}/${meta.versionId}`).sort()
      )
    )
  const before = await listVersions()
  await t.test('reading, changing and deleting', t => probeRecords(t, mapping, context))
  await t.test('references in creates and updates', t => probeReferences(t, mapping, { context, records }))
  await t.test('filters', t => probeFilters(t, mapping, context))
  await t.test('cursors', t => probeCursors(t, mapping, context))
  t.strictSame(await listVersions(), before, 'nothing was written')
}

/** Sends the same request about each kind of stranger, and requires the same response for all. */
async function requireAlike (
  t: Test,
  title: string,
  { strangers }: ProbeContext,
  sendFor: (world: World) => Promise<ClientResponse>
): Promise<ClientResponse> {
  const [unknown, ...others] = await Promise.all(Object.values(strangers).map(sendFor))
  for (const [i, response] of others.entries()) {
    t.strictSame(toComparable(response), toComparable(unknown!), `${title}: ${Object.keys(strangers)[i + 1]} as unknown`)
  }
  return unknown!
}

/** A response without what differs from request to request: its id and times. */
export function toComparable ({ status, headers, body }: ClientResponse): unknown {
  const { 'x-request-id': _, 'x-timestamp': __, date: ___, ...others } = headers
  return {
    status,
    headers: others,
    body: body === undefined ? undefined : { ...body, requestId: '', meta: { ...body.meta, requestId: '', timestamp: '' } }
  }
}

async function probeRecords (t: Test, mapping: Mapping, context: ProbeContext): Promise<void> {
  const buildPath = (world: World): string => `${mapping.path}/${world.recordOf([mapping.type]).split('/')[1]}`
  const reads: Array<[string, string, Record<string, string>?]> = [
    ['GET', ''], ['HEAD', ''], ['GET', '', { 'if-none-match': 'W/"1"' }], ['GET', '', { 'if-none-match': '*' }],
    ['GET', '?_revinclude=Observation:subject'], ['GET', '?include=observations'], ['GET', '?x=1']
  ]
  for (const [method, query, headers] of reads) {
    const response = await requireAlike(t, `${method} ${query} ${JSON.stringify(headers ?? {})}`, context, world =>
      context.client.send(method, buildPath(world) + query, undefined, headers)
    )
    if (query === '') t.equal(response.status, 404)
  }
  const writes: Array<[string, unknown, Record<string, string>?]> = [
    ['PATCH', {}],
    ['PATCH', { identifiers: [{ value: 'mine' }] }],
    ['PATCH', { unknown: 1 }],
    ['PATCH', []],
    ['PATCH', [{ op: 'test', path: '/versionId', value: '1' }]],
    ['PATCH', 'text'],
    ['PATCH', {}, { 'if-match': 'W/"1"' }],
    ['PATCH', {}, { 'if-match': 'W/"2"' }],
    ['DELETE', undefined],
    ['DELETE', undefined, { 'if-match': 'W/"1"' }],
    ['DELETE', undefined, { 'if-match': 'W/"2"' }]
  ]
  for (const [i, [method, body, headers]] of writes.entries()) {
    const buildKeyHeader = (): Record<string, string> =>
      method === 'PATCH' && i % 2 === 1 ? { 'idempotency-key': randomUUID() } : {}
    const response = await requireAlike(
      t,
      `${method} ${JSON.stringify(body)} ${JSON.stringify(headers ?? {})}`,
      context,
      world => context.client.send(method, buildPath(world), body, { ...headers, ...buildKeyHeader() })
    )
    t.equal(response.status, mapping.appendOnly && method === 'PATCH' ? 405 : 404, `${method} ${JSON.stringify(body)}`)
  }
}

async function probeReferences (
  t: Test,
  mapping: Mapping,
  { context, records }: { readonly context: ProbeContext; readonly records: readonly ClientResponse[] }
): Promise<void> {
  const buildBodies = (world: World): readonly Body[] =>
    new Bodies(mapping, replaceWithRecords(world, 1))
      .buildFull()
      .map(body => ({ ...body, ...pickDefinitions(mapping, body, world) }))
  const made = new Map(Object.values(context.strangers).map(world => [world, buildBodies(world)]))
  const own = buildBodies(context.own)
  for (const [i, { data }] of records.entries()) {
    const referring = Object.keys(own[i]!).filter(
      name => !deepEqual(own[i]![name], made.get(context.strangers.unknown)![i]![name])
    )
    if (referring.length === 0) continue
    const created = await requireAlike(t, `POST ${i}`, context, world =>
      context.client.send('POST', mapping.path, made.get(world)![i])
    )
    t.match(created.body, { code: 'VALIDATION_ERROR', meta: { status: 422 } })
    t.strictSame(listNamedFields(created), referring.toSorted(), 'every field that refers is named')
    if (mapping.appendOnly) continue
    const pickReferring = (body: Body): Body => Object.fromEntries(referring.map(name => [name, body[name]]))
    const changed = await requireAlike(t, `PATCH ${i}`, context, world =>
      context.client.send('PATCH', `${mapping.path}/${data.id}`, pickReferring(made.get(world)![i]!))
    )
    t.equal(changed.body.code, 'VALIDATION_ERROR')
    t.strictSame(listNamedFields(changed), referring.toSorted(), 'every field that refers is named')
  }
}

/** For each field that names a definition, its id. */
function pickDefinitions (mapping: Mapping, body: Body, world: World): Body {
  return Object.fromEntries(Object.keys(body).flatMap(name => {
    const type = mapping.fields[name]!.options.canonicalOf
    return type === undefined ? [] : [[name, world.recordOf([type]).split('/')[1]]]
  }))
}

/** The fields that the issues of a response name. */
const listNamedFields = ({ body }: ClientResponse): string[] =>
  [
    ...new Set<string>(
      body.issues.flatMap(({ expression }: { expression: string[] }) => expression.map(path => /^\w+/.exec(path)![0]))
    )
  ].sort()

async function probeFilters (t: Test, mapping: Mapping, context: ProbeContext): Promise<void> {
  const filters = { id: { kind: 'reference', types: [mapping.type], canonicalOf: undefined }, ...mapping.filters }
  for (const [name, { kind, types = [], canonicalOf }] of Object.entries(filters)) {
    if (kind !== 'reference') continue
    for (const type of new Set([canonicalOf ?? types[0]!, types.at(-1)!])) {
      const getFilterValue = (world: World): string => {
        const record = world.recordOf([type])
        return type === (canonicalOf ?? types[0]) ? record.split('/')[1]! : record
      }
      const response = await requireAlike(t, `${name} by ${type}`, context, world =>
        context.client.send('GET', `${mapping.path}?${name}=${getFilterValue(world)}`)
      )
      t.strictSame(response.data, { data: [], total: 0, hasMore: false })
    }
  }
}

async function probeCursors (t: Test, mapping: Mapping, { client, other, live }: ProbeContext): Promise<void> {
  const fetchCursor = async (who: Client): Promise<string> =>
    (await who.send('GET', `${mapping.path}?count=1`)).data.cursor
  const theirs = await Promise.all([other, live].map(fetchCursor))
  const forged = await client.send('GET', `${mapping.path}?cursor=nobody-gave-this-one`)
  t.match(forged.body, { code: 'INVALID_CURSOR', meta: { status: 400 } })
  for (const cursor of theirs) {
    t.type(cursor, 'string')
    t.strictSame(toComparable(await client.send('GET', `${mapping.path}?cursor=${cursor}`)), toComparable(forged))
  }
}

async function makeDeletedWorld (server: FhirServer, tenantId: string): Promise<World> {
  const world = await makeWorld(server, tenantId)
  await Promise.all(world.records.map(async record => {
    const { status } = await server.send('DELETE', record)
    if (status >= 300) throw new Error(`${record} is still there: ${status}`)
  }))
  return world
}

/**
 * The routes of no resource group, from the tree that the router prints: one level deeper is four columns further
 * right.
 */
function listUnprobedRoutes (app: FastifyInstance): string[] {
  const probed = new Map(mappings.flatMap(({ path, appendOnly }) => [
    [`/v1/${path}`, 'POST, GET, HEAD'], [`/v1/${path}/:id`, appendOnly ? 'GET, HEAD, DELETE' : 'GET, HEAD, PATCH, DELETE']
  ]))
  const parents: string[] = []
  const routes = app.printRoutes({ commonPrefix: false }).split('\n').flatMap(line => {
    const [, indent = '', part = '', methods] = /^(.*)── (\S+)(?: \((.+)\))?$/.exec(line) ?? []
    parents[(indent.length - 1) / 4] = part
    const path = parents.slice(0, (indent.length - 1) / 4 + 1).join('')
    return methods === undefined || probed.get(path) === methods ? [] : [path.replace(/^\/docs\/.*/, '/docs')]
  })
  // The control plane has probes of its own, and no record behind it.
  return [...new Set(routes)].filter(path => !/^\/(control|dashboard)(\/|$)/.test(path)).sort()
}
