import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { findFreePort } from '../harness/free-port.js'
import { withoutOverloadLimits } from '../sync/control-plane.js'

/** A gateway as a newcomer starts it, with the test key that it printed. */
export interface StartedGateway { readonly url: string, readonly key: string, readonly env: NodeJS.ProcessEnv }

/** The program to start, and where. */
interface Start {
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly cwd: string
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a gateway on a free port with a data directory of its own; both go with the test. */
export async function startProcess (
  t: Test,
  { command: [program, ...args], cwd, environment = {} }: Start
): Promise<StartedGateway> {
  const data = mkdtempSync(join(tmpdir(), 'clinigate-journey-'))
  const port = await findFreePort()
  const env = { ...process.env, ...withoutOverloadLimits(t, environment), CLINIGATE_DATA: data, PORT: String(port) }
  // A process group of its own, since the command may have started the gateway.
  const child = spawn(program!, args, { cwd, env, stdio: ['ignore', 'pipe', 'ignore'], detached: true })
  t.after(async () => {
    await stop(child)
    rmSync(data, { recursive: true, force: true })
  })
  return { url: `http://127.0.0.1:${port}`, key: await readPrintedKey(child), env }
}

async function readPrintedKey (child: ChildProcess): Promise<string> {
  let printed = ''
  for await (const chunk of child.stdout!) {
    printed += String(chunk)
    const key = /svc_test_\w+/.exec(printed)?.[0]
    if (key !== undefined) return key
  }
  throw new Error('the gateway ended without printing a key')
}

async function stop (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  process.kill(-child.pid!, 'SIGTERM')
  await once(child, 'exit')
}
