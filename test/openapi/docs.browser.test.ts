import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { startBrowser } from '../harness/browser.js'
import { startGateway } from '../harness/gateway.js'

/** The requests of a page, and its complaints. */
function watch (page: Page) {
  const requests: string[] = []
  const complaints: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()) })
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('requestfailed', request => complaints.push(`failed: ${request.url()}`))
  return { requests, complaints }
}

t.test(
  '/docs shows every resource in a browser, loads from no other host and can send a request',
  { timeout: 300_000 },
  async t => {
    const { url, createKey } = await startGateway(t)
    const { secret } = await createKey()
    const browser = await startBrowser(t)
    const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } })
    page.setDefaultTimeout(90_000)
    const { requests, complaints } = watch(page)
    await page.goto(`${url}/docs`)
    await page.locator('.opblock-tag-section').first().waitFor()
    const tags = (await page.evaluate(
      '[...document.querySelectorAll(".opblock-tag")].map(tag => tag.dataset.tag)'
    )) as string[]
    t.strictSame(tags.sort(), [...mappings.map(({ path }) => path), 'bulk', 'service', 'webhooks'].sort())

    const patients = page.locator('.opblock-tag[data-tag="patients"]')
    const example = patients.locator('pre')
    t.equal(await example.first().isVisible(), false, 'a closed resource shows one sentence')
    await patients.locator('a').click()
    await example.first().waitFor({ state: 'visible' })
    t.match(await example.allInnerTexts(), [/"firstName": "Ada"/, /"resourceType": "Patient"/])
    const [simple, fhir] = await Promise.all([example.nth(0).boundingBox(), example.nth(1).boundingBox()])
    t.ok(
      simple!.y === fhir!.y && simple!.x + simple!.width <= fhir!.x,
      'the simple form stands beside the FHIR that it becomes'
    )
    await example.first().click()
    t.equal(await example.first().isVisible(), true, 'a click into an example does not close it')

    await page.getByRole('button', { name: 'Authorize' }).click()
    const form = page.locator('form').filter({ has: page.locator('#api_key_value') })
    await form.locator('#api_key_value').fill(secret)
    await form.locator('.authorize').click()
    await page.locator('.btn-done').first().click()
    const create = page.locator('#operations-patients-createPatient')
    await create.locator('.opblock-summary-control').click()
    await create.getByRole('button', { name: 'Try it out' }).click()
    await create.getByRole('button', { name: 'Execute' }).click()
    const response = create.locator('.live-responses-table .response')
    await response.waitFor()
    t.match(await response.innerText(), /^201[^]*"firstName": "Ada"/)

    const picture = join(tmpdir(), 'clinigate-docs.png')
    await page.screenshot({ path: picture })
    t.comment(`screenshot: ${picture}`)
    t.strictSame(
      requests.filter(request => !request.startsWith(`${url}/`) && !request.startsWith('data:')),
      [],
      'no request to another host'
    )
    t.strictSame(complaints, [], 'no complaint in the console')
    t.equal(await page.evaluate('localStorage.length'), 0, 'the key is not kept')
  }
)
