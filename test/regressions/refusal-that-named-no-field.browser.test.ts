import type { Page } from 'playwright-core'
import { test } from 'tap'
import { newIdempotencyToken } from '../../src/control-plane/store/context.js'
import { startBrowser } from '../harness/browser.js'
import { signedIn } from '../harness/dashboard.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

const timeout = 300_000

async function open (t: Parameters<typeof startGateway>[0]) {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const page = await (await startBrowser(t)).newPage()
  page.setDefaultTimeout(30_000)
  return { gateway, tenantId, page }
}

async function comeIn (page: Page, gateway: TestGateway, role: 'admin' | 'operator', tenantId?: string): Promise<void> {
  const { cookies } = await signedIn(gateway, { role, ...(role === 'admin' ? { tenantId } : {}) })
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
async function focused (page: Page, attribute: 'id' | 'name' | 'role', value: string): Promise<void> {
  await until(async () => await page.evaluate(`document.activeElement.${attribute}`) === value)
}

/** Sends the last form of a page as a browser does that checks nothing itself. */
async function sendUnchecked (page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`#${name}`, value)
  await page.evaluate('for (const form of document.forms) form.noValidate = true')
  await page.locator('main form button[type=submit]').last().click()
  await page.waitForSelector('[role=alert]')
}

test('what is wrong with a form begins its page, leads to the field, and is read out with it', { timeout }, async t => {
  const { gateway, tenantId, page } = await open(t)
  const { keyId } = await gateway.createKey({ tenantId })
  await comeIn(page, gateway, 'admin', tenantId)
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
    await focused(page, 'role', 'alert')
    t.pass(`${path}: the focus is on what went wrong`)
    t.match(await page.title(), /^Error: /)
    t.same(await page.locator('[aria-invalid=true]').evaluateAll(fields => fields.map(({ id }) => id)), [wrong])
    const described = (await page.locator(`#${wrong}`).getAttribute('aria-describedby') ?? '').split(' ')
    t.equal(await page.locator(`#${described[0]}`).textContent(), message, 'the field is described by it')
    for (const id of described) t.equal(await page.locator(`[id="${id}"]`).count(), 1)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await focused(page, 'id', wrong)
    t.pass('its link leads to the field')
  }
})

test(
  'settings, names and passwords that are refused are marked as well, and so is a choice that is no longer offered',
  { timeout },
  async t => {
    const { gateway, tenantId, page } = await open(t)
    await comeIn(page, gateway, 'operator')
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
    await focused(page, 'name', 'plan')
    t.equal(await page.locator('fieldset').getAttribute('aria-describedby'), 'plan-trouble')
    const { token } = await gateway.control.invitations.create(
      { tenantId, email: 'ann@example.org', role: 'viewer', once: newIdempotencyToken() },
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
