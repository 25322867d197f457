import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { startBrowser } from '../harness/browser.js'
import { createSession } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { checkAppearance, openWindow } from '../harness/screenshots.js'

const password = 'a sentence for a test'

/** A clinic with two admins, and a window in which the first of them is signed in. */
async function startClinic (t: Test) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const join = async (name: string) => {
    const { token } = await gateway.control.invitations.create(
      { tenantId, email: `${name}@example.org`, role: 'admin' },
      'test'
    )
    return await gateway.control.invitations.accept(token, { name, password })
  }
  const [ann] = [await join('ann'), await join('bob')]
  const { page, complaints } = await openWindow(await startBrowser(t))
  const enter = async () => {
    const session = await createSession(gateway, ann.memberId)
    await page
      .context()
      .addCookies([{ name: 'clinigate-session', value: session, url: gateway.url, httpOnly: true, sameSite: 'Lax' }])
  }
  await enter()
  return {
    gateway,
    ann,
    page,
    complaints,
    enter,
    at: (path: string) => `${gateway.url}/dashboard/${path}`,
    newKey: `organizations/${tenantId}/keys/new`,
    tenantId
  }
}

async function submitKeyForm (page: Page): Promise<void> {
  await page.fill('#name', 'Intake form')
  await page.check('[name=mode][value=live]')
  await page.fill('#lastDay', '2199-12-31')
  await page.press('#name', 'Enter')
}

async function signIn (page: Page, name: string): Promise<void> {
  await page.fill('#email', `${name}@example.org`)
  await page.fill('#password', password)
  await page.press('#password', 'Enter')
}

const readForm = async (page: Page) => [
  await page.inputValue('#name'),
  await page.isChecked('[name=mode][value=live]'),
  await page.inputValue('#lastDay')
]
const readStoredForm = (page: Page) => page.evaluate<string | null>('sessionStorage.getItem("clinigate-typed")')

// A form that was sent after the session had ended led to an empty dashboard, and its input was lost.
t.test('text typed into a form that was sent too late is in it again after the sign-in, for the same member alone', async t => {
  const { gateway, ann, page, complaints, enter, at, newKey, tenantId } = await startClinic(t)
  await page.goto(at(newKey))
  await gateway.control.sessions.endByMember(ann.memberId)
  await submitKeyForm(page)
  await page.waitForURL(at('sign-in?**'))
  t.match(await page.textContent('[role=status]'), 'You were signed out before this was saved. Nothing was changed.')
  await signIn(page, 'ann')
  await page.waitForURL(at(newKey))
  t.match(await page.textContent('main .notice'), 'Not saved yet.')
  t.same(await readForm(page), ['Intake form', true, '2199-12-31'])
  t.equal(await readStoredForm(page), null, 'stored no longer')
  await checkAppearance(t, page, 'typed-again')

  await gateway.control.sessions.endByMember(ann.memberId)
  await submitKeyForm(page)
  await page.waitForURL(at('sign-in?**'))
  await signIn(page, 'bob')
  await page.waitForURL(at(newKey))
  t.same(await readForm(page), ['', false, ''], 'another person at the same browser learns nothing')
  t.equal(await readStoredForm(page), null)

  await enter()
  await page.goto(at(newKey))
  await submitKeyForm(page)
  await page.waitForSelector('[data-secret]')
  t.equal(await readStoredForm(page), null, 'saved text is not stored any longer')
  t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  t.same(complaints, [])
})

t.test('text typed into a form of an earlier session is in it again on the way back from the error', async t => {
  const { page, complaints, enter, at, newKey } = await startClinic(t)
  await page.goto(at(newKey))
  await enter()
  await submitKeyForm(page)
  await page.waitForSelector('text=This form is out of date')
  await page.getByRole('link', { name: 'Back to the form' }).click()
  await page.waitForSelector('text=Not saved yet.')
  t.same(await readForm(page), ['Intake form', true, '2199-12-31'])
  t.same(complaints, [])
})

t.test('a password is never stored', async t => {
  const { gateway, ann, page, at } = await startClinic(t)
  await page.goto(at('password'))
  await gateway.control.sessions.endByMember(ann.memberId)
  for (const field of ['#current', '#wanted', '#again']) await page.fill(field, 'only in my head')
  await page.press('#again', 'Enter')
  await page.waitForURL(at('sign-in?**'))
  t.notMatch(JSON.stringify(await page.evaluate('[{ ...sessionStorage }, { ...localStorage }]')), 'only in my head')
  await signIn(page, 'ann')
  await page.waitForURL(at('password'))
  t.equal(await page.inputValue('#current'), '')
})
