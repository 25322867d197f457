import Database from 'better-sqlite3'
import { join } from 'node:path'
import { test } from 'tap'
import { createSession, createSignedInVisitor, createVisitor, type Page, type Visitor } from '../harness/dashboard.js'
import { listDataFiles } from '../harness/data-files.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

const password = 'a sentence that only I know'

/** Creates a member with a password, in an organization or as an operator. */
async function createPerson (
  gateway: TestGateway,
  { email = 'ann@example.org', tenantId }: { email?: string; tenantId?: string } = {}
): Promise<string> {
  const { token } = await gateway.control.invitations.create(
    { email, role: tenantId === undefined ? 'operator' : 'admin', tenantId },
    'test'
  )
  const { memberId } = await gateway.control.invitations.accept(token, { name: 'Ann', password })
  return memberId
}

const signIn = async (
  browser: Visitor,
  fields: { email?: string; password?: string; next?: string } = {}
): Promise<Page> =>
  await browser.post('/dashboard/sign-in', { email: 'ann@example.org', password, ...fields }, '/dashboard/sign-in')

test('a sign-in creates a session with a new id, and an id that was planted before opens nothing', async t => {
  const gateway = await startGateway(t)
  await createPerson(gateway)
  const attacker = await createSignedInVisitor(gateway, { role: 'operator', email: 'eve@example.org' })
  const planted = attacker.cookies.get('clinigate-session')!
  const victim = createVisitor(gateway)
  victim.cookies.set('clinigate-session', 'B'.repeat(43))
  const page = await victim.get('/dashboard/organizations?x=1')
  t.equal(page.headers.location, '/dashboard/sign-in?next=%2Fdashboard%2Forganizations%3Fx%3D1')
  // With the attacker's own session in the browser, the sign-in page would lead on; the form itself takes it.
  const _csrf = await fetchSignInToken(victim)
  victim.cookies.set('clinigate-session', planted)
  const response = await victim.send('/dashboard/sign-in', {
    _csrf,
    email: ' Ann@Example.org ',
    password,
    next: '/dashboard/organizations?x=1'
  })
  t.equal(response.status, 303)
  t.equal(response.headers.location, '/dashboard/organizations?x=1')
  const id = victim.cookies.get('clinigate-session')!
  t.match(id, /^[0-9A-Za-z]{43}$/)
  t.not(id, planted)
  const flags = [response.headers['set-cookie']].flat().find(line => line?.startsWith(`clinigate-session=${id}`))
  t.equal(flags, `clinigate-session=${id}; Path=/; HttpOnly; SameSite=Lax`)
  t.equal((await attacker.get('/dashboard/account')).status, 303, 'the session that was there has ended')
  t.match((await victim.get('/dashboard/account')).text, /ann@example\.org/)
  t.match(await gateway.control.listAuditEntries({ limit: 1 }), [
    { action: 'signed in', actor: /^member:ann@example\.org \(mem-/ }
  ])
})

const fetchSignInToken = async (browser: Visitor): Promise<string> => await browser.fetchToken('/dashboard/sign-in')

test('every failure has the same message, and a sign-in redirects to pages of the dashboard alone', async t => {
  const gateway = await startGateway(t)
  await createPerson(gateway)
  const failures = [
    await signIn(createVisitor(gateway), { password: 'wrong' }),
    await signIn(createVisitor(gateway), { email: 'nobody@example.org' }),
    await signIn(createVisitor(gateway), { email: '' })
  ]
  for (const { status, text } of failures) {
    t.match({ status, text }, { status: 422, text: /The email or password is wrong\./ })
  }
  t.notMatch(failures[0]!.html, /value="wrong"/)
  for (const next of [
    'https://evil.example.org/',
    '//evil.example.org/dashboard/',
    '/\\evil.example.org',
    '/dashboard/../..//evil.example.org',
    'javascript:alert(1)',
    '/v1/patients'
  ]) {
    const page = await createVisitor(gateway).get(`/dashboard/sign-in?${new URLSearchParams({ next })}`)
    t.match(page.html, /name="next" value="\/dashboard"/, next)
  }
  t.equal((await signIn(createVisitor(gateway), { next: '//evil.example.org' })).headers.location, '/dashboard')
})

test('a session ends on the server: at the sign-out, from another browser, by a new role, by removal, and by a password reset', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { control } = gateway
  const memberId = await createPerson(gateway, { tenantId })
  const openSession = async () => {
    const other = createVisitor(gateway)
    other.cookies.set('clinigate-session', await createSession(gateway, memberId))
    return other
  }
  const browser = await openSession()
  const isIn = async (one: Visitor) => (await one.get('/dashboard/account')).status === 200
  const endings: ReadonlyArray<readonly [string, (one: Visitor) => Promise<unknown>]> = [
    ['sign-out', async one => await one.post('/dashboard/sign-out')],
    ['ended from another browser', async () => await browser.post('/dashboard/account/sessions/end-others')],
    [
      'ended by its row',
      async one => {
        const id = one.cookies.get('clinigate-session')!
        const rows = [
          ...(await browser.get('/dashboard/account')).html.matchAll(/name="session" value="([0-9a-f]{64})"/g)
        ].map(([, hash]) => hash!)
        t.equal(rows.length, 1)
        t.notOk(JSON.stringify(rows).includes(id), 'the page has no id of a session')
        await browser.post('/dashboard/account/sessions/end', { session: rows[0]! })
      }
    ],
    ['role', async () => await control.members.changeRole(memberId, 'viewer', 'test')],
    ['removal', async () => await control.members.remove(memberId, 'test')]
  ]
  for (const [title, end] of endings) {
    const one = await openSession()
    const id = one.cookies.get('clinigate-session')!
    t.ok(await isIn(one), title)
    await end(one)
    one.cookies.set('clinigate-session', id)
    t.notOk(await isIn(one), `${title}: the id opens nothing from now on`)
  }
})

test('a member cannot end the session of another one', async t => {
  const gateway = await startGateway(t)
  const ann = await createSignedInVisitor(gateway, { role: 'operator', email: 'ann@example.org' })
  const bob = await createSignedInVisitor(gateway, { role: 'operator', email: 'bob@example.org' })
  const [session] = await gateway.control.sessions.listByMember(ann.member.memberId)
  await bob.post('/dashboard/account/sessions/end', { session: session!.idHash })
  await bob.post('/dashboard/account/sessions/end-others')
  t.equal((await ann.get('/dashboard/account')).status, 200)
})

test('a session ends when it is idle, and at the latest after its hours, by the clock of the server', async t => {
  const start = Date.UTC(2030, 0, 1)
  let minutes = 0
  const now = () => new Date(start + minutes * 60_000)
  const gateway = await startGateway(t, { now, config: { dashboard: { sessionIdleMinutes: 30, sessionHours: 2 } } })
  const browser = await createSignedInVisitor(gateway, { role: 'operator' })
  const startSession = async () => {
    browser.cookies.set(
      'clinigate-session',
      await createSession(gateway, browser.member.memberId, { now: now(), minutes: 30 })
    )
  }
  const isIn = async () => (await browser.get('/dashboard/account')).status === 200
  await startSession()
  for (const at of [1, 30, 59, 85, 110, 119]) {
    minutes = at
    t.ok(await isIn(), `after ${at} minutes of use`)
  }
  minutes = 121
  t.notOk(await isIn(), 'two hours are all')
  await startSession()
  t.ok(await isIn())
  minutes += 31
  t.notOk(await isIn(), 'half an hour of nothing is enough')
})

test('a generated password opens nothing but the page on which it is changed', async t => {
  const gateway = await startGateway(t)
  const first = (await gateway.control.members.createFirstOperator('ann@example.org', 'test'))!
  const browser = createVisitor(gateway)
  t.equal(
    (await signIn(browser, { password: first.password, next: '/dashboard/operators' })).headers.location,
    '/dashboard/password'
  )
  for (const path of ['', '/account', '/operators', '/nothing']) {
    t.match(
      await browser.get(`/dashboard${path}`),
      { status: 303, headers: { location: '/dashboard/password' } },
      path
    )
  }
  const token = await browser.fetchToken('/dashboard/password')
  t.equal(
    (await browser.send('/dashboard/organizations/new', { _csrf: token, name: 'x', plan: 'pro' })).headers.location,
    '/dashboard/password'
  )
  t.same(await gateway.control.organizations.list(), [])
  const change = async (fields: Record<string, string>) =>
    await browser.send('/dashboard/password', {
      _csrf: token,
      current: first.password,
      wanted: password,
      again: password,
      ...fields
    })
  t.match(await change({ again: 'something else' }), { status: 422, text: /are different/ })
  t.match(await change({ wanted: 'short', again: 'short' }), { status: 422, text: /12 to 200/ })
  t.match(await change({}), { status: 303, headers: { location: '/dashboard' } })
  t.equal((await browser.get('/dashboard/operators')).status, 200)
})

test('one password that opens several organizations leads to a choice of them, and opens no other', async t => {
  const gateway = await startGateway(t)
  const [north, south, other] = [
    await gateway.createOrganization(),
    await gateway.createOrganization(),
    await gateway.createOrganization()
  ]
  const ids = [await createPerson(gateway, { tenantId: north }), await createPerson(gateway, { tenantId: south })]
  const foreign = await createSignedInVisitor(gateway, { role: 'admin', tenantId: other, email: 'eve@example.org' })
  const browser = createVisitor(gateway)
  t.equal((await signIn(browser)).headers.location, '/dashboard/choose-organization?next=%2Fdashboard')
  t.equal((await browser.get('/dashboard/account')).status, 303, 'nothing is open yet')
  const page = await browser.get('/dashboard/choose-organization')
  for (const id of ids) t.ok(page.html.includes(id))
  const before = browser.cookies.get('clinigate-session')
  t.match(
    await browser.post(
      '/dashboard/choose-organization',
      { member: foreign.member.memberId },
      '/dashboard/choose-organization'
    ),
    { status: 303, headers: { location: '/dashboard/sign-in' } }
  )
  t.equal((await browser.get('/dashboard/account')).status, 303)
  t.match(
    await browser.post('/dashboard/choose-organization', { member: ids[1]! }, '/dashboard/choose-organization'),
    { status: 303, headers: { location: '/dashboard' } }
  )
  t.not(browser.cookies.get('clinigate-session'), before)
  t.equal((await browser.get('/dashboard')).headers.location, `/dashboard/organizations/${south}`)
})

test('an invitation makes a member once, who is signed in by it', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { token, invitationId } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@example.org', role: 'viewer' },
    'test'
  )
  const path = `/dashboard/invitations/${token}`
  const browser = createVisitor(gateway)
  t.match((await browser.get(path)).text, /invited to a test organization as viewer/)
  t.match(await browser.post(path, { name: 'Ann', password: 'short' }, path), {
    status: 422,
    text: /12 to 200 characters/,
    html: /value="Ann"/
  })
  t.match(await browser.post(path, { name: 'Ann', password }, path), {
    status: 303,
    headers: { location: '/dashboard' }
  })
  t.match((await browser.get('/dashboard/account')).text, /Ann.*viewer.*a test organization/)
  t.equal((await createVisitor(gateway).get(path)).status, 404, 'the link has served')
  t.equal((await createVisitor(gateway).get(`/dashboard/invitations/${'x'.repeat(43)}`)).status, 404)
  t.equal((await createVisitor(gateway).get(`/dashboard/invitations/${invitationId}`)).status, 404, 'its id opens nothing')
})

test('without local accounts, no page has a password field and no route accepts a password', async t => {
  const gateway = await startGateway(t, {
    config: {
      dashboard: {
        localAccounts: false,
        oidc: { issuer: 'http://127.0.0.1:9', clientId: 'clinigate', label: 'Sign in with the clinic' }
      }
    }
  })
  const tenantId = await gateway.createOrganization()
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@example.org', role: 'viewer' },
    'test'
  )
  const browser = createVisitor(gateway)
  const page = await browser.get('/dashboard/sign-in')
  t.notMatch(page.html, /<form|type="password"/)
  t.match(page.text, /Sign in with the clinic/)
  for (const path of ['/dashboard/sign-in', `/dashboard/invitations/${token}`, '/dashboard/choose-organization']) {
    t.match((await browser.send(path, { email: 'ann@example.org', password })).headers.location, /\/sign-in$/, path)
  }
})

test('no password, no session id, no token of a link and no device cookie is in the log or in a file', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@example.org', role: 'admin' },
    'test'
  )
  const browser = createVisitor(gateway)
  const path = `/dashboard/invitations/${token}`
  await browser.post(path, { name: 'Ann', password }, path)
  await browser.post('/dashboard/sign-out')
  await signIn(browser, { password: `${password}!` })
  await signIn(browser)
  await browser.get('/dashboard/account')
  const secrets = [
    password,
    token,
    browser.cookies.get('clinigate-session')!,
    browser.cookies.get('clinigate-device')!,
    browser.cookies.get('clinigate-device')!.split('.')[1]!
  ]
  const database = new Database(join(gateway.dataDirectory, 'control.db'))
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  const texts = {
    log: JSON.stringify(gateway.logged()),
    ...Object.fromEntries(listDataFiles(gateway.dataDirectory).map(({ name, bytes }) => [name, bytes.toString('latin1')]))
  }
  t.match(texts, { log: /invitations\/:token/, 'control.db': /ann@example\.org/ })
  for (const [name, text] of Object.entries(texts)) {
    for (const secret of secrets) t.notOk(text.includes(secret), name)
  }
})
