import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type LaunchOptions } from 'playwright-core'
import type { Test } from 'tap'

/**
 * The browser of this machine, closed with the test; a file that needs it is named `*.browser.test.ts`. Throws when
 * there is none: such a test never passes without.
 */
export async function startBrowser (t: Test, { args = [], ...options }: Pick<LaunchOptions, 'args' | 'ignoreDefaultArgs'> = {}): Promise<Browser> {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'chromium'))
    .find(existsSync)
  if (found === undefined) {
    throw new Error(
      'no chromium on the PATH: install it (apt-get install chromium), or leave the browser tests out with npm run test:fast'
    )
  }
  const browser = await chromium.launch({
    ...options,
    executablePath: found,
    args: [...args, ...process.getuid?.() === 0 ? ['--no-sandbox'] : []]
  })
  t.after(() => browser.close())
  return browser
}
