import { test } from 'tap'
import { createSession } from '../harness/dashboard.js'
import { startBrowser } from '../harness/browser.js'
import { startGateway } from '../harness/gateway.js'
import { checkAppearance, openWindow } from '../harness/screenshots.js'

test('the pages around the sign-in look right narrow and wide, light and dark, and work without a mouse', async t => {
  const gateway = await startGateway(t, {
    config: {
      dashboard: { oidc: { issuer: 'http://127.0.0.1:9', clientId: 'clinigate', label: 'Sign in with the clinic' } }
    }
  })
  const { page, complaints } = await openWindow(await startBrowser(t))
  const { password } = (await gateway.control.members.createFirstOperator('operator@clinigate.local', 'test'))!
  const dashboardUrl = (path: string) => `${gateway.url}/dashboard${path}`

  await page.goto(dashboardUrl(''))
  t.equal(new URL(page.url()).pathname, '/dashboard/sign-in', 'a stranger is led to the sign-in')
  await checkAppearance(t, page, 'sign-in')

  await page.focus('#email')
  await page.keyboard.type('operator@clinigate.local')
  await page.keyboard.press('Tab')
  await page.keyboard.type('not the password')
  await page.keyboard.press('Enter')
  await page.waitForSelector('[role=alert]')
  t.equal(await page.inputValue('#email'), 'operator@clinigate.local', 'what was typed is still there')
  t.equal(await page.inputValue('#password'), '', 'but never a password')
  await checkAppearance(t, page, 'sign-in-refused')

  await page.fill('#password', password)
  await page.keyboard.press('Enter')
  await page.waitForURL(dashboardUrl('/password'))
  await checkAppearance(t, page, 'password')
  await page.fill('#current', password)
  await page.fill('#wanted', 'a sentence that only I know')
  await page.fill('#again', 'a sentence that only I know')
  await page.keyboard.press('Enter')
  await page.waitForSelector('main > [role=status]')
  await createSession(gateway, (await gateway.control.members.list())[0]!.memberId)
  await page.goto(dashboardUrl('/account'))
  t.equal(await page.locator('text=This browser').count(), 1)
  const times = await page.locator('time').first().getAttribute('title')
  t.match(times, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]* UTC$/, 'the exact time is on hover')
  await checkAppearance(t, page, 'account')
  await page.click('text=Change name')
  await page.waitForURL(dashboardUrl('/account/name'))
  await checkAppearance(t, page, 'account-name')
  await page.fill('#name', 'Ada Byron')
  await page.keyboard.press('Enter')
  await page.waitForURL(dashboardUrl('/account'))
  t.match(await page.textContent('header'), 'Ada Byron')
  await page.goto(dashboardUrl('/nothing-here'))
  await checkAppearance(t, page, 'not-found')

  await page.click('text=Sign out')
  await page.waitForURL(dashboardUrl('/sign-in'))
  await checkAppearance(t, page, 'signed-out')

  const tenantId = await gateway.createOrganization()
  const { token } = await gateway.control.invitations.create(
    { tenantId, email: 'ann@example.org', role: 'viewer' },
    'test'
  )
  await page.goto(dashboardUrl(`/invitations/${token}`))
  await checkAppearance(t, page, 'invitation')
  await page.goto(dashboardUrl('/oidc/start'))
  await checkAppearance(t, page, 'provider-down')

  const both = { email: 'bob@example.org', password: 'a sentence that only I know' }
  for (const name of ['North', 'South']) {
    const { tenantId } = await gateway.control.organizations.create({ name, plan: 'pro' }, 'test')
    const { token } = await gateway.control.invitations.create({ tenantId, email: both.email, role: 'admin' }, 'test')
    await gateway.control.invitations.accept(token, { name: 'Bob', password: both.password })
  }
  await page.goto(dashboardUrl('/sign-in'))
  await page.fill('#email', both.email)
  await page.fill('#password', both.password)
  await page.keyboard.press('Enter')
  await page.waitForURL(dashboardUrl('/choose-organization**'))
  await checkAppearance(t, page, 'choose-organization')
  await page.getByRole('button', { name: 'South' }).click()
  await page.waitForURL(dashboardUrl('/organizations/**'))
  t.match(await page.textContent('nav'), 'Keys')
  t.same(complaints, [])
})
