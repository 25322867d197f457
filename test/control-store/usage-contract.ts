/** The guarantees of the control store for the usage that gateways count, tested on the given database. */
import type { Test } from 'tap'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import type { UsageBatch, UsageLine } from '../../src/limits/usage.js'
import type { MakeDatabase } from './databases.js'

const plans = ['pro']
const now = () => new Date('2030-01-02T00:00:00Z')

/**
 * Opens stores over one empty database; on SQLite the same one, since a second in this thread would wait for the first
 * without letting it work.
 */
async function createStoreOpener (t: Test, makeDatabase: MakeDatabase): Promise<() => Promise<ControlStore>> {
  const where = await makeDatabase(t)
  const openStore = async () => {
    const store = await openControlStore({ ...where, plans, now })
    t.teardown(() => store.close())
    return store
  }
  if (where.url !== undefined) return openStore
  const store = await openStore()
  return async () => store
}

const buildLine = (what: Partial<UsageLine> = {}): UsageLine => ({
  tenantId: 'org-a',
  mode: 'live',
  keyId: 'key-a',
  hour: '2030-01-01T10:00:00Z',
  resource: 'patients',
  interaction: 'read',
  outcome: 'ok',
  isCounted: true,
  isOverage: false,
  count: 1,
  lastAt: '2030-01-01T10:20:30.400Z',
  ...what
})
const buildBatch = (number: number, lines: readonly UsageLine[] = [buildLine()], ledgerId = 'ledger-a'): UsageBatch => ({
  ledgerId,
  number,
  batchId: `${ledgerId}-${number}`,
  lines
})

const day = { from: new Date('2030-01-01T00:00:00Z'), to: new Date('2030-01-02T00:00:00Z') }
const countRequests = async (store: ControlStore, tenantId = 'org-a') =>
  (await store.usage.sumUsage({ tenantId, ...day })).totals[0]!.requests

/** Runs the whole contract. */
export async function testUsage (t: Test, makeDatabase: MakeDatabase): Promise<void> {
  const prepareStores = (t: Test) => createStoreOpener(t, makeDatabase)

  await t.test(
    'the receipt of a batch has what all ledgers have counted in the months of its organizations',
    async t => {
      const store = await (await prepareStores(t))()
      const applyBatch = async (...sent: Parameters<typeof buildBatch>) =>
        (await store.usage.apply(buildBatch(...sent), 'one')).months
      const buildTotal = (counted: number, what: object = {}) => ({
        tenantId: 'org-a',
        mode: 'live',
        month: '2030-01',
        counted,
        ...what
      })
      t.same(
        await applyBatch(1, [
          buildLine({ count: 3 }),
          buildLine({ isCounted: false, outcome: 'failed', count: 5 }),
          buildLine({ resource: 'labs' })
        ]),
        [buildTotal(4)]
      )
      t.same(
        await applyBatch(1, [buildLine({ count: 2, isOverage: true })], 'ledger-b'),
        [buildTotal(6)],
        "another gateway's are in it"
      )
      t.same(
        await applyBatch(2, [buildLine({ mode: 'test' }), buildLine({ hour: '2030-02-01T00:00:00Z' }), buildLine({ tenantId: 'org-b' })]),
        [buildTotal(1, { month: '2030-02' }), buildTotal(1, { mode: 'test' }), buildTotal(1, { tenantId: 'org-b' })]
      )
      t.same(await applyBatch(3, [buildLine({ isCounted: false, outcome: 'failed' })]), [], 'what does not count is in no month')
    }
  )

  await t.test('a batch is applied once, however often and late it arrives', async t => {
    const store = await (await prepareStores(t))()
    t.match(await store.usage.apply(buildBatch(1), 'one'), { number: 1, batchId: 'ledger-a-1' })
    t.match(await store.usage.apply(buildBatch(1), 'one'), { number: 1, batchId: 'ledger-a-1' }, 'acknowledged again')
    t.match(await store.usage.apply(buildBatch(2), 'renamed'), { number: 2, batchId: 'ledger-a-2' })
    t.match(await store.usage.apply(buildBatch(1), 'one'), { number: 2, batchId: 'ledger-a-2' }, 'late')
    t.equal(await countRequests(store), 2)
    t.match(
      await store.usage.apply(buildBatch(1, [buildLine()], 'ledger-b'), 'two'),
      { number: 1, batchId: 'ledger-b-1' },
      'another ledger has numbers of its own'
    )
    t.equal(await countRequests(store), 3)
  })

  await t.test('a batch after a missing one is refused, and its receipt names the last one', async t => {
    const store = await (await prepareStores(t))()
    t.match(await store.usage.apply(buildBatch(2), 'one'), { number: 0, batchId: '' })
    await store.usage.apply(buildBatch(1), 'one')
    t.match(await store.usage.apply(buildBatch(3), 'one'), { number: 1, batchId: 'ledger-a-1' })
    t.equal(await countRequests(store), 1)
  })

  await t.test(
    'a batch that is sent concurrently is applied once, and different ledgers lose nothing to each other',
    async t => {
      const open = await prepareStores(t)
      const stores = [await open(), await open()]
      const lines = Array.from({ length: 450 }, (_, i) => buildLine({ keyId: `key-${i % 90}`, resource: `r-${i}` }))
      const sent = Array.from({ length: 12 }, (_, i) =>
        stores[i % 2]!.usage.apply(buildBatch(1, i % 3 === 0 ? lines.toReversed() : lines, `ledger-${i % 4}`), 'one')
      )
      t.match(
        await Promise.all(sent),
        Array.from({ length: 12 }, (_, i) => ({ number: 1, batchId: `ledger-${i % 4}-1` }))
      )
      t.equal(await countRequests(stores[0]!), 4 * 450)
    }
  )

  await t.test("a batch with a line that can't be written is not applied at all", async t => {
    const store = await (await prepareStores(t))()
    const broken = buildBatch(1, [buildLine(), buildLine({ interaction: null as unknown as 'read', resource: 'z' })])
    await t.rejects(store.usage.apply(broken, 'one'))
    t.equal(await countRequests(store), 0)
    t.match(await store.usage.apply(buildBatch(1), 'one'), { number: 1, batchId: 'ledger-a-1' })
  })

  await t.test(
    'a key shows its last use, never an earlier one; neither the feed nor the audit trail contains it',
    async t => {
      const store = await (await prepareStores(t))()
      const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
      const { keyId } = await store.keys.create({ tenantId, mode: 'live', name: 'app' }, 'ann')
      const other = await store.keys.create({ tenantId, mode: 'live', name: 'unused' }, 'ann')
      const known = await store.listChangesAfter({ feedId: '', seq: 0 }, 10)
      await store.usage.apply(
        buildBatch(1, [
          buildLine({ keyId, tenantId, lastAt: '2030-01-01T10:20:00.000Z' }),
          buildLine({ keyId, tenantId, resource: 'labs', lastAt: '2030-01-01T10:30:00.000Z' })
        ]),
        'one'
      )
      await store.usage.apply(buildBatch(2, [buildLine({ keyId, tenantId, lastAt: '2030-01-01T09:00:00.000Z' })]), 'one')
      t.equal((await store.keys.find(keyId)).lastUsedAt, '2030-01-01T10:30:00.000Z')
      t.equal((await store.keys.find(other.keyId)).lastUsedAt, undefined)
      t.same(await store.listChangesAfter({ feedId: '', seq: 0 }, 10), known)
      t.equal((await store.listAuditEntries({ tenantId, limit: 10 })).length, 3)
    }
  )

  await t.test('usage is summed by hour, day and month in UTC, also where there was none', async t => {
    const store = await (await prepareStores(t))()
    await store.usage.apply(
      buildBatch(1, [
        buildLine({ hour: '2029-12-31T23:00:00Z', count: 3 }),
        buildLine({ count: 5 }),
        buildLine({ resource: 'labs', outcome: 'error', count: 2 }),
        buildLine({ outcome: 'refused', isCounted: false, count: 4 }),
        buildLine({ outcome: 'refused', interaction: 'create', count: 1 }),
        buildLine({ outcome: 'failed', isCounted: false, count: 6 }),
        buildLine({ hour: '2030-01-03T00:00:00Z', mode: 'test', count: 7 }),
        buildLine({ hour: '2030-01-03T01:00:00Z', isOverage: true, count: 8 }),
        buildLine({ tenantId: 'org-b', count: 9 })
      ]),
      'one'
    )
    const january = { tenantId: 'org-a', from: new Date('2030-01-01T11:00:00Z'), to: new Date('2030-01-03T00:30:00Z') }
    const nothing = { requests: 0, ok: 0, errors: 0, refused: 0, failed: 0, counted: 0, overage: 0 }
    t.strictSame(await store.usage.sumUsage({ ...january, by: 'day' }), {
      isComplete: true,
      totals: [
        { from: '2030-01-01T00:00:00Z', requests: 18, ok: 5, errors: 2, refused: 5, failed: 6, counted: 8, overage: 0 },
        { from: '2030-01-02T00:00:00Z', ...nothing },
        { from: '2030-01-03T00:00:00Z', ...nothing, requests: 7, ok: 7, counted: 7 }
      ]
    })
    t.strictSame(
      (
        await store.usage.sumUsage({
          tenantId: 'org-a',
          from: new Date('2029-12-31T22:00:00Z'),
          to: new Date('2030-02-01T00:00:00Z'),
          by: 'month'
        })
      ).totals,
      [
        { from: '2029-12-01T00:00:00Z', ...nothing, requests: 3, ok: 3, counted: 3 },
        {
          from: '2030-01-01T00:00:00Z',
          requests: 33,
          ok: 20,
          errors: 2,
          refused: 5,
          failed: 6,
          counted: 23,
          overage: 8
        }
      ]
    )
    t.same(
      (await store.usage.sumUsage({ ...january, by: 'hour' })).totals.map(({ requests }) => requests),
      [...Array(37).fill(0), 7]
    )
    t.strictSame((await store.usage.sumUsage({ ...january, to: new Date('2030-01-04'), mode: 'test' })).totals, [
      { from: '2030-01-01T11:00:00Z', ...nothing, requests: 7, ok: 7, counted: 7 }
    ])
  })

  await t.test('usage is summed by key, resource and interaction, the most used first', async t => {
    const store = await (await prepareStores(t))()
    await store.usage.apply(
      buildBatch(1, [
        buildLine({ count: 1 }),
        buildLine({ keyId: 'key-b', count: 5 }),
        buildLine({ keyId: 'key-c', resource: 'labs', interaction: 'search', count: 3 })
      ]),
      'one'
    )
    const totalsPer = async (per: 'keyId' | 'resource' | 'interaction', keyId?: string) =>
      (await store.usage.sumUsage({ tenantId: 'org-a', ...day, per, keyId })).totals.map(({ of, requests }) => [
        of,
        requests
      ])
    t.strictSame(await totalsPer('keyId'), [['key-b', 5], ['key-c', 3], ['key-a', 1]])
    t.strictSame(await totalsPer('resource'), [['patients', 6], ['labs', 3]])
    t.strictSame(await totalsPer('interaction'), [['read', 6], ['search', 3]])
    t.strictSame(await totalsPer('resource', 'key-c'), [['labs', 3]])
    t.strictSame(
      (await store.usage.sumUsage({ tenantId: 'org-a', ...day, by: 'day', per: 'resource' })).totals.map(
        ({ from, of, requests }) => [from, of, requests]
      ),
      [
        ['2030-01-01T00:00:00Z', 'patients', 6],
        ['2030-01-01T00:00:00Z', 'labs', 3]
      ]
    )
    t.strictSame(await store.usage.sumUsage({ tenantId: 'org-x', ...day, per: 'keyId' }), {
      totals: [],
      isComplete: true
    })
  })

  await t.test('every query of usage is bounded', async t => {
    const store = await (await prepareStores(t))()
    const readTotals = (from: string, to: string) =>
      store.usage.sumUsage({ tenantId: 'org-a', from: new Date(from), to: new Date(to), by: 'hour' })
    t.equal((await readTotals('2030-01-01T00:00:00Z', '2030-02-11T16:00:00Z')).totals.length, 1_000)
    await t.rejects(readTotals('2030-01-01T00:00:00Z', '2030-02-11T17:00:00Z'), { name: 'ControlError', reason: 'invalid' })
    await t.rejects(readTotals('2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z'), { name: 'ControlError', reason: 'invalid' })
    await t.rejects(readTotals('nonsense', '2030-01-01T00:00:00Z'), { name: 'ControlError', reason: 'invalid' })
    for (let number = 1; number <= 6; number++) {
      await store.usage.apply(
        buildBatch(
          number,
          Array.from({ length: 2_000 }, (_, i) => buildLine({ keyId: `key-${number}-${i}` }))
        ),
        'one'
      )
    }
    const { totals, isComplete } = await store.usage.sumUsage({ tenantId: 'org-a', ...day, per: 'keyId' })
    t.equal(totals.length, 10_000)
    t.equal(isComplete, false)
  })
}
