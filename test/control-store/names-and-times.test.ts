import { join } from 'node:path'
import t, { type Test } from 'tap'
import { endOfLastDay } from '../../src/control-plane/dashboard/form.js'
import { ControlError } from '../../src/control-plane/store/control-error.js'
import { openDatabase } from '../../src/control-plane/store/database.js'
import { openSqlite } from '../../src/control-plane/store/database/sqlite.js'
import { up } from '../../src/control-plane/store/migrations/005-states-that-gateways-take.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { parseName } from '../../src/control-plane/store/validate-name.js'
import { readBatch } from '../../src/control-plane/sync/messages.js'
import { parseTime } from '../../src/operator/cli/times.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

// A database that could not report its latest change was taken for one without changes, and no listener looked again.
t.test("while the control database can't report its latest change, listeners are notified", async t => {
  const { db, changes } = await openSqlite(join(t.testdir(), 'control.db'))
  await db.deleteFrom('feed').execute()
  let notifications = 0
  changes.start(() => { notifications++ })
  await waitUntil(() => notifications >= 3)
  await changes.close()
  await db.destroy()
  t.pass('again and again')
})

// Gateways did not understand a key that expired in the year 10000, and with it they took no other change from then on:
// no revocation of any organization's keys.

const lastMoment = '9999-12-31T23:59:59.999Z'

async function openStore (t: Test) {
  const file = join(t.testdir(), 'control.db')
  const store = await openControlStore({ file, plans: ['pro'], now: () => new Date() })
  t.teardown(() => store.close())
  const { tenantId } = await store.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  const create = async (expiresAt: Date) =>
    await store.keys.create({ tenantId, mode: 'live', name: 'Intake', expiresAt }, 'ann')
  const listExpiries = async () => {
    const { changes } = readBatch(JSON.stringify(await store.listChangesAfter({ feedId: '', seq: 0 }, 100)))
    return Object.fromEntries(
      changes.flatMap(({ kind, state }) => (kind === 'key' ? [[state.keyId, state.expiresAt]] : []))
    )
  }
  return { file, store, tenantId, create, listExpiries }
}

t.test('an expiry past the year 9999 is rejected, however it is given', async t => {
  const { store, create, listExpiries } = await openStore(t)
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
  t.strictSame(await listExpiries(), { [keyId]: lastMoment })
})

t.test('the successor of a key that expires then expires no later', async t => {
  const { store, create, listExpiries } = await openStore(t)
  const { keyId } = await create(new Date(lastMoment))
  const successor = await store.keys.roll(keyId, Infinity, 'ann')
  t.equal(successor.expiresAt, lastMoment)
  t.strictSame(await listExpiries(), { [keyId]: lastMoment, [successor.keyId]: lastMoment })
})

t.test('a control database that holds such a key is repaired when it is opened', async t => {
  const { file, store, create, listExpiries } = await openStore(t)
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
  await t.rejects(listExpiries(), { message: /does not understand/ })
  await up(db)
  t.strictSame(await listExpiries(), { [keyId]: lastMoment })
  t.equal((await store.keys.find(keyId)).expiresAt, lastMoment)
})

// The engine reads 31 February as 3 March, so a key was valid for days longer than its expiry date.

const day = '2030-02-31'

t.test('the dashboard and the commands reject it', async t => {
  t.throws(() => endOfLastDay(day), ControlError)
  t.strictSame(endOfLastDay('2028-02-29'), new Date('2028-03-01T00:00:00Z'))
  for (const text of [day, `${day}T00:00:00Z`]) t.throws(() => parseTime(text), { message: /2030-01-31T00:00:00Z/ })
})

t.test('the management API rejects it, and a time that does not exist', async t => {
  const gateway = await startGateway(t)
  const { tenantId } = await gateway.control.organizations.create({ name: 'Clinic', plan: 'pro' }, 'ann')
  const { keyId } = await gateway.control.keys.create({ tenantId, mode: 'live', name: 'Intake' }, 'ann')
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'Deploy' }, 'ann')
  const send = async (method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object) => {
    const { statusCode, json } = await gateway.inject({
      method,
      url: `/control/v1/${path}`,
      headers: { authorization: `Bearer ${secret}` },
      payload
    })
    return { status: statusCode, body: json() }
  }
  for (const expiresAt of [`${day}T00:00:00Z`, '2030-01-31T25:00:00Z', '2030-01-31']) {
    const refused = {
      status: 422,
      body: { code: 'VALIDATION_ERROR', issues: [{ expression: ['expiresAt'], diagnostics: /2030-01-31T00:00:00Z/ }] }
    }
    t.match(await send('PATCH', `keys/${keyId}`, { expiresAt }), refused)
    t.match(await send('POST', `organizations/${tenantId}/keys`, { name: 'Lab', mode: 'live', expiresAt }), refused)
    t.match(await send('GET', `organizations/${tenantId}/usage?from=2030-02-01T00:00:00Z&to=${expiresAt}`), {
      status: 400,
      body: { issues: [{ expression: ['to'] }] }
    })
  }
  t.equal((await gateway.control.keys.find(keyId)).expiresAt, undefined)
  t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  t.match(await send('PATCH', `keys/${keyId}`, { expiresAt: '2030-01-31T00:00:00+01:00' }), { status: 200 })
})

// Joiners are invisible by themselves, so names that can't be spelled without them were rejected like names with
// control characters.
t.test('a name may have the joiners that its script is spelled with', async t => {
  for (const name of ['درمانگاه می\u200cبینم', 'ශ්\u200dරී ජයවර්ධන', 'राजकीय क्\u200dलिनिक', 'മലയാള\u0d4d\u200dയ']) {
    t.equal(parseName(` ${name} `), name)
  }
})

t.test('a name may have an emoji that is made of several', async t => {
  for (const name of ['👩‍⚕️ Praxis am See', '🏳️‍🌈 Clinic', '👨🏽‍⚕️']) t.equal(parseName(name), name)
})

t.test('nowhere else, since two names would look the same', async t => {
  for (const name of [
    'Cli\u200dnic',
    'می\u200c',
    '\u200cمی',
    'می\u200c\u200cبینم',
    'می \u200cبینم',
    'क\u200dA',
    'A\u200c',
    'می\u200eبینم',
    'a\u0000b',
    'a\u202eb',
    '\ud800',
    '👩\u200d👩',
    '👩\u200d',
    '👩\u200dA'
  ]) {
    t.throws(() => parseName(name), { name: 'ControlError', message: /all of them visible/ }, JSON.stringify(name))
  }
})

t.test('a person can sign in for each of many organizations', { timeout: 600_000 }, async t => {
  const { control, createOrganization } = await startGateway(t)
  const email = 'locum@example.org'
  const joined: string[] = []
  for (let at = 0; at < 11; at++) {
    const { token } = await control.invitations.create(
      { email, role: 'viewer', tenantId: await createOrganization() },
      'test'
    )
    joined.push(
      (await control.invitations.accept(token, { name: 'Ann', password: `the sentence for number ${at}` })).memberId
    )
  }
  t.match(await control.members.findByPassword(email, 'the sentence for number 0'), [{ memberId: joined[0] }])
  t.match(await control.members.findByPassword(email, 'the sentence for number 10'), [{ memberId: joined[10] }])
})
