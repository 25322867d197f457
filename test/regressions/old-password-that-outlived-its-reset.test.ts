import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { setImmediate as turn } from 'node:timers/promises'
import { test, type Test } from 'tap'
import { visitor, type Page } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

const email = 'ann@example.org'
const password = 'a sentence that only I know'

async function join ({ control, createOrganization }: TestGateway): Promise<string> {
  const { token } = await control.invitations.create(
    { email, role: 'admin', tenantId: await createOrganization() },
    'test'
  )
  return (await control.invitations.accept(token, { name: 'Ann', password })).memberId
}

/** Holds back the work on passwords that comes from now on; the first of it can go on alone. */
function heldHashes (t: Test) {
  const { scrypt } = crypto
  const held: Array<() => void> = []
  const put = (instead: unknown): void => {
    Object.assign(crypto, { scrypt: instead })
    syncBuiltinESMExports()
  }
  put((...args: Parameters<typeof scrypt>) => { held.push(() => scrypt(...args)) })
  t.teardown(() => put(scrypt))
  return {
    held,
    letGoOfFirst: () => held.shift()!(),
    letGo: () => {
      put(scrypt)
      for (const go of held) go()
    }
  }
}

interface Late { readonly method: 'whoHas' | 'changePassword', readonly late: () => Promise<Page> }

/**
 * As when somebody knows the password of another one, and an admin resets it at that moment: passwords are looked at
 * two at a time, in their order, and `late` comes to look at the old one by a method of the members while it is being
 * reset.
 */
async function overtakenByReset (
  t: Test,
  gateway: TestGateway,
  memberId: string,
  { method, late }: Late
): Promise<{ readonly answer: Page; readonly password: string }> {
  const { members } = gateway.control
  const { held, letGoOfFirst, letGo } = heldHashes(t)
  const reset = members.resetPassword(memberId, 'test')
  await until(() => held.length === 1)
  const another = members.whoHas('nobody@example.org', 'something else')
  await until(() => held.length === 2)
  const before = members[method] as (...args: unknown[]) => unknown
  let hasCome = false
  Object.assign(members, {
    [method]: (...args: unknown[]) => {
      hasCome = true
      return before.apply(members, args)
    }
  })
  const response = late()
  await until(() => hasCome)
  // It reads the hash, and waits for its turn to look at it.
  for (let turns = 0; turns < 20; turns++) await turn()
  letGoOfFirst()
  const { password } = await reset
  letGo()
  await another
  return { answer: await response, password }
}

test('a sign-in with a password that is reset meanwhile opens nothing', async t => {
  const gateway = await startGateway(t)
  const memberId = await join(gateway)
  const thief = visitor(gateway)
  const _csrf = await thief.token('/dashboard/sign-in')
  const { answer } = await overtakenByReset(t, gateway, memberId, {
    method: 'whoHas',
    late: () => thief.send('/dashboard/sign-in', { _csrf, email, password })
  })
  t.equal(answer.status, 422)
  t.match(answer.text, /The email or password is wrong/)
  t.equal((await thief.get('/dashboard/account')).status, 303)
  t.same(await gateway.control.sessions.listOf(memberId), [])
})

test('a password that is reset while it is changed stays the one of the reset', async t => {
  const gateway = await startGateway(t)
  const memberId = await join(gateway)
  const thief = visitor(gateway)
  await thief.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')
  const _csrf = await thief.token()
  const chosen = 'another sentence of mine'
  const overtaken = await overtakenByReset(t, gateway, memberId, {
    method: 'changePassword',
    late: () => thief.send('/dashboard/password', { _csrf, current: password, wanted: chosen, again: chosen })
  })
  t.equal(overtaken.answer.status, 409)
  t.match(overtaken.answer.text, /Your password was changed meanwhile/)
  t.same(await gateway.control.members.whoHas(email, chosen), [])
  t.match(await gateway.control.members.whoHas(email, overtaken.password), [{ memberId }])
  t.equal((await thief.get('/dashboard/account')).status, 303)
})

test('of two changes of a password at once, one is done and the other one told', async t => {
  const gateway = await startGateway(t)
  const memberId = await join(gateway)
  const wishes = ['one sentence of mine', 'another sentence of mine']
  const changes = await Promise.allSettled(
    wishes.map(
      async wanted => await gateway.control.members.changePassword(memberId, { current: password, requested: wanted })
    )
  )
  t.same(changes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const kept = changes.findIndex(({ status }) => status === 'fulfilled')
  t.match(await gateway.control.members.whoHas(email, wishes[kept]!), [{ memberId }])
})

test('after a change of the password, the id that the session had opens nothing, wherever it was copied to', async t => {
  const gateway = await startGateway(t)
  await join(gateway)
  const ann = visitor(gateway)
  await ann.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')
  const thief = visitor(gateway)
  thief.cookies.set('clinigate-session', ann.cookies.get('clinigate-session')!)
  const chosen = 'another sentence of mine'
  t.equal(
    (await ann.post('/dashboard/password', { current: password, wanted: chosen, again: chosen })).headers.location,
    '/dashboard'
  )
  t.equal((await ann.get('/dashboard/account')).status, 200)
  t.equal((await thief.get('/dashboard/account')).status, 303)
})
