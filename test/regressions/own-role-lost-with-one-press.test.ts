import { test, type Test } from 'tap'
import { newSession, visitor, type Page, type Visitor } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'

async function twoAdmins (t: Test) {
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
  const browser = visitor(gateway)
  browser.cookies.set('clinigate-session', await newSession(gateway, ann.memberId))
  return { gateway, path: `/dashboard/organizations/${tenantId}/members`, ann, bob, browser }
}

/** The page at the end of a way. */
async function followed (browser: Visitor, page: Page): Promise<Page> {
  return page.status === 303 ? await followed(browser, await browser.get(String(page.headers.location))) : page
}

test('a change of a role is asked for first, and one\'s own with what cannot be undone', async t => {
  const { gateway, path, ann, bob, browser } = await twoAdmins(t)
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
  t.match(await followed(browser, await browser.post(`/dashboard/members/${bob.memberId}/role`, { role: 'viewer' })), {
    status: 200,
    text: /Bob is now viewer/
  })
  t.match(
    (await browser.get(`/dashboard/members/${bob.memberId}/role`)).text,
    /Make Bob admin\? bob@example\.org will manage keys, people and tokens\./
  )

  t.match((await browser.get(`/dashboard/members/${ann.memberId}/role`)).text, /You cannot make yourself admin again/)
  t.match(
    (await followed(browser, await browser.post(`/dashboard/members/${ann.memberId}/role`, { role: 'viewer' }))).text,
    /You are now viewer\. Sign in again\. Sign in/
  )
  browser.cookies.set('clinigate-session', await newSession(gateway, ann.memberId))
  t.match(await browser.get(`/dashboard/members/${bob.memberId}/role`), { status: 403 }, 'a viewer is not asked')
})

test('whoever removes themselves is told so, and not that a session ended', async t => {
  const { path, ann, browser } = await twoAdmins(t)
  t.match((await browser.get(`/dashboard/members/${ann.memberId}/remove`)).text, /This is you\./)
  const end = await followed(browser, await browser.post(`/dashboard/members/${ann.memberId}/remove`))
  t.match(end.text, /You are no longer a member\./)
  t.notMatch(end.text, /session has ended/)
  t.match(await browser.get(path), { status: 303 })
})
