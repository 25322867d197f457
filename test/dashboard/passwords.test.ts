import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Page, createVisitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

const email = 'ann@example.org'
const password = 'a sentence that only I know'

t.test('a choice between organizations opens none whose password was changed since, and no member who was removed', async t => {
  const gateway = await startGateway(t)
  const { control } = gateway
  const join = async (): Promise<string> => {
    const { token } = await control.invitations.create(
      { email, role: 'admin', tenantId: await gateway.createOrganization() },
      'test'
    )
    return (await control.invitations.accept(token, { name: 'Ann', password })).memberId
  }
  const [changed, reset, removed, unchanged] = [await join(), await join(), await join(), await join()]
  const page = '/dashboard/choose-organization'
  const startChoosing = async () => {
    const thief = createVisitor(gateway)
    t.match((await thief.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')).headers.location, page)
    return { thief, _csrf: await thief.fetchToken(page) }
  }
  const thieves = [await startChoosing(), await startChoosing(), await startChoosing()] as const
  await control.members.changePassword(changed, { current: password, requested: 'another sentence of mine' })
  await control.members.resetPassword(reset, 'test')
  await control.members.remove(removed, 'test')
  for (const [at, member] of [changed, reset, removed].entries()) {
    const { thief, _csrf } = thieves[at]!
    t.notOk((await thief.get(page)).html.includes(member), 'nor is it offered')
    t.equal((await thief.send(page, { _csrf, member })).headers.location, '/dashboard/sign-in')
    t.equal((await thief.get('/dashboard/account')).status, 303)
    t.match(
      await thief.send(page, { _csrf, member: unchanged }),
      { headers: { location: '/dashboard' } },
      'the one with the same password is still to be had'
    )
  }
})

const memberEmail = 'boss@service.example'
const own = 'what the guesser chose'
const secret = 'what only the boss knows'

/** Creates a member with this address and password, in an organization or as an operator. @returns the member id */
async function join ({ control }: TestGateway, password: string, tenantId?: string): Promise<string> {
  const { token } = await control.invitations.create(
    { email: memberEmail, role: tenantId === undefined ? 'operator' : 'admin', tenantId },
    'test'
  )
  return (await control.invitations.accept(token, { name: 'Boss', password })).memberId
}

/** A browser that tries passwords for the address. */
async function createSignInBrowser (gateway: TestGateway) {
  const browser = createVisitor(gateway)
  const _csrf = await browser.fetchToken('/dashboard/sign-in')
  const buildForm = (password: string) => ({ _csrf, email: memberEmail, password })
  const show = async (password: string, times = 1): Promise<number[]> => {
    browser.cookies.delete('clinigate-session')
    const responses = await Promise.all(
      Array.from({ length: times }, async () => await browser.send('/dashboard/sign-in', buildForm(password)))
    )
    return responses.map(({ status }) => status)
  }
  return { ...browser, show }
}

t.test('a member with the address of another one gains no guesses at their password by signing in', async t => {
  const gateway = await startGateway(t)
  const operator = await join(gateway, secret)
  await join(gateway, own, await gateway.createOrganization())
  const guesser = await createSignInBrowser(gateway)
  t.same(await guesser.show(own), [303])
  await guesser.show('a guess', 9)
  t.same(await guesser.show(own), [303], 'the own password works, and makes the browser known again')
  t.same(await guesser.show(secret), [422], 'the password of the operator is not looked at any more')
  t.same(
    await gateway.control
      .listAuditEntries({ entity: operator, limit: 10 })
      .then(found => found.map(({ action }) => action)),
    ['member added']
  )
})

t.test('a known browser gets no new attempts by appending something to its device cookie', async t => {
  const gateway = await startGateway(t)
  await join(gateway, own)
  const browser = await createSignInBrowser(gateway)
  t.same(await browser.show(own), [303])
  const deviceCookie = browser.cookies.get('clinigate-device')!
  await browser.show('a guess', 20)
  t.same(await browser.show('a guess'), [429])
  browser.cookies.set('clinigate-device', `${deviceCookie}.1`)
  t.same(await browser.show('a guess'), [429])
})

async function joinWithPassword ({ control, createOrganization }: TestGateway): Promise<string> {
  const { token } = await control.invitations.create(
    { email, role: 'admin', tenantId: await createOrganization() },
    'test'
  )
  return (await control.invitations.accept(token, { name: 'Ann', password })).memberId
}

/** Holds back password hashes from now on; the first of them can be released alone. */
function holdHashes (t: Test) {
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

interface DelayedRequest { readonly method: 'findByPassword' | 'changePassword', readonly sendRequest: () => Promise<Page> }

/**
 * Races a sign-in with another member's old password with an admin who resets it: passwords are verified two at a time,
 * in order, and `late` verifies the old one by a method of the members during the reset.
 */
async function raceWithReset (
  t: Test,
  gateway: TestGateway,
  memberId: string,
  { method, sendRequest }: DelayedRequest
): Promise<{ readonly response: Page; readonly password: string }> {
  const { members } = gateway.control
  const { held, letGoOfFirst, letGo } = holdHashes(t)
  const reset = members.resetPassword(memberId, 'test')
  await waitUntil(() => held.length === 1)
  const another = members.findByPassword('nobody@example.org', 'something else')
  await waitUntil(() => held.length === 2)
  const before = members[method] as (...args: unknown[]) => unknown
  let hasCome = false
  Object.assign(members, {
    [method]: (...args: unknown[]) => {
      hasCome = true
      return before.apply(members, args)
    }
  })
  const response = sendRequest()
  await waitUntil(() => hasCome)
  // It reads the hash, and waits for its turn to verify it.
  for (let turns = 0; turns < 20; turns++) await turn()
  letGoOfFirst()
  const { password } = await reset
  letGo()
  await another
  return { response: await response, password }
}

t.test('a sign-in with a password that is reset meanwhile opens nothing', async t => {
  const gateway = await startGateway(t)
  const memberId = await joinWithPassword(gateway)
  const thief = createVisitor(gateway)
  const _csrf = await thief.fetchToken('/dashboard/sign-in')
  const { response } = await raceWithReset(t, gateway, memberId, {
    method: 'findByPassword',
    sendRequest: () => thief.send('/dashboard/sign-in', { _csrf, email, password })
  })
  t.equal(response.status, 422)
  t.match(response.text, /The email or password is wrong/)
  t.equal((await thief.get('/dashboard/account')).status, 303)
  t.same(await gateway.control.sessions.listByMember(memberId), [])
})

t.test('a password that is reset while it is changed stays the one of the reset', async t => {
  const gateway = await startGateway(t)
  const memberId = await joinWithPassword(gateway)
  const thief = createVisitor(gateway)
  await thief.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')
  const _csrf = await thief.fetchToken()
  const chosen = 'another sentence of mine'
  const overtaken = await raceWithReset(t, gateway, memberId, {
    method: 'changePassword',
    sendRequest: () => thief.send('/dashboard/password', { _csrf, current: password, wanted: chosen, again: chosen })
  })
  t.equal(overtaken.response.status, 409)
  t.match(overtaken.response.text, /Your password was changed meanwhile/)
  t.same(await gateway.control.members.findByPassword(email, chosen), [])
  t.match(await gateway.control.members.findByPassword(email, overtaken.password), [{ memberId }])
  t.equal((await thief.get('/dashboard/account')).status, 303)
})

t.test('of two concurrent changes of a password, one succeeds and the other one is rejected', async t => {
  const gateway = await startGateway(t)
  const memberId = await joinWithPassword(gateway)
  const newPasswords = ['one sentence of mine', 'another sentence of mine']
  const changes = await Promise.allSettled(
    newPasswords.map(
      async wanted => await gateway.control.members.changePassword(memberId, { current: password, requested: wanted })
    )
  )
  t.same(changes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const fulfilled = changes.findIndex(({ status }) => status === 'fulfilled')
  t.match(await gateway.control.members.findByPassword(email, newPasswords[fulfilled]!), [{ memberId }])
})

t.test('after a change of the password, the id that the session had opens nothing, wherever it was copied to', async t => {
  const gateway = await startGateway(t)
  await joinWithPassword(gateway)
  const ann = createVisitor(gateway)
  await ann.post('/dashboard/sign-in', { email, password }, '/dashboard/sign-in')
  const thief = createVisitor(gateway)
  thief.cookies.set('clinigate-session', ann.cookies.get('clinigate-session')!)
  const chosen = 'another sentence of mine'
  t.equal(
    (await ann.post('/dashboard/password', { current: password, wanted: chosen, again: chosen })).headers.location,
    '/dashboard'
  )
  t.equal((await ann.get('/dashboard/account')).status, 200)
  t.equal((await thief.get('/dashboard/account')).status, 303)
})
