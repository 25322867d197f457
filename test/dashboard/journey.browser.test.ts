import type { Page } from 'playwright-core'
import { test, type Test } from 'tap'
import { startBrowser } from '../harness/browser.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { checkAppearance, openWindow } from '../harness/screenshots.js'

/** A user without a mouse: does everything but typing with Tab, arrow keys, the space bar and Enter. */
function createKeyboard (page: Page) {
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let presses = 0; presses < 80; presses++) {
      await page.keyboard.press('Tab')
      if (name.test(await getFocusedName(page))) return
    }
    throw new Error(`no Tab leads to ${name} on ${new URL(page.url()).pathname}`)
  }
  return {
    tabTo,
    type: async (name: RegExp, text: string) => {
      await tabTo(name)
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type(text)
    },
    press: async (name: RegExp) => {
      await tabTo(name)
      const from = page.url()
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
      // The browser gives the focus to what the page says when it first draws it, and complains when a Tab was faster.
      await page.evaluate('new Promise(requestAnimationFrame)')
      return from
    }
  }
}

/** What a screen reader reads for the focused element. */
async function getFocusedName (page: Page): Promise<string> {
  return await page.evaluate(`(() => {
    const one = document.activeElement
    if (one === document.body) return ''
    return one.getAttribute('aria-label') ?? [...one.labels ?? []].map(label => label.textContent).join(' ') + ' ' + one.textContent
  })()`)
}

/** What a page requests from other hosts, logs as a problem or leaves in the browser's storage. */
function watch (page: Page, gateway: TestGateway): () => Promise<unknown> {
  const elsewhere: string[] = []
  const complaints: string[] = []
  page.on('request', request => {
    if (new URL(request.url()).origin !== gateway.url && !request.url().startsWith('data:')) {
      elsewhere.push(request.url())
    }
  })
  page.on('console', message => complaints.push(message.text()))
  page.on('pageerror', error => complaints.push(String(error)))
  return async () => ({
    elsewhere,
    complaints,
    stored: await page.evaluate('[Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]')
  })
}

const nothing = { elsewhere: [], complaints: [], stored: [[], [], ''] }

async function signInFirst (t: Test, page: Page, gateway: TestGateway): Promise<void> {
  const { password } = (await gateway.control.members.createFirstOperator('operator@clinigate.local', 'test'))!
  const { type, press } = createKeyboard(page)
  await page.goto(`${gateway.url}/dashboard`)
  await type(/^Email/, 'operator@clinigate.local')
  await type(/^Password/, password)
  await press(/Sign in/)
  t.equal(new URL(page.url()).pathname, '/dashboard/password', 'the printed password must be changed')
  await type(/current/i, password)
  await type(/^New/i, 'a sentence that only I know')
  await type(/repeat/i, 'a sentence that only I know')
  await press(/Change|Set|Save/)
}

test(
  'the whole journey without a mouse: sign in, make a key, call the API, see the call, roll, revoke, refused',
  { timeout: 300_000 },
  async t => {
    const gateway = await startGateway(t)
    const { page } = await openWindow(await startBrowser(t))
    page.setDefaultTimeout(30_000)
    const seen = watch(page, gateway)
    const { type, press, tabTo } = createKeyboard(page)
    const call = async (secret: string) =>
      (await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': secret } })).status
    const readSecret = async () => (await page.locator('.secret code').first().textContent())!

    await signInFirst(t, page, gateway)
    await press(/Organizations/)
    await press(/New organization/)
    await type(/^Name/, 'Clinic on the Lake')
    await tabTo(/sandbox/)
    await page.keyboard.press('ArrowDown')
    await press(/Create organization/)
    t.equal(
      await page.locator('h2', { hasText: 'No keys yet' }).count(),
      1,
      'the new organization says what to do next'
    )
    await press(/Create a key/)
    await type(/^Name/, 'Intake form')
    await press(/Create key/)
    const first = await readSecret()
    t.match(first, /^svc_test_\w{49}$/)
    await gateway.catchUp()
    t.equal(await call(first), 200, 'the key opens the API')

    await press(/I have copied it/)
    t.notMatch(await page.content(), first)
    const keyPage = page.url()
    // The browser stored no page and wants to send the form again, which Playwright reports as an error.
    await page.goBack().catch(fault => t.match(String(fault), /ERR_CACHE_MISS/))
    await page.waitForFunction('document.readyState === "complete"')
    t.notMatch(await page.content(), first, 'the way back shows no secret')
    await page.goto(keyPage)
    await press(/^ ?Usage/)
    await page.waitForFunction(
      'document.body.textContent.includes("1 request with test keys") || void setTimeout(() => location.reload(), 1500)',
      undefined,
      { polling: 2_000 }
    )
    // So that it is not taken for the end of a later step.
    await page.waitForLoadState('load')
    t.match(
      await page.locator('table[aria-label="Requests by resource"]').innerText(),
      /patients\s+1\s+0\s+0/,
      'the call is in the usage'
    )
    t.match(await page.locator('table[aria-label="Requests by key"]').innerText(), /Intake form/)
    await checkAppearance(t, page, 'journey-usage')

    await press(/Intake form/)
    await press(/^ ?Roll$/)
    await tabTo(/In 24 hours/)
    await page.keyboard.press('ArrowUp')
    await press(/Roll key/)
    const second = await readSecret()
    t.not(second, first)
    await gateway.catchUp()
    t.same([await call(first), await call(second)], [200, 200], 'in the overlap both keys work')

    await press(/I have copied it/)
    await press(/^ ?Revoke$/)
    t.match(await page.locator('main').innerText(), /Revoke “Intake form”\?/)
    await press(/Revoke key/)
    while ((await page.locator('main a', { hasText: 'Refresh' }).count()) > 0) await press(/^ ?Refresh/)
    t.match(
      await page.locator('main').innerText(),
      /in force\s+\d[\d.,]* m?s/,
      'the page says on which gateways it is in force'
    )
    t.equal(await call(second), 401, 'the revoked key is refused')
    await checkAppearance(t, page, 'journey-revoked')
    t.same(
      await seen(),
      nothing,
      'no request to another host, nothing in the console, nothing stored in the browser that a script can read'
    )
  }
)

test(
  'a secret is copied by its button, and neither a reload nor another window shows it again',
  { timeout: 300_000 },
  async t => {
    const gateway = await startGateway(t)
    const browser = await startBrowser(t)
    const { page } = await openWindow(browser)
    page.setDefaultTimeout(30_000)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await signInFirst(t, page, gateway)
    const tenantId = await gateway.createOrganization()
    await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys/new`)
    await page.fill('#name', 'Copied')
    await page.click('text=Create key')
    const secret = (await page.locator('.secret code').first().textContent())!
    await page.getByRole('button', { name: 'Copy the secret' }).click()
    await page.waitForFunction(`navigator.clipboard.readText().then(text => text === ${JSON.stringify(secret)})`)
    t.equal(await page.evaluate('navigator.clipboard.readText()'), secret)
    await page.reload()
    t.match(await page.locator('main').innerText(), /already sent/)
    t.notMatch(await page.content(), secret)
    t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  }
)

test('everything works in a browser without script', { timeout: 300_000 }, async t => {
  const gateway = await startGateway(t)
  const browser = await startBrowser(t)
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const clickAndLoad = async (target: string) => await Promise.all([page.waitForEvent('load'), page.click(target)])
  const { password } = (await gateway.control.members.createFirstOperator('operator@clinigate.local', 'test'))!
  await page.goto(`${gateway.url}/dashboard`)
  await page.fill('#email', 'operator@clinigate.local')
  await page.fill('#password', password)
  await clickAndLoad('button[type=submit]')
  await page.fill('#current', password)
  await page.fill('#wanted', 'a sentence that only I know')
  await page.fill('#again', 'a sentence that only I know')
  await clickAndLoad('main button[type=submit]')
  await page.goto(`${gateway.url}/dashboard/organizations/${await gateway.createOrganization()}/keys/new`)
  await page.fill('#name', 'No script')
  await clickAndLoad('text=Create key')
  const secret = (await page.locator('.secret code').first().textContent())!
  t.equal(await page.getByRole('button', { name: 'Copy the secret' }).count(), 0, 'no button that does nothing')
  await clickAndLoad('text=I have copied it')
  t.match(await page.locator('main time').first().textContent(), /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/)
  await clickAndLoad('text=Revoke')
  await clickAndLoad('text=Revoke key')
  t.match(await page.locator('main').innerText(), /is revoked/)
  t.equal((await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': secret } })).status, 401)
})
