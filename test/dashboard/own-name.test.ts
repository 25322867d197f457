import { test, type Test } from 'tap'
import { createSession, createSignedInVisitor, createVisitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

const path = '/dashboard/account/name'

/** A viewer with a password, signed in. */
async function signInViewer (t: Test) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@example.org', role: 'viewer' },
    'test'
  )
  const { memberId } = await gateway.control.invitations.accept(token, {
    name: 'Ann',
    password: 'a sentence for a test'
  })
  const browser = createVisitor(gateway)
  browser.cookies.set('clinigate-session', await createSession(gateway, memberId))
  return { gateway, tenantId, memberId, browser }
}

test('a member changes their own name, which every page shows from then on and the audit trail records', async t => {
  const { gateway, tenantId, memberId, browser } = await signInViewer(t)
  t.match((await browser.get('/dashboard/account')).html, `href="${path}"`)
  t.match((await browser.get(path)).html, /name="name" type="text" value="Ann"/)
  const changed = await browser.post(path, { name: '  Ann Lee ' })
  t.match(changed, { status: 303, headers: { location: '/dashboard/account' } })
  const account = await browser.get('/dashboard/account')
  t.match(account.text, /Name changed\..* Name Ann Lee /)
  t.match(account.html, /href="\/dashboard\/account"[^>]*>Ann Lee</, 'on top of the page')
  t.match((await browser.get(`/dashboard/organizations/${tenantId}/members`)).text, /Ann Lee ann@example\.org/)
  t.match(
    (await browser.get(`/dashboard/organizations/${tenantId}/audit`)).text,
    /ann@example\.org mem-\w+ changed their name name: Ann Lee /
  )
  const [line] = await gateway.control.listAuditEntries({ entity: memberId, limit: 1 })
  t.match(line, {
    actor: `member:ann@example.org (${memberId})`,
    action: 'name changed',
    tenantId,
    detail: { name: 'Ann Lee' }
  })
})

test('a rejected name is shown again next to the error message, and nothing changes', async t => {
  const { gateway, memberId, browser } = await signInViewer(t)
  for (const name of [' ', 'Ann\u202eLee', 'x'.repeat(201)]) {
    const refused = await browser.post(path, { name })
    t.equal(refused.status, 422)
    t.match(refused.text, /A name must have 1 to 200 characters, all of them visible\./)
    t.match(refused.html, /id="name"[^>]* aria-describedby="name-trouble" aria-invalid="true"/)
    t.ok(refused.html.includes(`value="${name}"`))
  }
  t.match(await browser.send(path, { name: 'Eve' }), { status: 403 }, 'a form without a token')
  t.match(await gateway.control.members.find(memberId), { name: 'Ann' })
})

test('a member whom a provider names changes the name there', async t => {
  const gateway = await startGateway(t)
  const operator = await createSignedInVisitor(gateway, { role: 'operator', name: 'Ada Byron' })
  t.notMatch((await operator.get('/dashboard/account')).html, path)
  const form = await operator.get(path)
  t.match(form.text, /Your name comes from your organization’s sign-in\. Change it there\./)
  t.notMatch(form.html, `action="${path}"`)
  t.match(await operator.post(path, { name: 'Ada' }), { status: 409, text: /Change it there/ })
  t.match(await gateway.control.members.find(operator.member.memberId), { name: 'Ada Byron' })
})

test('a member who must change the password first cannot change the name before', async t => {
  const { gateway, memberId, browser } = await signInViewer(t)
  await gateway.control.members.resetPassword(memberId, 'test')
  browser.cookies.set('clinigate-session', await createSession(gateway, memberId))
  const sent = await browser.send(path, { name: 'Eve', _csrf: await browser.fetchToken('/dashboard/password') })
  t.match(sent.headers, { location: '/dashboard/password' })
  t.match(await gateway.control.members.find(memberId), { name: 'Ann' })
})
