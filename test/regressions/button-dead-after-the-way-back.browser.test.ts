import { test } from 'tap'
import { startBrowser } from '../harness/browser.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

const timeout = 300_000

test('on the way back from what a form made, the form makes another one', { timeout }, async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  // As people's browsers do, which keep a page as it was left.
  const context = await (await startBrowser(t, { ignoreDefaultArgs: ['--disable-back-forward-cache'] })).newContext()
  const { cookies } = await signedIn(gateway, { role: 'admin', tenantId })
  await context.addCookies(
    [...cookies].map(([name, value]) => ({ name, value, url: gateway.url, httpOnly: true, sameSite: 'Lax' }))
  )
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys/new`)
  const once = await page.inputValue('[name=once]')
  await page.fill('#name', 'First')
  await page.getByRole('button', { name: 'key' }).click()
  await page.waitForSelector('.secret')
  // Nothing is loaded on this way, which Playwright would wait for.
  await page.evaluate('history.back()').catch(() => {})
  await until(async () => await page.inputValue('[name=once]', { timeout: 1_000 }).catch(() => once) !== once)
  await page.fill('#name', 'Second')
  await page.getByRole('button', { name: 'key' }).click()
  await page.waitForSelector('h1:not(:text-is("New key"))')
  t.equal(await page.locator('h1').textContent(), 'Key “Second” created')
  t.match(await page.locator('.secret code').first().textContent(), /^svc_test_/)
  t.same((await gateway.control.keys.list(tenantId)).map(({ name }) => name), ['First', 'Second'])
})
