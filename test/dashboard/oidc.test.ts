import { test, type Test } from 'tap'
import { findFreePort } from '../harness/free-port.js'
import { startGateway } from '../harness/gateway.js'
import { createVisitor, type Visitor } from '../harness/dashboard.js'
import { startProvider, type Person, type TestProvider } from '../harness/oidc.js'

const publicUrl = 'http://127.0.0.1:4999'
const callbackUrl = `${publicUrl}/dashboard/oidc/callback`
const secret = 'the-client-secret-of-the-dashboard'

async function startOidcGateway (
  t: Test,
  request: Partial<Parameters<typeof startProvider>[1]> = { secret },
  settings: object = {}
) {
  const provider = await startProvider(t, { callbackUrl, ...request })
  const oidc = { issuer: provider.issuer, clientId: 'clinigate', scope: 'openid email profile clinic', ...settings }
  const gateway = await startGateway(t, {
    config: { publicUrl, dashboard: { oidc } },
    environment: request.secret === undefined ? {} : { OIDC_CLIENT_SECRET: request.secret }
  })
  return { provider, gateway, tenantId: await gateway.createOrganization() }
}

/** Goes to the provider as a person and comes back with what it gave. @returns path and query of the callback */
async function visitProvider (
  browser: Visitor,
  provider: TestProvider,
  person: Person,
  change: (url: URL) => void = () => {}
): Promise<string> {
  provider.person.current = person
  const start = await browser.get('/dashboard/oidc/start')
  const url = new URL(String(start.headers.location))
  change(url)
  const back = await provider.visit(url.href)
  if (!back.href.startsWith(callbackUrl)) throw new Error(`the provider led to ${back.pathname}`)
  return back.pathname + back.search
}

const ann = { sub: 'ann', email: 'Ann@Example.org', email_verified: true, name: 'Ann <b>Example</b>' }

test('a person who signs in at the provider becomes a member of the organization and role that it names', async t => {
  const { provider, gateway, tenantId } = await startOidcGateway(t)
  const browser = createVisitor(gateway)
  const request = new URL(String((await browser.get('/dashboard/oidc/start')).headers.location)).searchParams
  t.match(Object.fromEntries(request), {
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: callbackUrl,
    client_id: 'clinigate'
  })
  t.ok(
    request.get('state')!.length >= 32 &&
      request.get('nonce')!.length >= 32 &&
      request.get('code_challenge')!.length === 43
  )
  const back = await visitProvider(browser, provider, { ...ann, role: 'admin', organization: tenantId })
  const arrived = await browser.get(back)
  t.equal(arrived.status, 303)
  t.equal(arrived.headers.location, '/dashboard')
  t.notOk(browser.cookies.has('clinigate-provider'), 'what the journey needed is gone')
  const account = await browser.get('/dashboard/account')
  t.match(account.text, /Ann <b>Example<\/b>.*ann@example\.org.*admin/)
  t.notMatch(account.html, '<b>Example')
  const [member] = await gateway.control.members.list(tenantId)
  t.match(member, { role: 'admin', isFromProvider: true, mustChangePassword: false })
  t.match((await browser.get('/dashboard/password')).text, /kept by your organization/)
})

test('a callback that was used before opens nothing, though all that the browser had is sent again', async t => {
  const { provider, gateway, tenantId } = await startOidcGateway(t)
  const browser = createVisitor(gateway)
  const back = await visitProvider(browser, provider, { ...ann, role: 'viewer', organization: tenantId })
  const cookie = browser.cookies.get('clinigate-provider')!
  t.equal((await browser.get(back)).status, 303)
  t.equal((await browser.get(back)).status, 400, 'the browser has forgotten')
  const thief = createVisitor(gateway)
  thief.cookies.set('clinigate-provider', cookie)
  t.equal((await thief.get(back)).status, 400, 'the provider has not')
  t.notOk(thief.cookies.has('clinigate-session'))
})

test('a callback with another state, another nonce, another verifier or of another browser opens nothing', async t => {
  const { provider, gateway, tenantId } = await startOidcGateway(t)
  const person = { ...ann, role: 'admin', organization: tenantId }
  const attempts: ReadonlyArray<readonly [string, (browser: Visitor) => Promise<string>]> = [
    [
      'state',
      async browser => (await visitProvider(browser, provider, person)).replace(/state=[^&]*/, 'state=of-somebody-else')
    ],
    ['no state', async browser => (await visitProvider(browser, provider, person)).replace(/&?state=[^&]*/, '')],
    [
      'nonce',
      async browser =>
        await visitProvider(browser, provider, person, url => url.searchParams.set('nonce', 'of-another-sign-in'))
    ],
    ['no nonce', async browser => await visitProvider(browser, provider, person, url => url.searchParams.delete('nonce'))],
    [
      'verifier',
      async browser => {
        const back = await visitProvider(browser, provider, person)
        const { verifier, ...rest } = JSON.parse(
          Buffer.from(browser.cookies.get('clinigate-provider')!, 'base64url').toString()
        )
        browser.cookies.set(
          'clinigate-provider',
          Buffer.from(JSON.stringify({ ...rest, verifier: [...verifier].reverse().join('') })).toString('base64url')
        )
        return back
      }
    ],
    [
      'issuer',
      async browser =>
        (await visitProvider(browser, provider, person)).replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example.org')
    ],
    [
      'another browser',
      async browser => {
        const back = await visitProvider(browser, provider, person)
        browser.cookies.clear()
        return back
      }
    ]
  ]
  for (const [what, attempt] of attempts) {
    const browser = createVisitor(gateway)
    const response = await browser.get(await attempt(browser))
    t.equal(response.status, 400, what)
    t.match(response.text, /Sign-in failed/)
    t.notOk(browser.cookies.has('clinigate-session'), `${what}: no session`)
  }
  t.same(await gateway.control.members.list(tenantId), [], 'no member was created')
})

test('a provider identity without a known role and organization gets an error page that says so, and no account', async t => {
  const { provider, gateway, tenantId } = await startOidcGateway(t)
  const other = await gateway.createOrganization()
  const refused: ReadonlyArray<readonly [Person, RegExp]> = [
    [{ ...ann, role: 'doctor', organization: tenantId }, /not given a role/],
    [{ ...ann, organization: tenantId }, /not given a role/],
    [{ ...ann, role: 'constructor', organization: tenantId }, /not given a role/],
    [{ ...ann, role: 'admin' }, /not given to an organization/],
    [{ ...ann, role: 'admin', organization: [tenantId, other] }, /not given to an organization/],
    [{ ...ann, role: 'admin', organization: 'org-that-never-was' }, /does not exist/],
    [{ sub: 'ann', role: 'admin', organization: tenantId }, /did not say your email/],
    [{ ...ann, email_verified: false, role: 'admin', organization: tenantId }, /not verified your email/]
  ]
  for (const [person, message] of refused) {
    const browser = createVisitor(gateway)
    const response = await browser.get(await visitProvider(browser, provider, person))
    t.equal(response.status, 403)
    t.match(response.text, message)
    t.notOk(browser.cookies.has('clinigate-session'))
  }
  t.same(
    [
      ...(await gateway.control.members.list(tenantId)),
      ...(await gateway.control.members.list(other)),
      ...(await gateway.control.members.list())
    ],
    []
  )
})

test('the mightiest role counts, an operator needs no organization, and a role that is taken away ends the sessions at the next sign-in', async t => {
  const { provider, gateway, tenantId } = await startOidcGateway(
    t,
    { secret, method: 'client_secret_post', includesClaimsInIdToken: true },
    { roles: { boss: 'operator', staff: 'viewer' } }
  )
  const browser = createVisitor(gateway)
  await browser.get(await visitProvider(browser, provider, { ...ann, role: ['staff', 'boss', 'other'] }))
  t.match(await gateway.control.members.list(), [{ role: 'operator', email: 'ann@example.org' }])
  t.equal((await browser.get('/dashboard/operators')).status, 200)
  t.notOk(
    provider.requested.some(request => request.includes('/me')),
    'an ID token that says all needs no UserInfo'
  )
  const elsewhere = createVisitor(gateway)
  await elsewhere.get(await visitProvider(elsewhere, provider, { ...ann, role: 'staff', organization: tenantId }))
  t.match(await gateway.control.members.list(tenantId), [{ role: 'viewer' }])
  t.equal(
    (await browser.get('/dashboard/operators')).headers.location,
    '/dashboard/sign-in?next=%2Fdashboard%2Foperators'
  )
})

test('an address that has a password here is not taken over by a provider', async t => {
  const { provider, gateway } = await startOidcGateway(t)
  await gateway.control.members.createFirstOperator('ann@example.org', 'test')
  const browser = createVisitor(gateway)
  const response = await browser.get(await visitProvider(browser, provider, { ...ann, role: 'operator' }))
  t.equal(response.status, 403)
  t.match(response.text, /is already a member/)
  t.equal((await gateway.control.members.list()).length, 1)
})

test('a provider that is down stops neither the start nor passwords, and is found again when it is back', async t => {
  const port = await findFreePort()
  const first = await startProvider(t, { callbackUrl, port })
  await first.stop()
  const gateway = await startGateway(t, {
    config: {
      publicUrl,
      dashboard: {
        oidc: {
          issuer: first.issuer,
          clientId: 'clinigate',
          scope: 'openid email profile clinic',
          label: 'Sign in with the clinic'
        }
      }
    }
  })
  const browser = createVisitor(gateway)
  const start = await browser.get('/dashboard/oidc/start')
  t.equal(start.status, 503)
  t.match(start.text, /does not answer/)
  const page = await browser.get('/dashboard/sign-in')
  t.match(page.text, /Email.*Password.*Sign in with the clinic/)
  const provider = await startProvider(t, { callbackUrl, port })
  const tenantId = await gateway.createOrganization()
  t.equal(
    (await browser.get(await visitProvider(browser, provider, { ...ann, role: 'admin', organization: tenantId }))).status,
    303,
    'a public client, by PKCE alone'
  )
  await provider.stop()
  provider.person.current = { ...ann, role: 'admin', organization: tenantId }
  const visitorAfterStop = createVisitor(gateway)
  t.equal((await visitorAfterStop.get('/dashboard/oidc/callback?code=x&state=y')).status, 400)
})

test('nothing of a sign-in at the provider is logged, and the client secret is nowhere', async t => {
  const { provider, gateway, tenantId } = await startOidcGateway(t)
  const browser = createVisitor(gateway)
  const back = await visitProvider(browser, provider, { ...ann, role: 'admin', organization: tenantId })
  const { state, nonce, verifier } = JSON.parse(
    Buffer.from(browser.cookies.get('clinigate-provider')!, 'base64url').toString()
  )
  const code = new URLSearchParams(back.split('?')[1]).get('code')!
  await browser.get(back)
  await browser.get(back)
  const log = JSON.stringify(gateway.logged())
  t.match(log, '"route":"/dashboard/oidc/callback"')
  for (const hidden of [
    state,
    nonce,
    verifier,
    code,
    secret,
    'ann@example.org',
    browser.cookies.get('clinigate-session')!
  ]) { t.notOk(log.includes(hidden)) }
})
