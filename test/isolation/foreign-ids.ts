import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { deepEqual } from '../../src/mappings/core/element.js'
import { mappings } from '../../src/mappings/registry.js'
import { clientOf, unlimitedPlans, type Answer, type Client } from '../harness/client.js'
import { fhirServer, type FhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { Bodies, referringTo, type Body } from '../resources/bodies.js'
import { probedJobRoutes } from './foreign-jobs.js'
import { probedSubscriptionRoutes } from './foreign-subscriptions.js'
import { probedWebhookRoutes } from './foreign-webhooks.js'
import { makeWorld, type World } from '../resources/fixture.js'

/** The FHIR servers of test and live keys. */
export interface Servers { readonly testUrl: string, readonly liveUrl: string }

/** Records that are not the caller's, each kind to be answered as those that never were. */
interface Strangers {
  readonly unknown: World
  readonly foreign: World
  readonly deleted: World
  /** The same organization's, with keys of the other mode. */
  readonly otherMode: World
}

interface Place {
  readonly client: Client
  /** Another organization's. */
  readonly other: Client
  readonly live: Client
  readonly own: World
  readonly strangers: Strangers
}

/** Routes that no record stands behind. */
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
 * The probe "another tenant's id" for every route of the running gateway: it must be answered like one that never was,
 * and change nothing.
 */
export async function probeForeignIds (t: Test, { testUrl, liveUrl }: Servers): Promise<void> {
  t.setTimeout(600_000)
  const gateway = await startGateway(t, {
    environment: { FHIR_TEST_URL: testUrl, FHIR_LIVE_URL: liveUrl },
    plans: unlimitedPlans
  })
  const [test, live] = [fhirServer(testUrl), fhirServer(liveUrl)]
  const [client, other] = [await clientOf(gateway), await clientOf(gateway)]
  const own = await makeWorld(test, client.tenantId)
  const place: Place = {
    client,
    other,
    live: await clientOf(gateway, { tenantId: client.tenantId, mode: 'live' }),
    own,
    strangers: {
      unknown: { recordOf: (types, pick) => `${own.recordOf(types, pick).split('/')[0]}/nobody-has-this-id` },
      foreign: await makeWorld(test, other.tenantId),
      deleted: await deletedWorld(test, client.tenantId),
      otherMode: await makeWorld(live, client.tenantId)
    }
  }
  await t.test('every route is probed, or has no record behind it', async t =>
    t.strictSame(
      unprobedRoutes(gateway.app),
      [...openRoutes, ...rawRoutes, ...probedJobRoutes, ...probedWebhookRoutes, ...probedSubscriptionRoutes].sort()
    )
  )
  const owners: Array<[FhirServer, string]> = [[test, client.tenantId], [test, other.tenantId], [live, client.tenantId]]
  await t.test('each resource', async t => {
    t.setTimeout(600_000)
    t.jobs = 6
    for (const mapping of mappings) t.test(mapping.path, t => probeResource(t, mapping, { place, owners }))
  })
}

async function probeResource (
  t: Test,
  mapping: Mapping,
  { place, owners }: { readonly place: Place; readonly owners: ReadonlyArray<[FhirServer, string]> }
): Promise<void> {
  const bodies = new Bodies(mapping, referringTo(place.own, 1)).full()
  const records = await Promise.all(bodies.map(body => place.client.send('POST', mapping.path, body)))
  t.strictSame(
    records.map(({ status }) => status),
    bodies.map(() => 201),
    'its own references are taken'
  )
  const versions = () =>
    Promise.all(
      owners.map(async ([server, tenantId]) =>
        (await server.tagged(tenantId, mapping.type)).map(({ id, meta }) => `${id}/${meta.versionId}`).sort()
      )
    )
  const before = await versions()
  await t.test('reading, changing and deleting', t => probeRecords(t, mapping, place))
  await t.test('references in what is created and changed', t => probeReferences(t, mapping, { place, records }))
  await t.test('filters', t => probeFilters(t, mapping, place))
  await t.test('cursors', t => probeCursors(t, mapping, place))
  t.strictSame(await versions(), before, 'nothing was written')
}

/** Sends the same request about each kind of stranger, and demands one answer for all. */
async function requireAlike (
  t: Test,
  title: string,
  { strangers }: Place,
  ask: (world: World) => Promise<Answer>
): Promise<Answer> {
  const [unknown, ...others] = await Promise.all(Object.values(strangers).map(ask))
  for (const [i, answer] of others.entries()) {
    t.strictSame(said(answer), said(unknown!), `${title}: ${Object.keys(strangers)[i + 1]} as unknown`)
  }
  return unknown!
}

/** An answer without what differs from request to request: its id and times. */
export function said ({ status, headers, body }: Answer): unknown {
  const { 'x-request-id': _, 'x-timestamp': __, date: ___, ...others } = headers
  return {
    status,
    headers: others,
    body: body === undefined ? undefined : { ...body, requestId: '', meta: { ...body.meta, requestId: '', timestamp: '' } }
  }
}

async function probeRecords (t: Test, mapping: Mapping, place: Place): Promise<void> {
  const pathOf = (world: World): string => `${mapping.path}/${world.recordOf([mapping.type]).split('/')[1]}`
  const reads: Array<[string, string, Record<string, string>?]> = [
    ['GET', ''], ['HEAD', ''], ['GET', '', { 'if-none-match': 'W/"1"' }], ['GET', '', { 'if-none-match': '*' }],
    ['GET', '?_revinclude=Observation:subject'], ['GET', '?include=observations'], ['GET', '?x=1']
  ]
  for (const [method, query, headers] of reads) {
    const answer = await requireAlike(t, `${method} ${query} ${JSON.stringify(headers ?? {})}`, place, world =>
      place.client.send(method, pathOf(world) + query, undefined, headers)
    )
    if (query === '') t.equal(answer.status, 404)
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
    const key = (): Record<string, string> =>
      method === 'PATCH' && i % 2 === 1 ? { 'idempotency-key': randomUUID() } : {}
    const answer = await requireAlike(
      t,
      `${method} ${JSON.stringify(body)} ${JSON.stringify(headers ?? {})}`,
      place,
      world => place.client.send(method, pathOf(world), body, { ...headers, ...key() })
    )
    t.equal(answer.status, mapping.appendOnly && method === 'PATCH' ? 405 : 404, `${method} ${JSON.stringify(body)}`)
  }
}

async function probeReferences (
  t: Test,
  mapping: Mapping,
  { place, records }: { readonly place: Place; readonly records: readonly Answer[] }
): Promise<void> {
  const bodiesFor = (world: World): readonly Body[] =>
    new Bodies(mapping, referringTo(world, 1)).full().map(body => ({ ...body, ...definitionsOf(mapping, body, world) }))
  const made = new Map(Object.values(place.strangers).map(world => [world, bodiesFor(world)]))
  const own = bodiesFor(place.own)
  for (const [i, { data }] of records.entries()) {
    const referring = Object.keys(own[i]!).filter(
      name => !deepEqual(own[i]![name], made.get(place.strangers.unknown)![i]![name])
    )
    if (referring.length === 0) continue
    const created = await requireAlike(t, `POST ${i}`, place, world =>
      place.client.send('POST', mapping.path, made.get(world)![i])
    )
    t.match(created.body, { code: 'VALIDATION_ERROR', meta: { status: 422 } })
    t.strictSame(namedIn(created), referring.toSorted(), 'every field that refers is named')
    if (mapping.appendOnly) continue
    const only = (body: Body): Body => Object.fromEntries(referring.map(name => [name, body[name]]))
    const changed = await requireAlike(t, `PATCH ${i}`, place, world =>
      place.client.send('PATCH', `${mapping.path}/${data.id}`, only(made.get(world)![i]!))
    )
    t.equal(changed.body.code, 'VALIDATION_ERROR')
    t.strictSame(namedIn(changed), referring.toSorted(), 'every field that refers is named')
  }
}

/** For each field that names a definition, its id. */
function definitionsOf (mapping: Mapping, body: Body, world: World): Body {
  return Object.fromEntries(Object.keys(body).flatMap(name => {
    const type = mapping.fields[name]!.options.canonicalOf
    return type === undefined ? [] : [[name, world.recordOf([type]).split('/')[1]]]
  }))
}

/** The fields that an answer names, whatever is named in them. */
const namedIn = ({ body }: Answer): string[] =>
  [
    ...new Set<string>(
      body.issues.flatMap(({ expression }: { expression: string[] }) => expression.map(path => /^\w+/.exec(path)![0]))
    )
  ].sort()

async function probeFilters (t: Test, mapping: Mapping, place: Place): Promise<void> {
  const filters = { id: { kind: 'reference', types: [mapping.type], canonicalOf: undefined }, ...mapping.filters }
  for (const [name, { kind, types = [], canonicalOf }] of Object.entries(filters)) {
    if (kind !== 'reference') continue
    for (const type of new Set([canonicalOf ?? types[0]!, types.at(-1)!])) {
      const value = (world: World): string => {
        const record = world.recordOf([type])
        return type === (canonicalOf ?? types[0]) ? record.split('/')[1]! : record
      }
      const answer = await requireAlike(t, `${name} by ${type}`, place, world =>
        place.client.send('GET', `${mapping.path}?${name}=${value(world)}`)
      )
      t.strictSame(answer.data, { data: [], total: 0, hasMore: false })
    }
  }
}

async function probeCursors (t: Test, mapping: Mapping, { client, other, live }: Place): Promise<void> {
  const cursorOf = async (who: Client): Promise<string> =>
    (await who.send('GET', `${mapping.path}?count=1`)).data.cursor
  const theirs = await Promise.all([other, live].map(cursorOf))
  const forged = await client.send('GET', `${mapping.path}?cursor=nobody-gave-this-one`)
  t.match(forged.body, { code: 'INVALID_CURSOR', meta: { status: 400 } })
  for (const cursor of theirs) {
    t.type(cursor, 'string')
    t.strictSame(said(await client.send('GET', `${mapping.path}?cursor=${cursor}`)), said(forged))
  }
}

async function deletedWorld (server: FhirServer, tenantId: string): Promise<World> {
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
function unprobedRoutes (app: FastifyInstance): string[] {
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
