import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/control-plane/store/database.js'
import { up } from '../../src/control-plane/store/migrations/005-states-that-gateways-take.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { endOfLastDay } from '../../src/control-plane/dashboard/usage/last-day.js'
import { readBatch } from '../../src/control-plane/sync/messages.js'

// A key of one organization that expired in the year 10000 was one that gateways did not understand, and with it they
// took no other change from then on: no revocation of anybody's keys.

const lastMoment = '9999-12-31T23:59:59.999Z'

async function opened (t: Test) {
  const file = join(t.testdir(), 'control.db')
  const store = await openControlStore({ file, plans: ['pro'], now: () => new Date() })
  t.teardown(() => store.close())
  const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  const create = async (expiresAt: Date) =>
    await store.keys.create({ tenantId, mode: 'live', name: 'Intake', expiresAt }, 'ann')
  const taken = async () => {
    const { changes } = readBatch(JSON.stringify(await store.changesAfter({ feedId: '', seq: 0 }, 100)))
    return Object.fromEntries(
      changes.flatMap(({ kind, state }) => (kind === 'key' ? [[state.keyId, state.expiresAt]] : []))
    )
  }
  return { file, store, tenantId, create, taken }
}

t.test('an expiry past the year 9999 is refused, however it is said', async t => {
  const { store, create, taken } = await opened(t)
  const refused = { reason: 'invalid', message: /before the end of the year 9999/ }
  await t.rejects(create(new Date('9999-12-31T23:59:59-01:00')), refused)
  await t.rejects(create(endOfLastDay('9999-12-31')!), refused)
  await t.rejects(create(new Date(8.64e15)), refused)
  const { keyId } = await create(new Date(lastMoment))
  await t.rejects(store.keys.change(keyId, { expiresAt: new Date('+010000-01-01T00:00:00.000Z') }, 'ann'), refused)
  await t.rejects(
    store.tokens.create(
      { role: 'operator', name: 'Deploy', expiresAt: new Date('+010000-01-01T00:00:00.000Z') },
      'ann'
    ),
    refused
  )
  t.strictSame(await taken(), { [keyId]: lastMoment })
})

t.test('the successor of a key that lasts until then lasts no longer', async t => {
  const { store, create, taken } = await opened(t)
  const { keyId } = await create(new Date(lastMoment))
  const successor = await store.keys.roll(keyId, Infinity, 'ann')
  t.equal(successor.expiresAt, lastMoment)
  t.strictSame(await taken(), { [keyId]: lastMoment, [successor.keyId]: lastMoment })
})

t.test('a control database that holds such a key is mended when it is opened', async t => {
  const { file, store, create, taken } = await opened(t)
  const { keyId } = await create(new Date('2999-01-01T00:00:00Z'))
  const { db, close } = await openDatabase({ file })
  t.teardown(close)
  await db.updateTable('keys').set({ expiresAt: '+010000-01-01T00:00:00.239Z' }).execute()
  const { payload } = await db
    .selectFrom('changes')
    .select('payload')
    .where('kind', '=', 'key')
    .executeTakeFirstOrThrow()
  await db
    .updateTable('changes')
    .set({ payload: payload.replace('2999-', '+010000-') })
    .where('kind', '=', 'key')
    .execute()
  await t.rejects(taken(), { message: /does not understand/ })
  await up(db)
  t.strictSame(await taken(), { [keyId]: lastMoment })
  t.equal((await store.keys.find(keyId)).expiresAt, lastMoment)
})
