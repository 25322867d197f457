import { EventEmitter, once } from 'node:events'
import { test } from 'tap'
import { startBrowser } from '../harness/browser.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

const timeout = 300_000

async function open (
  t: Parameters<typeof startGateway>[0],
  options: { readonly timezoneId?: string; readonly locale?: string } = {}
) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const context = await (await startBrowser(t)).newContext(options)
  const { cookies } = await signedIn(gateway, { role: 'admin', tenantId })
  await context.addCookies(
    [...cookies].map(([name, value]) => ({ name, value, url: gateway.url, httpOnly: true, sameSite: 'Lax' }))
  )
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  return { gateway, tenantId, page }
}

test(
  'a name without a space makes no page wider than the screen, and breaks no short word beside it',
  { timeout },
  async t => {
    const { gateway, tenantId, page } = await open(t)
    const { keyId } = await gateway.control.keys.create({ tenantId, name: 'x'.repeat(200), mode: 'test' }, 'test')
    await gateway.control.tokens.create({ tenantId, name: 'x'.repeat(200), role: 'viewer' }, 'member:ann@example.org')
    for (const width of [360, 640, 1280]) {
      await page.setViewportSize({ width, height: 900 })
      for (const path of [
        `keys/${keyId}`,
        `keys/${keyId}/revoke`,
        `organizations/${tenantId}/keys`,
        `organizations/${tenantId}/tokens`
      ]) {
        await page.goto(`${gateway.url}/dashboard/${path}`)
        t.equal(await page.evaluate('document.documentElement.scrollWidth'), width, `${path} at ${width} px`)
      }
      t.equal(
        await page.evaluate('document.querySelector("td a").getClientRects().length'),
        1,
        `Revoke stands on one line at ${width} px`
      )
    }
  }
)

test(
  'the second press of a button does not take the place of the first, whose answer shows a secret once',
  { timeout },
  async t => {
    const { gateway, tenantId, page } = await open(t)
    await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys/new`)
    await page.fill('#name', 'Pressed twice')
    // The answer is held back, as on a slow network, until the second press was made.
    const presses = new EventEmitter()
    const [answered, pressedTwice] = [once(presses, 'answered'), once(presses, 'twice')]
    await page.route('**/keys/new', async route => {
      const response = await route.fetch()
      presses.emit('answered')
      await pressedTwice
      // The browser no longer waits for the one that another took the place of.
      await route.fulfill({ response }).catch(() => {})
    })
    const button = page.getByRole('button', { name: 'key' })
    await button.focus()
    // As the keyboard does: a click waits for the answer.
    await page.keyboard.press('Enter')
    await answered
    await page.keyboard.press('Enter')
    presses.emit('twice')
    await page.waitForSelector('h1:not(:text-is("New key"))')
    t.match(await page.locator('.secret code').first().textContent(), /^svc_test_\w{49}$/)
    t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  }
)

test('a time names its zone, in the language of the page', { timeout }, async t => {
  const { gateway, tenantId, page } = await open(t, { timezoneId: 'Asia/Kolkata', locale: 'de-DE' })
  await gateway.createKey({ tenantId })
  await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys`)
  t.match(await page.locator('td time').first().textContent(), /^\d{1,2} [A-Z][a-z]{2,3} \d{4}, \d\d:\d\d GMT\+5:30$/)
})

test('what was done and what went wrong get the focus, so that a screen reader says it', { timeout }, async t => {
  const { gateway, tenantId, page } = await open(t)
  /** A browser gives the focus some time after the page is there. */
  const isFocused = async (what: RegExp) => {
    await until(async () =>
      what.test(await page.evaluate('[document.activeElement.role, document.activeElement.textContent].join(": ")'))
    )
    t.pass(`the focus is on ${what}`)
  }
  await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys/new`)
  await page.fill('#name', ' ')
  await page.getByRole('button', { name: 'key' }).click()
  await isFocused(/^alert: A name must have 1 to 200 characters/)
  await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}`)
  await page.getByText('Switch overage off').click()
  await isFocused(/^status: Overage is off\.$/)
})
