import type { Test } from 'tap'
import type { Manners } from '../../src/sandbox/manners.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'

/** A sandbox in memory, which closes itself with the test. */
export async function startTestSandbox (t: Pick<Test, 'after'>, manners: Partial<Manners> = {}): ReturnType<typeof startSandbox> {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date(), manners })
  t.after(() => sandbox.close())
  return sandbox
}
