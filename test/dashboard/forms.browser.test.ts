import { EventEmitter, once } from 'node:events'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { createIdempotencyToken } from '../../src/control-plane/store/context.js'
import { startBrowser } from '../harness/browser.js'
import { createSignedInVisitor } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'

const timeout = 300_000

t.test('after going back from what a form created, the form creates another one', { timeout }, async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  // As people's browsers do, which keep a page as it was left.
  const context = await (await startBrowser(t, { ignoreDefaultArgs: ['--disable-back-forward-cache'] })).newContext()
  const { cookies } = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
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
  await waitUntil(async () => await page.inputValue('[name=once]', { timeout: 1_000 }).catch(() => once) !== once)
  await page.fill('#name', 'Second')
  await page.getByRole('button', { name: 'key' }).click()
  await page.waitForSelector('h1:not(:text-is("New key"))')
  t.equal(await page.locator('h1').textContent(), 'Key “Second” created')
  t.match(await page.locator('.secret code').first().textContent(), /^svc_test_/)
  t.same((await gateway.control.keys.list(tenantId)).map(({ name }) => name), ['First', 'Second'])
})

t.test('the choice of an organization fits into a phone, however long a name is', { timeout: 300_000 }, async t => {
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

async function open (
  t: Test,
  options: { readonly timezoneId?: string; readonly locale?: string } = {}
) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const context = await (await startBrowser(t)).newContext(options)
  const { cookies } = await createSignedInVisitor(gateway, { role: 'admin', tenantId })
  await context.addCookies(
    [...cookies].map(([name, value]) => ({ name, value, url: gateway.url, httpOnly: true, sameSite: 'Lax' }))
  )
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  return { gateway, tenantId, page }
}

t.test(
  'a long name without a space makes no page wider than the screen, and breaks no short word next to it',
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

t.test(
  'a second click on a button does not replace the first response, which shows a secret once',
  { timeout },
  async t => {
    const { gateway, tenantId, page } = await open(t)
    await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys/new`)
    await page.fill('#name', 'Pressed twice')
    // The response is held back, as on a slow network, until the second click.
    const presses = new EventEmitter()
    const [responded, pressedTwice] = [once(presses, 'answered'), once(presses, 'twice')]
    await page.route('**/keys/new', async route => {
      const response = await route.fetch()
      presses.emit('answered')
      await pressedTwice
      // The browser no longer waits for the request that another one replaced.
      await route.fulfill({ response }).catch(() => {})
    })
    const button = page.getByRole('button', { name: 'key' })
    await button.focus()
    // As the keyboard does: a click waits for the response.
    await page.keyboard.press('Enter')
    await responded
    await page.keyboard.press('Enter')
    presses.emit('twice')
    await page.waitForSelector('h1:not(:text-is("New key"))')
    t.match(await page.locator('.secret code').first().textContent(), /^svc_test_\w{49}$/)
    t.equal((await gateway.control.keys.list(tenantId)).length, 1)
  }
)

t.test('a time names its zone, in the language of the page', { timeout }, async t => {
  const { gateway, tenantId, page } = await open(t, { timezoneId: 'Asia/Kolkata', locale: 'de-DE' })
  await gateway.createKey({ tenantId })
  await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys`)
  t.match(await page.locator('td time').first().textContent(), /^\d{1,2} [A-Z][a-z]{2,3} \d{4}, \d\d:\d\d GMT\+5:30$/)
})

t.test('messages of success and of errors get the focus, so that a screen reader reads them', { timeout }, async t => {
  const { gateway, tenantId, page } = await open(t)
  /** A browser gives the focus some time after the page is there. */
  const isFocused = async (what: RegExp) => {
    await waitUntil(async () =>
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

t.test('both checkboxes of a resource are on one line on a phone', { timeout }, async t => {
  const { gateway, tenantId, page } = await openSession(t)
  await setSessionCookies(page, gateway, 'admin', tenantId)
  await page.setViewportSize({ width: 360, height: 800 })
  await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}/keys/new`)
  await page.check('[name=scopes][value=chosen]')
  const tops = await page.$$eval('.resource-scopes li', items => items.map(item =>
    new Set([...item.querySelectorAll('input')].map(box => box.getBoundingClientRect().top)).size))
  t.ok(tops.length > 60)
  t.same(new Set(tops), new Set([1]))
})

async function openSession (t: Test) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const page = await (await startBrowser(t)).newPage()
  page.setDefaultTimeout(30_000)
  return { gateway, tenantId, page }
}

async function setSessionCookies (
  page: Page, gateway: TestGateway, role: 'admin' | 'operator', tenantId?: string
): Promise<void> {
  const { cookies } = await createSignedInVisitor(gateway, { role, ...(role === 'admin' ? { tenantId } : {}) })
  await page
    .context()
    .addCookies(
      [...cookies].map(([name, value]) => ({ name, value, url: gateway.url, httpOnly: true, sameSite: 'Lax' }))
    )
}

/**
 * Resolves when the element with such an attribute has the focus, which a browser gives some time after the page is
 * there or a key was pressed.
 */
async function waitForFocus (page: Page, attribute: 'id' | 'name' | 'role', value: string): Promise<void> {
  await waitUntil(async () => await page.evaluate(`document.activeElement.${attribute}`) === value)
}

/** Sends the last form of a page as a browser does that checks nothing itself. */
async function sendUnchecked (page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`#${name}`, value)
  await page.evaluate('for (const form of document.forms) form.noValidate = true')
  await page.locator('main form button[type=submit]').last().click()
  await page.waitForSelector('[role=alert]')
}

t.test('the errors of a form are at the top of its page, link to the field, and are read out with it', { timeout }, async t => {
  const { gateway, tenantId, page } = await openSession(t)
  const { keyId } = await gateway.createKey({ tenantId })
  await setSessionCookies(page, gateway, 'admin', tenantId)
  const own = `organizations/${tenantId}`
  const refused: ReadonlyArray<{
    readonly path: string
    readonly fields: Readonly<Record<string, string>>
    readonly wrong: string
  }> = [
    { path: `${own}/keys/new`, fields: { name: ' ' }, wrong: 'name' },
    { path: `${own}/keys/new`, fields: { name: 'Intake form', lastDay: '2020-01-31' }, wrong: 'lastDay' },
    { path: `keys/${keyId}`, fields: { lastDay: '' }, wrong: 'lastDay' },
    { path: `${own}/members`, fields: { email: 'ann@clinic' }, wrong: 'email' },
    { path: `${own}/members`, fields: { email: 'admin@example.org' }, wrong: 'email' },
    { path: `${own}/tokens`, fields: { name: 'deployment', lastDay: '2020-01-31' }, wrong: 'lastDay' }
  ]
  for (const { path, fields, wrong } of refused) {
    await page.goto(`${gateway.url}/dashboard/${path}`)
    await sendUnchecked(page, fields)
    const message = await page.locator('[role=alert]').textContent()
    await waitForFocus(page, 'role', 'alert')
    t.pass(`${path}: the focus is on what went wrong`)
    t.match(await page.title(), /^Error: /)
    t.same(await page.locator('[aria-invalid=true]').evaluateAll(fields => fields.map(({ id }) => id)), [wrong])
    const described = (await page.locator(`#${wrong}`).getAttribute('aria-describedby') ?? '').split(' ')
    t.equal(await page.locator(`#${described[0]}`).textContent(), message, 'the field is described by it')
    for (const id of described) t.equal(await page.locator(`[id="${id}"]`).count(), 1)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await waitForFocus(page, 'id', wrong)
    t.pass('its link leads to the field')
  }
})

t.test(
  'rejected settings, names and passwords are marked as errors too, and so is a choice that is no longer offered',
  { timeout },
  async t => {
    const { gateway, tenantId, page } = await openSession(t)
    await setSessionCookies(page, gateway, 'operator')
    await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}`)
    await sendUnchecked(page, { datastore: 'no such name' })
    t.same(await page.locator('[aria-invalid=true]').evaluateAll(fields => fields.map(({ id }) => id)), ['datastore'])
    await page.goto(`${gateway.url}/dashboard/organizations/new`)
    await page.fill('#name', 'Clinic')
    await page
      .locator('[name=plan]')
      .first()
      .evaluate(radio => {
        Object.assign(radio, { value: 'gone', checked: true })
      })
    await page.locator('main form button[type=submit]').click()
    await page.waitForSelector('[role=alert]')
    await page.locator('[role=alert] a').click()
    await waitForFocus(page, 'name', 'plan')
    t.equal(await page.locator('fieldset').getAttribute('aria-describedby'), 'plan-trouble')
    const { token } = await gateway.control.invitations.create(
      { tenantId, email: 'ann@example.org', role: 'viewer', once: createIdempotencyToken() },
      'test'
    )
    await page.context().clearCookies()
    await page.goto(`${gateway.url}/dashboard/invitations/${token}`)
    await sendUnchecked(page, { name: 'Ann', password: 'short' })
    t.same(await page.locator('[aria-invalid=true]').evaluateAll(fields => fields.map(({ id }) => id)), ['password'])
    await page.fill('#password', 'a sentence for a test')
    await page.locator('main form button[type=submit]').click()
    await page.waitForSelector('main > [role=status]')
    await page.goto(`${gateway.url}/dashboard/password`)
    const passwords = {
      current: 'a sentence for a test',
      wanted: 'another sentence here',
      again: 'another sentence here'
    }
    for (const [wrong, value] of [
      ['current', 'not my own password'],
      ['wanted', 'short'],
      ['again', 'a third sentence here']
    ] as const) {
      await sendUnchecked(page, { ...passwords, ...(wrong === 'wanted' ? { again: value } : {}), [wrong]: value })
      t.same(await page.locator('[aria-invalid=true]').evaluateAll(fields => fields.map(({ id }) => id)), [wrong])
      await page.goto(`${gateway.url}/dashboard/password`)
    }
  }
)
