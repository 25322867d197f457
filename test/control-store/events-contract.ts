/** The guarantees of the control store for the events that gateways report, tested on the given database. */
import type { Test } from 'tap'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import type { ChangeEvent, EventBatch } from '../../src/events/event.js'
import type { EventQuery, StoredEvent } from '../../src/events/event.js'
import type { MakeDatabase } from './databases.js'

const now = () => new Date('2030-01-02T00:00:00Z')

/** Opens stores over one empty database; on SQLite the same one, since a second one in this thread would wait. */
async function createStoreOpener (t: Test, makeDatabase: MakeDatabase): Promise<() => Promise<ControlStore>> {
  const where = await makeDatabase(t)
  const openStore = async () => {
    const store = await openControlStore({ ...where, plans: ['pro'], now })
    t.teardown(() => store.close())
    return store
  }
  if (where.url !== undefined) return openStore
  const store = await openStore()
  return async () => store
}

let made = 0
const buildEvent = (what: Partial<ChangeEvent> = {}): ChangeEvent => ({
  id: `evt_${String(made++).padStart(26, '0')}`,
  tenantId: 'org-a',
  mode: 'live',
  type: 'patients.created',
  createdAt: '2030-01-01T10:00:00.000Z',
  resourceType: 'Patient',
  resourceId: 'p1',
  versionId: '1',
  requestId: 'request-1',
  ...what
})
const buildBatch = (number: number, lines: readonly ChangeEvent[], ledgerId = 'log-a'): EventBatch =>
  ({ ledgerId, number, batchId: `${ledgerId}-${number}`, lines })
const scope: EventQuery = { organizationId: 'org-a', mode: 'live', limit: 1_000 }

/** Runs the whole contract. */
export async function testEvents (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  const prepareStores = (t: Test) => createStoreOpener(t, makeDatabase)

  await t.test('an event is listed as it was sent, oldest first, for its organization and mode alone', async t => {
    const store = await (await prepareStores(t))()
    t.equal(await store.events.getLatestSequence(), 0)
    const lines = [buildEvent(), buildEvent({ type: 'fhir.Basic.deleted', resourceType: 'Basic', versionId: undefined })]
    await store.events.append(
      buildBatch(1, [...lines, buildEvent({ mode: 'test' }), buildEvent({ tenantId: 'org-b' })]),
      'one'
    )
    const listed: readonly StoredEvent[] = await store.events.list(scope)
    t.strictSame(
      listed,
      lines.map(({ tenantId, ...line }, at) =>
        ({ ...line, versionId: line.versionId ?? null, organizationId: tenantId, sequence: at + 1 }))
    )
    t.strictSame(await store.events.list({ ...scope, after: 1 }), listed.slice(1))
    t.strictSame(await store.events.list({ ...scope, limit: 1 }), listed.slice(0, 1))
    t.equal((await store.events.list({ ...scope, mode: 'test' })).length, 1)
    t.equal((await store.events.list({ ...scope, organizationId: 'org-b' })).length, 1)
    t.equal((await store.events.list({ ...scope, organizationId: 'org-x' })).length, 0)
    t.equal(await store.events.getLatestSequence(), 4)
  })

  await t.test('events are found by their types and from a time on', async t => {
    const store = await (await prepareStores(t))()
    const lines = [
      buildEvent(),
      buildEvent({ type: 'patients.deleted' }),
      buildEvent({ type: 'observations.created', createdAt: '2030-01-01T11:00:00.000Z' }),
      buildEvent({ type: 'fhir.Basic.created' })
    ]
    await store.events.append(buildBatch(1, lines), 'one')
    const listTypes = async (types: string[]) => (await store.events.list({ ...scope, types })).map(({ type }) => type)
    t.strictSame(await listTypes(['patients.*']), ['patients.created', 'patients.deleted'])
    t.strictSame(await listTypes(['patients.deleted', 'fhir.Basic.*']), ['patients.deleted', 'fhir.Basic.created'])
    t.equal((await listTypes(['*'])).length, 4)
    t.strictSame(await listTypes(['patient.*', 'patients', '%']), [])
    t.strictSame(await listTypes([]), [], 'no type is none')
    const since = await store.events.list({ ...scope, since: '2030-01-01T11:00:00.000Z' })
    t.strictSame(since.map(({ id }) => id), [lines[2]!.id])
  })

  await t.test('a batch is applied once, and one after a missing batch is rejected', async t => {
    const store = await (await prepareStores(t))()
    const first = buildBatch(1, [buildEvent()])
    const second = buildBatch(2, [buildEvent()])
    t.strictSame(await store.events.append(second, 'one'), { number: 0, batchId: '' })
    t.strictSame(await store.events.append(first, 'one'), { number: 1, batchId: 'log-a-1' })
    t.strictSame(await store.events.append(first, 'one'), { number: 1, batchId: 'log-a-1' }, 'acknowledged again')
    t.strictSame(await store.events.append(second, 'one'), { number: 2, batchId: 'log-a-2' })
    t.equal((await store.events.list(scope)).length, 2)
  })

  await t.test('an event that comes again in another batch is listed once, under its first number', async t => {
    const store = await (await prepareStores(t))()
    const [one, two] = [buildEvent(), buildEvent()]
    await store.events.append(buildBatch(1, [one]), 'one')
    await store.events.append(buildBatch(1, [one, two], 'log-b'), 'one')
    t.strictSame((await store.events.list(scope)).map(({ id, sequence }) => [id, sequence]), [[one.id, 1], [two.id, 3]])
  })

  await t.test('a reader that continues after its last event misses no event of gateways that send concurrently', async t => {
    const open = await prepareStores(t)
    const stores = [await open(), await open()]
    const sent = Array.from({ length: 8 }, async (_, gateway) => {
      const ids: string[] = []
      for (let number = 1; number <= 12; number++) {
        // Of different sizes, so that later batches overtake earlier ones.
        const lines = Array.from({ length: (gateway * 7 + number * 5) % 30 * 12 + 1 }, () => buildEvent())
        await stores[gateway % 2]!.events.append(buildBatch(number, lines, `log-${gateway}`), `gateway-${gateway}`)
        ids.push(...lines.map(({ id }) => id))
      }
      return ids
    })
    const reader = await open()
    const seen: string[] = []
    let isSent = false
    const all = Promise.all(sent).finally(() => { isSent = true })
    for (let after = 0; ;) {
      const wasSent = isSent
      const found = await reader.events.list({ ...scope, after })
      seen.push(...found.map(({ id }) => id))
      after = found.at(-1)?.sequence ?? after
      if (wasSent && found.length === 0) break
    }
    t.strictSame(seen.toSorted(), (await all).flat().toSorted())
  })

  await t.test('old events are deleted, and numbers go on', async t => {
    const store = await (await prepareStores(t))()
    const old = Array.from({ length: 5_001 }, () => buildEvent({ createdAt: '2029-12-01T00:00:00.000Z' }))
    await store.events.append(buildBatch(1, [...old, buildEvent()]), 'one')
    t.equal(await store.events.deleteBefore(new Date('2030-01-01T00:00:00Z')), 5_001)
    t.equal(await store.events.deleteBefore(new Date('2030-01-01T00:00:00Z')), 0)
    await store.events.append(buildBatch(2, [buildEvent()]), 'one')
    t.strictSame((await store.events.list(scope)).map(({ sequence }) => sequence), [5_002, 5_003])
  })
}
