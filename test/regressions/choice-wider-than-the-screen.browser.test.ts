import { test } from 'tap'
import { startBrowser } from '../harness/browser.js'
import { startGateway } from '../harness/gateway.js'

test('the choice of an organization fits into a phone, however long a name is', { timeout: 300_000 }, async t => {
  const gateway = await startGateway(t)
  for (const name of ['W'.repeat(200), 'Clinic']) {
    const { tenantId } = await gateway.control.organizations.create({ name, plan: 'pro' }, 'test')
    const { token } = await gateway.control.invitations.create(
      { tenantId, email: 'ann@example.org', role: 'viewer' },
      'test'
    )
    await gateway.control.invitations.accept(token, { name: 'Ann', password: 'a sentence for a test' })
  }
  const page = await (await startBrowser(t)).newPage({ viewport: { width: 390, height: 844 } })
  page.setDefaultTimeout(30_000)
  await page.goto(`${gateway.url}/dashboard/sign-in`)
  await page.fill('#email', 'ann@example.org')
  await page.fill('#password', 'a sentence for a test')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Clinic' }).waitFor()
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  await page.getByRole('button', { name: 'WWW' }).click()
  await page.waitForURL('**/organizations/**')
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
})
