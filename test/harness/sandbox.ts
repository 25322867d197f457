import type { Test } from 'tap'
import type { ServerBehaviour } from '../../src/sandbox/server-behaviour.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'

/** A sandbox in memory, which closes itself with the test. */
export async function startTestSandbox (
  t: Pick<Test, 'teardown'>,
  manners: Partial<ServerBehaviour> = {}
): ReturnType<typeof startSandbox> {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date(), manners })
  // Not `after`: only `teardown` lets a file end whose tests stand at its top.
  t.teardown(() => sandbox.close())
  return sandbox
}
