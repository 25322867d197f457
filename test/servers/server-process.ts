/** A FHIR server of another project, as a child process on loopback with a database of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

const startLimitMs = 120_000
const stopLimitMs = 20_000

/** A running server: its FHIR base URL, and its end. */
export interface RunningServer { readonly url: string, readonly stop: () => Promise<void> }

interface ServerProcess {
  readonly name: string
  readonly command: readonly [program: string, ...args: string[]]
  /** Its working directory with all its files, which is deleted when it has ended. */
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
  /** The FHIR base URL at which it will serve. */
  readonly url: string
}

/**
 * Starts a server and waits until it serves.
 * @throws {Error} when it does not come up; no process is left then
 */
export async function startServer (
  { name, command: [program, ...args], folder, environment = {}, url }: ServerProcess
): Promise<RunningServer> {
  const server = spawn(program, args, {
    cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...environment }
  })
  let errorOutput = ''
  server.stderr.on('data', text => { errorOutput = (errorOutput + text).slice(-4_000) })
  const ended = once(server, 'close')
  const stop = async (): Promise<void> => {
    await end(server, ended)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await waitUntilServing({ name, url }, ended)
    return { url, stop }
  } catch (error) {
    await stop()
    throw new Error(`${(error as Error).message}: ${errorOutput}`, { cause: error })
  }
}

async function waitUntilServing (
  { name, url }: Pick<ServerProcess, 'name' | 'url'>, ended: Promise<unknown>
): Promise<void> {
  const over = ended.then(() => true)
  for (const deadlineMs = performance.now() + startLimitMs; performance.now() < deadlineMs;) {
    const response = await fetch(`${url}/metadata`).catch(() => undefined)
    if (response?.ok) return
    if (await Promise.race([over, setTimeout(100, false)])) throw new Error(`${name} ended before it served`)
  }
  throw new Error(`${name} did not come up in ${startLimitMs / 1000} s`)
}

async function end (server: ChildProcess, ended: Promise<unknown>): Promise<void> {
  server.kill('SIGTERM')
  const hasTimedOut = await Promise.race([ended.then(() => false), setTimeout(stopLimitMs, true, { ref: false })])
  if (hasTimedOut) server.kill('SIGKILL')
  await ended
}
