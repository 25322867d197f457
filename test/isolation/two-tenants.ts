import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans, type ClientResponse, type Client } from '../harness/client.js'
import { createFhirClient, tenantSystem, type FhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import type { Servers } from './foreign-ids.js'
import { groups, toPath, Records, type Group, type Known } from './model.js'

/** The minimum duration of the run, and its seed. */
interface Effort { readonly seconds: number, readonly seed: number }

/** Worlds of two organizations that run at the same time on the same servers. */
const worldsAtOnce = 4
const stepsOfAWorld = 100

/** An actor: an organization with its keys of one mode. */
interface Actor {
  readonly client: Client
  readonly server: FhirServer
  /** In every text that it sends, so that a leak is recognised wherever it shows. */
  readonly marker: string
  readonly records: Records
}

interface World {
  readonly actors: readonly Actor[]
  readonly cursors: Array<{ readonly owner: Actor, readonly group: Group, readonly cursor: string }>
  readonly deletesWhatIsReferredTo: boolean
}

const kinds = ['create', 'create', 'create', 'read', 'write', 'refer', 'delete', 'find', 'page', 'include'] as const

/** One action of an actor; the numbers choose among all that the actors have seen. */
interface Step {
  readonly kind: (typeof kinds)[number]
  readonly who: number
  readonly group: number
  readonly pick: number
  readonly more: number
  readonly variant: number
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(...kinds),
  who: fc.nat(3),
  group: fc.nat(groups.length - 1),
  pick: fc.nat(9999),
  more: fc.nat(9999),
  variant: fc.nat(3)
})

/**
 * Two organizations, each with keys of both modes, act at random with each other's ids and cursors. Each response must
 * be what the model of the actor's own records says and contain nothing of another actor, and after each step a part of
 * one actor's state is compared with its model. In the end the servers hold what the models hold, each record with its
 * one tag.
 */
export async function actAtRandom (
  t: Test,
  { testUrl, liveUrl, deletesWhatIsReferredTo = false }: Servers & { readonly deletesWhatIsReferredTo?: boolean },
  { seconds, seed }: Effort
): Promise<void> {
  const gateway = await startGateway(t, {
    environment: { FHIR_TEST_URL: testUrl, FHIR_LIVE_URL: liveUrl },
    plans: unlimitedPlans
  })
  const until = performance.now() + seconds * 1000
  let taken = 0
  // However slow the machine is, one world is run.
  const isOver = () => taken > stepsOfAWorld && performance.now() > until
  const runSteps = async (steps: readonly Step[]) => {
    const actors = (await Promise.all([0, 1].map(() => createActors()))).flat()
    const world: World = { actors, cursors: [], deletesWhatIsReferredTo }
    for (const step of steps) {
      if (isOver()) break
      await perform(world, step)
      await compare(world.actors[(step.who + step.variant) % 4]!, groups[step.more % groups.length]!, world)
      taken++
    }
    for (const actor of world.actors) await requireSameOnServer(actor)
  }
  const createActors = async (): Promise<Actor[]> => {
    const test = await createGatewayClient(gateway)
    const live = await createGatewayClient(gateway, { tenantId: test.tenantId, mode: 'live' })
    return [[test, testUrl] as const, [live, liveUrl] as const].map(([client, url]) => ({
      client,
      server: createFhirClient(url),
      marker: `Mark${randomUUID().replaceAll('-', '')}`,
      records: new Records()
    }))
  }
  const buildProperty = () =>
    fc.asyncProperty(fc.array(step, { minLength: stepsOfAWorld, maxLength: stepsOfAWorld }), runSteps)
  await Promise.all(Array.from({ length: worldsAtOnce }, async (_, i) => {
    // A failure is not shrunk, since the servers go on from where they are.
    for (let world = i; !isOver(); world += worldsAtOnce) {
      await fc.assert(buildProperty(), { seed: seed + world, numRuns: 1, endOnFailure: true })
    }
  }))
  t.comment(`${taken} steps`)
  t.strictSame(
    gateway.logged().filter(({ incident }) => incident !== undefined),
    [],
    'no server gave what it should not'
  )
}

async function perform (world: World, { kind, who, group, pick, more, variant }: Step): Promise<void> {
  const actor = world.actors[who]!
  const known = world.actors.flatMap(({ records }) => records.all)
  const chosen = known[pick % (known.length || 1)]
  const other = known[more % (known.length || 1)]
  const act = { world, actor, variant, other }
  if (kind === 'create') return create(act, groups[group]!, known, more)
  if (kind === 'find') return find(act, groups[group]!, chosen)
  if (kind === 'page') return followCursor(act, pick)
  if (chosen === undefined) return
  if (kind === 'read') return read(act, chosen)
  if (kind === 'include') return include(act, chosen)
  if (kind === 'write') return write(act, chosen)
  return kind === 'refer' ? refer(act, chosen) : remove(act, chosen)
}

interface Act {
  readonly world: World
  readonly actor: Actor
  readonly variant: number
  readonly other: Known | undefined
}

/** Creates a record whose references lead to any records that an actor has seen. */
async function create (act: Act, group: Group, known: readonly Known[], more: number): Promise<void> {
  const { actor } = act
  const references = Object.fromEntries(Object.entries(group.references).flatMap(([field, { to, required }], i) => {
    const possible = known.filter(({ group }) => group.path === to)
    const target = possible[(more + i) % (possible.length || 1)]?.id ?? 'nobody-has-this-id'
    return required || (more + i) % 2 === 0 ? [[field, target]] : []
  }))
  const fields = { ...group.others, ...references, [group.text]: actor.marker }
  const isAllowed = Object.entries(references).every(([field, id]) =>
    actor.records.has(group.references[field]!.to, id)
  )
  const { data } = await send(act, isAllowed ? 201 : 422, 'POST', group.path, fields)
  if (isAllowed) actor.records.add({ group, id: data.id, fields, version: data.versionId })
}

async function read (act: Act, chosen: Known): Promise<void> {
  const own = act.actor.records.get(chosen)
  const headers: Record<string, string> = act.variant === 0 ? { 'if-none-match': 'W/"999"' } : {}
  const { data } = await send(
    act,
    own === undefined ? 404 : 200,
    act.variant === 1 && own === undefined ? 'HEAD' : 'GET',
    toPath(chosen),
    undefined,
    headers
  )
  if (own !== undefined) requireSame(data, own)
}

/** A record with all that refers to it, as FHIR. */
async function include (act: Act, chosen: Known): Promise<void> {
  if (chosen.group.path !== 'patients') return
  const { records } = act.actor
  const isOwn = records.get(chosen) !== undefined
  const query = '_revinclude=Encounter:subject&_revinclude=Observation:patient&_revinclude=Consent:patient'
  const { data } = await send(act, isOwn ? 200 : 404, 'GET', `${toPath(chosen)}?${query}`)
  if (!isOwn) return
  const expected = [
    chosen.id,
    ...records.all.filter(({ isDeleted, fields }) => !isDeleted && fields.patientId === chosen.id).map(({ id }) => id)
  ]
  requireEqual(data.entry.map(({ resource }: any) => resource.id).sort(), expected.sort(), 'what refers to a patient')
}

async function write (act: Act, chosen: Known): Promise<void> {
  const own = act.actor.records.get(chosen)
  const text = `${act.actor.marker} again`
  const { group } = chosen
  const isStale = act.variant === 2
  const body = act.variant === 0 ? [{ op: 'replace', path: `/${group.text}`, value: text }] : { [group.text]: text }
  const { data } = await send(
    act,
    own === undefined ? 404 : isStale ? 412 : 200,
    'PATCH',
    toPath(chosen),
    body,
    isStale ? { 'if-match': 'W/"999"' } : {}
  )
  if (own !== undefined && !isStale) act.actor.records.change(own, { [group.text]: text }, data.versionId)
}

/** Leads a reference of a record to any record that an actor has seen. */
async function refer (act: Act, chosen: Known): Promise<void> {
  const [field, { to, required } = { to: '', required: true }] =
    Object.entries(chosen.group.references)[act.variant] ?? []
  if (field === undefined || act.other === undefined) return
  const { records } = act.actor
  const own = records.get(chosen)
  const value = act.other.group.path === to || required ? act.other.id : null
  const isAllowed = value === null || records.has(to, value)
  const { data } = await send(act, own === undefined ? 404 : isAllowed ? 200 : 422, 'PATCH', toPath(chosen), {
    [field]: value
  })
  if (own !== undefined && isAllowed) records.change(own, { [field]: value ?? undefined }, data.versionId)
}

async function remove (act: Act, chosen: Known): Promise<void> {
  const { records } = act.actor
  const own = records.get(chosen)
  const isStale = act.variant === 3
  // The model has no references that point to nothing; that such a delete is performed, an attack shows.
  if (act.world.deletesWhatIsReferredTo && own !== undefined && records.isReferredTo(own)) return
  const status = own === undefined ? 404 : isStale ? 412 : records.isReferredTo(own) ? 409 : 200
  const { data } = await send(
    act,
    status,
    'DELETE',
    toPath(chosen),
    undefined,
    isStale ? { 'if-match': 'W/"999"' } : {}
  )
  if (status !== 200) return
  requireEqual(data, { id: chosen.id, deleted: true }, 'what a delete says')
  records.remove(chosen)
}

/** Searches by the text of all actors, by an id and by a reference of any of them. */
async function find (act: Act, group: Group, chosen: Known | undefined): Promise<void> {
  const { world, actor, variant } = act
  const own = actor.records.listByGroup(group)
  const search = async (query: string, expected: readonly Known[]): Promise<void> => {
    const { data } = await send(act, 200, 'GET', `${group.path}?${query}`)
    requireEqual(data.total, expected.length, `total of ${group.path}?${query.split('=')[0]}`)
    requireEqual(data.data.length, Math.min(expected.length, 2), 'length of the page')
    if (data.data.some(({ id }: Known) => !expected.some(record => record.id === id))) {
      throw new Error('a search finds what does not match')
    }
    if (data.cursor !== undefined) world.cursors.push({ owner: actor, group, cursor: data.cursor })
  }
  if (variant === 0) await search('count=2', own)
  if (variant === 1) {
    const markedActor = world.actors[(chosen?.id.length ?? 0) % 4]!
    await search(`count=2&${group.filter}=${markedActor.marker}`, markedActor === actor ? own : [])
  }
  if (chosen === undefined) return
  if (variant === 2) await search(`count=2&id=${chosen.id}`, own.filter(({ id }) => id === chosen.id))
  const [field] = Object.entries(group.references).find(([, { to }]) => to === chosen.group.path) ?? []
  if (variant === 3 && field !== undefined) {
    await search(
      `count=2&${field}=${chosen.id}`,
      own.filter(({ fields }) => fields[field] === chosen.id)
    )
  }
}

async function followCursor (act: Act, pick: number): Promise<void> {
  const { world, actor, variant } = act
  const cursorEntry = world.cursors[pick % (world.cursors.length || 1)]
  if (cursorEntry === undefined) return
  const group = variant === 0 ? groups[pick % groups.length]! : cursorEntry.group
  const isRight = cursorEntry.owner === actor && group === cursorEntry.group
  const { data, body } = await send(act, isRight ? 200 : 400, 'GET', `${group.path}?cursor=${cursorEntry.cursor}`)
  if (!isRight) return requireEqual(body.code, 'INVALID_CURSOR', 'why a cursor is refused')
  const strangers = data.data.filter(({ id }: Known) => !actor.records.all.some(record => record.id === id))
  requireEqual(strangers, [], 'strangers on a page')
}

/** Sends a request, and fails on another status and on a response that contains anything of another actor. */
async function send (
  { world, actor }: Pick<Act, 'world' | 'actor'>,
  status: number,
  ...[method, path, body, headers]: Parameters<Client['send']>
): Promise<ClientResponse> {
  const response = await actor.client.send(method, path, body, headers)
  if (response.status !== status) {
    throw new Error(`${method} ${path} is answered ${response.status} in place of ${status}: ${response.text}`)
  }
  const everything = JSON.stringify(response.headers) + response.text
  const others = world.actors.filter(other => other !== actor)
  const leaks = others.filter(
    ({ marker, client }) =>
      everything.includes(marker) || (client.tenantId !== actor.client.tenantId && everything.includes(client.tenantId))
  )
  const { meta: _, requestId: __, ...content } = response.body ?? {}
  const texts = new Set(
    [...collectTexts(content), ...Object.values(response.headers).flatMap(value => String(value).split('/'))].flatMap(text => [
      text,
      text.split('/')[1] ?? text
    ])
  )
  const foreignRecords = others.flatMap(({ records }) => records.all).filter(({ id }) => texts.has(id))
  if (leaks.length + foreignRecords.length > 0) throw new Error(`${method} ${path} shows something of another: ${everything}`)
  return response
}

function collectTexts (value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(collectTexts) : []
}

/** Compares all records of one group as their owner sees them with the model. */
async function compare (actor: Actor, group: Group, world: World): Promise<void> {
  const { data } = await send({ world, actor }, 200, 'GET', `${group.path}?count=100`)
  const own = actor.records.listByGroup(group)
  requireEqual(data.total, own.length, `how many ${group.path} there are`)
  for (const record of own) requireSame(data.data.find(({ id }: Known) => id === record.id), record)
}

function requireSame (actual: any, { group, id, fields, version }: Known): void {
  const names = [group.text, ...Object.keys(group.references)]
  // One value may be sent in place of a list; the response has a list.
  const pick = (of: any): unknown => names.map(name => name === group.text ? [of?.[name]].flat() : of?.[name])
  requireEqual([actual?.id, actual?.versionId, pick(actual)], [id, version, pick(fields)], `a record of ${group.path}`)
}

function requireEqual (actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [actual, expected].map(value => JSON.stringify(value))
  if (a !== b) throw new Error(`${what}: ${a} in place of ${b}`)
}

/** The server holds the records of the model, each with its owner's tag alone, and no others of this owner. */
async function requireSameOnServer ({ client, server, records }: Actor): Promise<void> {
  for (const group of groups) {
    const stored = await server.fetchTagged(client.tenantId, group.type)
    requireEqual(
      stored.map(({ id, meta }) => `${id}/${meta.versionId}`).sort(),
      records
        .listByGroup(group)
        .map(({ id, version }) => `${id}/${version}`)
        .sort(),
      `the ${group.type}s of a tenant on the server`
    )
    const tags = stored
      .flatMap(({ meta }) => meta.tag ?? [])
      .filter(({ system }) => system === tenantSystem)
      .map(({ code }) => code)
    requireEqual(tags, stored.map(() => client.tenantId), 'the tags')
  }
}
