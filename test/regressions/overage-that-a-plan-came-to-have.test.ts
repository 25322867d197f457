import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/control-plane/store/database.js'
import { up } from '../../src/control-plane/store/migrations/005-states-that-gateways-take.js'
import { openControlStore } from '../../src/control-plane/store/store.js'

// Gateways were told whether an organization had overage by the plans of the day on which it was changed last: once a
// plan came to have overage, the dashboard said that it was on, and gateways refused and asked to switch it on.
t.test('gateways are told who switched overage off, and go by the plans that there are now', async t => {
  const file = join(t.testdir(), 'control.db')
  const now = () => new Date()
  const before = await openControlStore({ file, plans: ['tiny'], plansWithoutOverage: ['tiny'], now })
  const { tenantId } = await before.organizations.create({ name: 'Clinic', plan: 'tiny' }, 'ann')
  const { tenantId: other } = await before.organizations.create(
    { name: 'Hospital', plan: 'tiny', overage: false },
    'ann'
  )
  const told = async () =>
    Object.fromEntries(
      (await before.changesAfter({ feedId: '', seq: 0 }, 100)).changes.map(({ state }) => [
        state.tenantId,
        'overage' in state && state.overage
      ])
    )
  t.equal((await before.organizations.find(tenantId)).overage, false)
  t.strictSame(await told(), { [tenantId]: true, [other]: false })

  const { db, close } = await openDatabase({ file })
  t.teardown(close)
  const { seq } = await db.selectFrom('feed').select('seq').executeTakeFirstOrThrow()
  await db
    .updateTable('changes')
    .set({ payload: JSON.stringify({ tenantId, plan: 'tiny', overage: false }) })
    .where('entity', '=', tenantId)
    .execute()
  await up(db)
  t.strictSame(await told(), { [tenantId]: true, [other]: false }, 'what was told before is told anew')
  t.match(
    (
      await before.changesAfter(
        { feedId: (await db.selectFrom('feed').select('feedId').executeTakeFirstOrThrow()).feedId, seq },
        100
      )
    ).changes,
    [{ seq: seq + 1, kind: 'organization', state: { tenantId } }]
  )
  await before.close()
})
