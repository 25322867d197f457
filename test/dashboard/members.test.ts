import t, { type Test } from 'tap'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { runCommand } from '../cli/command.js'
import { createSession, type Page, createSignedInVisitor, createVisitor, type Visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

t.test('a valid key is renamed in the dashboard, over the API and by command, and the audit trail says by whom', async t => {
  const gateway = await startGateway(t)
  const { tenantId, keyId, secret } = await gateway.createKey()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  const path = `/dashboard/keys/${keyId}`
  t.match((await admin.get(path)).html, `href="${path}/rename"`)
  t.match((await admin.get(`${path}/rename`)).html, /name="name" type="text" value="a test key"/)
  t.match(await admin.post(`${path}/rename`, { name: ' Intake form ' }), { status: 303, headers: { location: path } })
  t.match((await admin.get(path)).text, /Key renamed\. .*Intake form/)
  t.match(await gateway.control.listAuditEntries({ tenantId, entity: keyId, limit: 1 }), [
    { action: 'key changed', actor: /^member:ann@example\.org /, detail: { name: 'Intake form' } }
  ])
  t.match((await admin.get(`/dashboard/organizations/${tenantId}/audit`)).text, /changed a key name: Intake form/)

  const token = (await gateway.control.tokens.create({ role: 'operator', name: 'ci' }, 'test')).secret
  const patch = async (body: object) => {
    const response = await gateway.inject({
      method: 'PATCH',
      url: `/control/v1/keys/${keyId}`,
      headers: { authorization: `Bearer ${token}` },
      payload: body
    })
    return { status: response.statusCode, ...response.json() }
  }
  t.match(await patch({ name: 'Letters' }), { status: 200, data: { keyId, name: 'Letters', expiresAt: undefined } })
  t.match(await patch({ name: 'Letters', expiresAt: '2099-01-01T00:00:00Z' }), {
    status: 200,
    data: { expiresAt: '2099-01-01T00:00:00.000Z' }
  })
  t.match(await patch({ expiresAt: '2098-01-01T00:00:00Z' }), {
    status: 200,
    data: { name: 'Letters', expiresAt: '2098-01-01T00:00:00.000Z' }
  })
  t.match(await patch({}), { status: 422 })
  t.match(await patch({ name: 'a line\nand another' }), { status: 422, message: /all of them visible/ })

  const renamed = await runCommand(
    { CONTROL_TOKEN: token, CONTROL_URL: gateway.url },
    'keys',
    'rename',
    keyId,
    '--name',
    'Reminders'
  )
  t.match(renamed, { code: 0, err: '' })
  t.match(JSON.parse(renamed.out), { keyId, name: 'Reminders', expiresAt: '2098-01-01T00:00:00.000Z' })
  await gateway.catchUp()
  t.equal(
    (await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).statusCode,
    200,
    'its secret works as before'
  )
})

t.test('a rejected name stays in the form; a viewer renames nothing, and an admin no revoked key', async t => {
  const gateway = await startGateway(t)
  const { tenantId, keyId } = await gateway.createKey()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const viewer = await createSignedInVisitor(gateway, { role: 'viewer', tenantId })
  const path = `/dashboard/keys/${keyId}`
  const refused = await admin.post(`${path}/rename`, { name: 'x'.repeat(201) })
  t.match(refused, { status: 422, text: /A name must have 1 to 200 characters/ })
  t.match(refused.html, `value="${'x'.repeat(201)}"`)
  t.notMatch((await viewer.get(path)).html, '/rename')
  t.match(
    [await viewer.get(`${path}/rename`), await viewer.post(`${path}/rename`, { name: 'mine' })],
    [{ status: 403 }, { status: 403 }]
  )
  await gateway.control.keys.revoke(keyId, 'test')
  t.notMatch((await admin.get(path)).html, '/rename')
  t.match(await admin.post(`${path}/rename`, { name: 'too late' }), { status: 409, text: /This key was revoked/ })
  t.equal((await gateway.control.keys.find(keyId)).name, 'a test key')
})

t.test('a member is not invited to the same organization again, but may be to another one', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const admin = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  const people = `/dashboard/organizations/${tenantId}/members`
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@clinic.example', role: 'viewer' },
    'test'
  )
  await gateway.control.invitations.accept(token, { name: 'Ann', password: 'a sentence for a test' })
  const refused = await admin.post(people, { once: createIdempotencyToken(), email: 'Ann@clinic.example', role: 'admin' })
  t.equal(refused.status, 409)
  t.match(refused.text, /Someone with this address is already a member/)
  t.match(refused.html, /value="Ann@clinic\.example"/, 'the form is there to write another address')
  t.same(await gateway.control.invitations.list(tenantId), [])
  t.ok(
    await gateway.control.invitations.create(
      { tenantId: await gateway.createOrganization(), email: 'ann@clinic.example', role: 'viewer' },
      'test'
    )
  )
})

t.test('the link of a used invitation shows that, in the same words as the link of an unknown one', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@clinic.example', role: 'viewer' },
    'test'
  )
  await gateway.control.invitations.accept(token, { name: 'Ann', password: 'a sentence for a test' })
  const [used, never] = await Promise.all(
    [token, 'A'.repeat(43)].map(one => createVisitor(gateway).get(`/dashboard/invitations/${one}`))
  )
  t.equal(used!.status, 404)
  t.match(used!.text, /used, withdrawn or has expired; ask for a new one/)
  t.equal(used!.text, never!.text)
})

async function createTwoAdmins (t: Test) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const join = async (name: string) => {
    const { token } = await gateway.control.invitations.create(
      { tenantId, email: `${name}@example.org`, role: 'admin' },
      'test'
    )
    return await gateway.control.invitations.accept(token, { name, password: 'a sentence for a test' })
  }
  const [ann, bob] = [await join('Ann'), await join('Bob')]
  const browser = createVisitor(gateway)
  browser.cookies.set('clinigate-session', await createSession(gateway, ann.memberId))
  return { gateway, path: `/dashboard/organizations/${tenantId}/members`, ann, bob, browser }
}

/** The page after all redirects. */
async function followRedirects (browser: Visitor, page: Page): Promise<Page> {
  return page.status === 303 ? await followRedirects(browser, await browser.get(String(page.headers.location))) : page
}

t.test("a change of a role requires confirmation, and that of one's own warns of what cannot be undone", async t => {
  const { gateway, path, ann, bob, browser } = await createTwoAdmins(t)
  const list = await browser.get(path)
  for (const { memberId } of [ann, bob]) {
    t.match(list.html, `href="/dashboard/members/${memberId}/role"`)
    t.notMatch(list.html, `action="/dashboard/members/${memberId}/role"`)
  }
  const request = await browser.get(`/dashboard/members/${bob.memberId}/role`)
  t.match(
    request.text,
    /Make Bob viewer\? bob@example\.org will see everything and change nothing\. They are signed out everywhere/
  )
  t.notMatch(request.text, /yourself/)
  t.match(await followRedirects(browser, await browser.post(`/dashboard/members/${bob.memberId}/role`, { role: 'viewer' })), {
    status: 200,
    text: /Bob is now viewer/
  })
  t.match(
    (await browser.get(`/dashboard/members/${bob.memberId}/role`)).text,
    /Make Bob admin\? bob@example\.org will manage keys, people and tokens\./
  )

  t.match((await browser.get(`/dashboard/members/${ann.memberId}/role`)).text, /You cannot make yourself admin again/)
  t.match(
    (await followRedirects(browser, await browser.post(`/dashboard/members/${ann.memberId}/role`, { role: 'viewer' }))).text,
    /You are now viewer\. Sign in again\. Sign in/
  )
  browser.cookies.set('clinigate-session', await createSession(gateway, ann.memberId))
  t.match(await browser.get(`/dashboard/members/${bob.memberId}/role`), { status: 403 }, 'a viewer gets no confirmation page')
})

t.test('a member who removes themselves sees that, and not that a session ended', async t => {
  const { path, ann, browser } = await createTwoAdmins(t)
  t.match((await browser.get(`/dashboard/members/${ann.memberId}/remove`)).text, /This is you\./)
  const end = await followRedirects(browser, await browser.post(`/dashboard/members/${ann.memberId}/remove`))
  t.match(end.text, /You are no longer a member\./)
  t.notMatch(end.text, /session has ended/)
  t.match(await browser.get(path), { status: 303 })
})

t.test('a role that a provider assigns is changed there alone, since the next sign-in would restore it', async t => {
  const gateway = await startGateway(t)
  const { control } = gateway
  const tenantId = await gateway.createOrganization()
  const { member: { memberId } } = await createSignedInVisitor(gateway, { role: 'admin', tenantId, email: 'bob@example.org' })
  const ann = await createSignedInVisitor(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  const page = await ann.post(`/dashboard/members/${memberId}/role`, { role: 'viewer' })
  t.match(page, { status: 409, text: /role comes from .* provider\. Change it there\./ })
  const { secret } = await control.tokens.create({ tenantId, role: 'admin', name: 'test' }, 'test')
  const response = await gateway.inject({
    method: 'PATCH',
    url: `/control/v1/members/${memberId}`,
    headers: { authorization: `Bearer ${secret}` },
    payload: { role: 'viewer' }
  })
  t.equal(response.statusCode, 409)
  t.match(response.body, 'Change it there.')
  t.match(await control.members.find(memberId), { role: 'admin' })
})

t.test('removing a member who comes from a provider warns that this does not keep them out', async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { member: bob } = await createSignedInVisitor(gateway, { role: 'viewer', tenantId, email: 'bob@example.org' })
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'cleo@example.org', role: 'viewer' },
    'test'
  )
  const cleo = await gateway.control.invitations.accept(token, {
    name: 'Cleo',
    password: 'a sentence that only I know'
  })
  const ann = await createSignedInVisitor(gateway, { role: 'admin', tenantId, email: 'ann@example.org' })
  const getRemovalText = async (memberId: string) => (await ann.get(`/dashboard/members/${memberId}/remove`)).text
  const never = /can’t sign in again/
  t.match(await getRemovalText(cleo.memberId), never)
  t.notMatch(await getRemovalText(bob.memberId), never)
  t.match(
    await getRemovalText(bob.memberId),
    /come back with their next sign-in unless they are removed at the provider too/
  )
  const { paths } = (await gateway.inject({ url: '/control/v1/openapi.json' })).json()
  t.match(paths['/members/{memberId}'].delete.summary, /provider/)
})
