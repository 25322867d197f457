import { test } from 'tap'
import { signedIn, visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('whoever is led to the sign-in because a session ended is told so, and that a form did nothing', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const token = await admin.token()
  await gateway.control.sessions.endOf(admin.member.memberId, {})
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

test('a stranger is led to the sign-in without a word on sessions', async t => {
  const browser = visitor(await startGateway(t))
  const { headers } = await browser.get('/dashboard')
  t.notMatch((await browser.get(String(headers.location))).text, /session/)
})

test('the sign-in leads back to the page of the form that came too late, and nowhere else', async t => {
  const gateway = await startGateway(t)
  const browser = visitor(gateway)
  const wayIn = async (referer?: string) =>
    (await browser.send('/dashboard/tokens', { name: 'ci' }, referer === undefined ? {} : { referer })).headers.location
  t.equal(
    await wayIn('http://127.0.0.1:8080/dashboard/tokens?page=2'),
    '/dashboard/sign-in?next=%2Fdashboard%2Ftokens%3Fpage%3D2'
  )
  t.equal(await wayIn('https://evil.example.org/'), '/dashboard/sign-in?next=%2Fdashboard')
  for (const referer of [undefined, 'no URL']) t.equal(await wayIn(referer), '/dashboard/sign-in')
})

test('whoever signs out after the session has ended is signed out, and not asked to do it again', async t => {
  const browser = visitor(await startGateway(t))
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
