import type { Test } from 'tap'
import type { ServerBehaviour } from '../../src/sandbox/server-behaviour.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'

/** A sandbox in memory, which closes itself with the test. */
export async function startTestSandbox (
  t: Pick<Test, 'teardown'>,
  behaviour: Partial<ServerBehaviour> = {}
): ReturnType<typeof startSandbox> {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date(), behaviour })
  // Not `after`: only `teardown` lets a file end whose tests stand at its top.
  t.teardown(() => sandbox.close())
  return sandbox
}

/** The servers that the suites of simple resources, raw FHIR and exports run on, besides HAPI and one unlike it. */
const servers: Readonly<Record<string, Partial<ServerBehaviour>>> = {
  'on the sandbox': {},
  'on a sandbox that shows references with its base URL': { shownReferences: 'absolute' }
}

/** Runs a suite on each of the servers, given its base URL. */
export async function onEachSandbox (
  t: Test,
  run: (t: Test, url: string) => Promise<void>,
  limitMs?: number
): Promise<void> {
  for (const [name, behaviour] of Object.entries(servers)) {
    await t.test(name, async t => {
      if (limitMs !== undefined) t.setTimeout(limitMs)
      await run(t, (await startTestSandbox(t, behaviour)).url)
    })
  }
}
