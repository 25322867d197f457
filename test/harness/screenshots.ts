import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** The folder of the screenshots. */
const pictures = join(import.meta.dirname, '..', '..', '.tap', 'screenshots')

/** The narrowest is that of WCAG 2.2, 1.4.10: a window of 1280 pixels at 400 %. */
const widths = [320, 1440]
const schemes = ['light', 'dark'] as const

/** A browser window, and the problems of its pages: violations of their policy and errors of their script. */
export async function openWindow (
  browser: Browser
): Promise<{ readonly page: Page; readonly complaints: readonly string[] }> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  const complaints: string[] = []
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => {
    if (/Content Security Policy/i.test(message.text())) complaints.push(message.text())
  })
  return { page, complaints }
}

/**
 * Looks at a page as people see it: keeps pictures narrow and wide, light and dark; nothing sticks out, and axe finds
 * nothing serious.
 */
export async function checkAppearance (t: Test, page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true })
  for (const width of widths) {
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 900 })
      await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true })
      t.ok(
        await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'),
        `${name} fits into ${width} px`
      )
      t.same(await findSeriousViolations(page), [], `${name}, ${width} px, ${colorScheme}: axe finds nothing serious`)
    }
  }
}

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

async function findSeriousViolations (page: Page): Promise<string[]> {
  // As the browser's own command and not as a script of the page.
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate('axe.run(document)') as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact !== 'minor')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
