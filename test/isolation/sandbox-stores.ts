import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ServerBehaviour } from '../../src/sandbox/server-behaviour.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import type { Stores } from './attack-world.js'
import { handOverInSandbox } from './failover.js'

/** Two sandboxes for an attack, one of them on a file that can be tampered with. */
export async function startSandboxStores (
  t: Pick<Test, 'after'>, behaviour: Partial<ServerBehaviour> = {}
): Promise<Stores> {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-attacks-'))
  const file = join(folder, 'sandbox.db')
  const [test, live] = [
    await startSandbox({ file, now: () => new Date(), behaviour }),
    await startSandbox({ file: ':memory:', now: () => new Date() })
  ]
  t.after(async () => {
    await Promise.all([test.close(), live.close()])
    rmSync(folder, { recursive: true })
  })
  return { kind: 'sandbox', testUrl: test.url, liveUrl: live.url, handOver: handOverInSandbox(file) }
}
