import type { Page } from 'playwright-core'
import { test, type Test } from 'tap'
import { startBrowser } from '../harness/browser.js'
import { createSignedInVisitor, type SignInOptions } from '../harness/dashboard.js'
import { listDashboardRoutes } from '../harness/dashboard-routes.js'
import { setScene, type TestClock } from '../harness/dashboard-scene.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'
import { checkAppearance, openWindow } from '../harness/screenshots.js'

const timeout = 600_000

async function setSessionCookies (page: Page, gateway: TestGateway, request: SignInOptions): Promise<void> {
  const { cookies } = await createSignedInVisitor(gateway, request)
  await page
    .context()
    .addCookies(
      [...cookies].map(([name, value]) => ({ name, value, url: gateway.url, httpOnly: true, sameSite: 'Lax' }))
    )
}

test('every page looks right when there is much to show', { timeout }, async t => {
  const { gateway, scene } = await createScene(t)
  const { page, complaints } = await openWindow(await startBrowser(t))
  await setSessionCookies(page, gateway, { role: 'operator', name: 'Ada Byron' })
  const gets = (await listDashboardRoutes(gateway.control)).filter(
    ({ method, path }) =>
      method === 'GET' &&
      !/assets|sign-in|choose|account|:token|\/password$|\/bill$|oidc/.test(path.replace('/:memberId/password', ''))
  )
  t.ok(gets.length >= 20)
  for (const { path } of gets) {
    await page.goto(gateway.url + path.replace(/:(\w+)/g, (_, name: keyof typeof scene) => scene[name]))
    await checkAppearance(t, page, getPageName(path))
  }
  await page.goto(`${gateway.url}/dashboard/keys/${scene.revokedKeyId}/propagation`)
  await checkAppearance(t, page, 'key-revoked-reach')
  t.same(complaints, [])
})

test('every page looks right when there is nothing to show yet, and says what to do next', { timeout }, async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { page, complaints } = await openWindow(await startBrowser(t))
  await setSessionCookies(page, gateway, { role: 'admin', tenantId })
  for (const name of ['', '/keys', '/tokens', '/webhooks', '/usage']) {
    await page.goto(`${gateway.url}/dashboard/organizations/${tenantId}${name}`)
    t.ok(await page.locator('.empty a, .empty ~ section form').count() > 0, `${name} leads on`)
    await checkAppearance(t, page, `empty${name.replace('/', '-') || '-organization'}`)
  }
  t.same(complaints, [])
})

test('every page looks right to a viewer', { timeout }, async t => {
  const { gateway, scene: { tenantId, keyId } } = await createScene(t)
  const { page, complaints } = await openWindow(await startBrowser(t))
  await setSessionCookies(page, gateway, { role: 'viewer', tenantId, name: 'Vera Lind' })
  for (const path of [
    `organizations/${tenantId}`,
    `organizations/${tenantId}/keys`,
    `keys/${keyId}`,
    `organizations/${tenantId}/members`,
    `organizations/${tenantId}/tokens`
  ]) {
    await page.goto(`${gateway.url}/dashboard/${path}`)
    await checkAppearance(
      t,
      page,
      `viewer-${path
        .split('/')
        .at(-1)!
        .replace(/^(org|key)-.*/, '$1')}`
    )
  }
  t.same(complaints, [])
})

test('pages that show a secret once, and those of failed actions, look right', { timeout }, async t => {
  const gateway = await startGateway(t)
  const tenantId = await gateway.createOrganization()
  const { keyId } = await gateway.createKey({ tenantId })
  const { page, complaints } = await openWindow(await startBrowser(t))
  await setSessionCookies(page, gateway, { role: 'operator' })
  const send = async (path: string, fill: () => Promise<unknown>, name: string) => {
    await page.goto(`${gateway.url}/dashboard/${path}`)
    await fill()
    await Promise.all([page.waitForEvent('load'), page.locator('main form button[type=submit]').last().click()])
    await checkAppearance(t, page, name)
  }
  await send(`organizations/${tenantId}/keys/new`, () => page.fill('#name', 'Intake form'), 'key-made')
  await send(`keys/${keyId}/roll`, async () => {}, 'key-rolled')
  await send(`organizations/${tenantId}/members`, () => page.fill('#email', 'ann@example.org'), 'invitation-made')
  await send('tokens', () => page.fill('#name', 'gateway-eu-1'), 'token-made')
  await send(`organizations/${tenantId}/keys/new`, () => page.fill('#name', ' '), 'key-refused')
  t.same(complaints, [])
})

// The size of the text was fixed, and a long state stuck out.
test('a reader whose text has twice the size can read every list', { timeout }, async t => {
  const { gateway, scene } = await createScene(t)
  const { page } = await openWindow(await startBrowser(t, { args: ['--blink-settings=defaultFontSize=32'] }))
  await setSessionCookies(page, gateway, { role: 'operator' })
  for (const width of [640, 1280]) {
    await page.setViewportSize({ width, height: 900 })
    for (const name of ['', '/keys', '/members', '/webhooks', '/usage']) {
      await page.goto(`${gateway.url}/dashboard/organizations/${scene.tenantId}${name}`)
      t.equal(await page.evaluate('getComputedStyle(document.body).fontSize'), '32px')
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'), `${name} at ${width} px`)
    }
  }
})

// All links looked as the current one does, and the legend had no colours.
test('with forced colors the current page, the choice and the legend are distinguishable', { timeout }, async t => {
  const { gateway, scene } = await createScene(t)
  const { page } = await openWindow(await startBrowser(t))
  await setSessionCookies(page, gateway, { role: 'operator' })
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
  await page.goto(`${gateway.url}/dashboard/organizations/${scene.tenantId}/usage`)
  const readStyles = async (selector: string, property: string, part = '') => await page.evaluate(
    `[...new Set([...document.querySelectorAll('${selector}')].map(each => getComputedStyle(each, '${part}')['${property}']))]`
  ) as string[]
  for (const [current, others, property] of [
    ['.organization-bar a[aria-current]', '.organization-bar a:not([aria-current])', 'borderBottomColor'],
    ['.segmented > [aria-current]', '.segmented > :not([aria-current])', 'backgroundColor']
  ] as const) {
    const [one, ...more] = await readStyles(current, property)
    t.ok(one !== undefined && more.length === 0 && !(await readStyles(others, property)).includes(one), current)
  }
  t.equal((await readStyles('.chart-key', 'backgroundColor', '::before')).length, 3)
})

async function createScene (t: Test) {
  const clock: TestClock = { shiftMs: 0 }
  const gateway = await startGateway(t, { now: () => new Date(Date.now() + clock.shiftMs) })
  return { gateway, scene: await setScene(gateway.control, clock) }
}

function getPageName (path: string): string {
  return (
    path
      .replace('/dashboard', '')
      .replace(/\/:\w+/g, '')
      .replaceAll('/', '-')
      .replace(/^-/, '') + (path.endsWith('Id') ? '-one' : '') || 'home'
  )
}
