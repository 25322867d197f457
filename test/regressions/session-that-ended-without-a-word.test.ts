import { test } from 'tap'
import { signedIn, visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

test('whoever is led to the sign-in because a session ended is told so, and that a form did nothing', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await signedIn(gateway, { role: 'admin', tenantId })
  const token = await admin.token()
  await gateway.control.sessions.endOf(admin.member.memberId, {})
  const follow = async ({ status, headers }: { readonly status: number, readonly headers: Readonly<Record<string, unknown>> }) => {
    t.equal(status, 303)
    return (await admin.get(String(headers.location))).text
  }
  t.match(await follow(await admin.get('/dashboard/account')), /Your session has ended\. Sign in again\./)
  t.match(await follow(await admin.send(`/dashboard/organizations/${tenantId}/keys`, { _csrf: token, name: 'Late' })), /nothing was changed\. Sign in and try again\./)
  t.same(await gateway.control.keys.list(tenantId), [])
})

test('a stranger is led to the sign-in without a word on sessions', async t => {
  const browser = visitor(await startGateway(t))
  const { headers } = await browser.get('/dashboard')
  t.notMatch((await browser.get(String(headers.location))).text, /session/)
})
