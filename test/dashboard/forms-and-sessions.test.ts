import t from 'tap'
import { parseBrowserName } from '../../src/control-plane/dashboard/session.js'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { listDashboardRoutes } from '../harness/dashboard-routes.js'
import { setScene, type TestClock } from '../harness/dashboard-scene.js'
import { createSignedInVisitor, createVisitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'

t.test('after a session ended, the sign-in page says so, and that a submitted form had no effect', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const token = await admin.fetchToken()
  await gateway.control.sessions.endByMember(admin.member.memberId, {})
  const follow = async ({
    status,
    headers
  }: {
    readonly status: number
    readonly headers: Readonly<Record<string, unknown>>
  }) => {
    t.equal(status, 303)
    return (await admin.get(String(headers.location))).text
  }
  t.match(await follow(await admin.get('/dashboard/account')), /Your session has ended\. Sign in again\./)
  t.match(
    await follow(await admin.send(`/dashboard/organizations/${tenantId}/keys/new`, { _csrf: token, name: 'Late' })),
    /You were signed out before this was saved\. Nothing was changed\./
  )
  t.same(await gateway.control.keys.list(tenantId), [])
})

t.test('a visitor who never had a session is redirected to the sign-in without a notice', async t => {
  const browser = createVisitor(await startGateway(t))
  const { headers } = await browser.get('/dashboard')
  t.notMatch((await browser.get(String(headers.location))).text, /session/)
})

t.test('the sign-in leads back to the page of the form that was sent too late, and nowhere else', async t => {
  const gateway = await startGateway(t)
  const browser = createVisitor(gateway)
  const getSignInLocation = async (referer?: string) =>
    (await browser.send('/dashboard/tokens', { name: 'ci' }, referer === undefined ? {} : { referer })).headers.location
  t.equal(
    await getSignInLocation('http://127.0.0.1:8080/dashboard/tokens?page=2'),
    '/dashboard/sign-in?next=%2Fdashboard%2Ftokens%3Fpage%3D2'
  )
  t.equal(await getSignInLocation('https://evil.example.org/'), '/dashboard/sign-in?next=%2Fdashboard')
  for (const referer of [undefined, 'no URL']) t.equal(await getSignInLocation(referer), '/dashboard/sign-in')
})

t.test('a sign-out after the session has ended succeeds at once', async t => {
  const browser = createVisitor(await startGateway(t))
  const { headers } = await browser.send(
    '/dashboard/sign-out',
    {},
    { referer: 'http://127.0.0.1:8080/dashboard/tokens' }
  )
  t.equal(headers.location, '/dashboard/sign-in')
  t.match(await browser.get('/dashboard/sign-in'), {
    text: /You are signed out\./,
    html: /class="notice notice-neutral"/
  })
})

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0'
const iPhone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1'

t.test('a member sees in which browsers the sessions began', async t => {
  const gateway = await startGateway(t)
  const [email, password] = ['ann@example.org', 'a sentence that only I know']
  const { token } = await gateway.control.invitations.create(
    { email, role: 'admin', tenantId: await gateway.createOrganization() },
    'test'
  )
  await gateway.control.invitations.accept(token, { name: 'Ann', password })
  const signIn = async (agent: string) => {
    const browser = createVisitor(gateway)
    await browser.send(
      '/dashboard/sign-in',
      { _csrf: await browser.fetchToken('/dashboard/sign-in'), email, password },
      { 'user-agent': agent }
    )
    return browser
  }
  await signIn(firefox)
  await signIn('<b>none</b>')
  const { text } = await (await signIn(iPhone)).get('/dashboard/account')
  for (const name of ['Firefox on Windows', 'Safari on iPhone', 'unknown']) t.ok(text.includes(name), name)
  t.notOk(text.includes('<b>'))
})

t.test('browsers are recognized by their own name, whatever others they list', async t => {
  const chrome =
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36'
  t.equal(parseBrowserName(chrome), 'Chrome on Linux')
  t.equal(
    parseBrowserName(`${chrome.replace('X11; Linux x86_64', 'Macintosh; Intel Mac OS X 10_15_7')} Edg/126.0.0.0`),
    'Edge on macOS'
  )
  t.equal(parseBrowserName(chrome.replace('X11; Linux x86_64', 'Linux; Android 10; K')), 'Chrome on Android')
  t.equal(parseBrowserName('curl/8.5.0'), undefined)
})

t.test('a rejected invitation form keeps the chosen role selected', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const path = `/dashboard/organizations/${tenantId}/members`
  const refused = await admin.post(path, { once: createIdempotencyToken(), email: 'ann@clinic', role: 'admin' })
  t.equal(refused.status, 422)
  t.match(refused.html, /value="ann@clinic"/)
  t.match(refused.html, /value="admin" checked/)
})

t.test('a rejected change of an organization shows the form with the typed values', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const refused = await operator.post(`/dashboard/organizations/${tenantId}`, {
    name: 'Clinic North',
    plan: 'enterprise',
    datastore: 'no such name'
  })
  t.equal(refused.status, 422)
  t.match(refused.text, /The name of a datastore must have/)
  t.match(refused.html, /value="Clinic North"/)
  t.match(refused.html, /value="enterprise" selected/)
  t.match(refused.html, /value="no such name"/)
})

t.test('a rejected last day stays in the form of a token and of a key', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { keyId } = await gateway.createKey({ tenantId })
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const forms = [
    await admin.post(`/dashboard/organizations/${tenantId}/tokens`, {
      once: createIdempotencyToken(),
      name: 'deployment',
      role: 'viewer',
      lastDay: '2020-01-31'
    }),
    await admin.post(`/dashboard/keys/${keyId}`, { lastDay: '2020-01-31' })
  ]
  for (const { status, html } of forms) {
    t.equal(status, 422)
    t.match(html, /type="date" value="2020-01-31"/)
  }
})

const typedForm = /<form method="post" action="([^"]*)" class="stacked">(?:(?!<\/form>).)*<input id=/gs

// A rejected form had a URL of its own, which led to a 404 or a list after a reload or another sign-in.
t.test('every form with text input is sent to the URL of its page', async t => {
  const clock: TestClock = { shiftMs: 0 }
  const gateway = await startGateway(t, { now: () => new Date(Date.now() + clock.shiftMs) })
  const scene = await setScene(gateway.control, clock)
  const operator = await createSignedInVisitor(gateway, { role: 'operator' })
  const pages = (await listDashboardRoutes(gateway.control)).filter(
    ({ method, path }) => method === 'GET' && !/assets|:token$|sign-in|choose/.test(path)
  )
  let forms = 0
  for (const { path } of pages) {
    const page = path.replace(/:(\w+)/g, (_, name: keyof typeof scene) => scene[name])
    for (const [, action] of (await operator.get(page)).html.matchAll(typedForm)) {
      forms += 1
      t.equal(action, page)
    }
  }
  t.ok(forms >= 8, `${forms} forms`)
})

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': /^default-src 'none';script-src 'self';.*frame-ancestors 'none'/,
  'cache-control': 'no-store',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-request-id': /./
}

const buildOverlongRequest = (path: string): string => `GET ${path}${'x'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`

// A URL that cannot be decoded, or is too long, got the API's envelope; errors of the gateway's first steps were plain
// text.
t.test('any invalid request below /dashboard gets a page in a browser', async t => {
  const gateway = await startGateway(t)
  const { get, send } = createVisitor(gateway)
  const addresses = [
    await get('/dashboard/%'),
    await get('/dashboard/keys/%E0%A4%A?search=%'),
    await get('/dashboard/%00%')
  ]
  for (const { status, headers: sent, html } of addresses) {
    t.equal(status, 400)
    t.match(sent, headers)
    t.match(html, /^<!doctype html>.*<h1>Bad request<\/h1>.*Check the address and try again\..*href="\/dashboard"/s)
  }
  const overridden = await send('/dashboard/sign-in', {}, { 'x-http-method-override': 'PUT' })
  t.match(overridden, { status: 400, headers, html: /^<!doctype html>.*Method override rejected/s })
  t.match(await send('/dashboard/sign-in', {}, { 'content-type': 'application/json' }), {
    status: 415,
    headers,
    html: /^<!doctype html>/
  })
  t.match(await send('/dashboard/sign-in', { email: 'x'.repeat(70_000) }), {
    status: 413,
    headers,
    html: /^<!doctype html>/
  })

  const [long] = parseResponses(await exchangeRaw(gateway.url, buildOverlongRequest('/dashboard/')))
  t.match(long, { status: 400, headers, text: /^<!doctype html>.*too long or cannot be read/s })
})

t.test('malformed URLs outside the dashboard are still rejected in the format of their API', async t => {
  const { inject, url } = await startGateway(t)
  for (const path of ['/%', '/v1/%', '/control/v1/%', '/dashboards/%', '/openapi.json/%']) {
    t.match(
      await inject(path),
      { statusCode: 400, headers: { 'content-type': 'application/json; charset=utf-8' } },
      path
    )
  }
  t.match(await inject('/v1/fhir/%'), { statusCode: 400, headers: { 'content-type': /fhir\+json/ } })
  t.match(parseResponses(await exchangeRaw(url, buildOverlongRequest('/v1/'))), [
    { status: 400, headers: { 'content-type': /^application\/json/ } }
  ])
})
