import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Test } from 'tap'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import { buildMain, getProcessEnvironment } from '../harness/built.js'
import { findFreePort } from '../harness/free-port.js'
import { waitUntil } from '../harness/until.js'
import { withoutOverloadLimits, createTemporaryDirectory } from './control-plane.js'

const main = buildMain()

/** A process as an operator starts it; it ends with the test. */
export interface Running {
  readonly url: string
  readonly data: string
  /** Its output, and its log. */
  readonly output: { out: string, err: string }
  readonly child: ChildProcess
  readonly end: (signal?: NodeJS.Signals) => Promise<number | null>
  /** The same process once more, on the same port and data. */
  readonly again: () => Promise<Running>
}

/** Starts a process and waits until it listens. */
export async function startProcess (t: Test, environment: Record<string, string>): Promise<Running> {
  const data = environment.CLINIGATE_DATA ?? createTemporaryDirectory(t)
  const variables: Record<string, string> = {
    CLINIGATE_DATA: data,
    PORT: String(await findFreePort()),
    ...withoutOverloadLimits(t, environment)
  }
  const child = spawn(process.execPath, [main], { env: { ...getProcessEnvironment(), ...variables } })
  const output = { out: '', err: '' }
  child.stdout.on('data', chunk => { output.out += chunk })
  child.stderr.on('data', chunk => { output.err += chunk })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const end = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  t.after(() => end('SIGKILL'))
  await waitUntil(() => {
    if (child.exitCode !== null) throw new Error(`it ended: ${output.err}`)
    return output.out.includes('listens on')
  })
  return { url: `http://127.0.0.1:${variables.PORT}`, data, output, child, end, again: () => startProcess(t, variables) }
}

/**
 * A control process with the token of a gateway, and its store, which the test opens as well, like the command line.
 */
export async function startControl (
  t: Test
): Promise<Running & { readonly store: ControlStore; readonly token: string; readonly tenantId: string }> {
  const control = await startProcess(t, { CLINIGATE_ROLE: 'control' })
  const store = await openControlStore({
    file: join(control.data, 'control.db'),
    plans: ['pro', 'enterprise'],
    now: () => new Date()
  })
  t.after(() => store.close())
  const { secret: token } = await store.tokens.create({ name: 'gateways', role: 'gateway' }, 'test')
  // Without a limit per minute, since tests send without a pause.
  const { tenantId } = await store.organizations.create({ name: 'clinic', plan: 'enterprise' }, 'test')
  return { ...control, store, token, tenantId }
}

/** A gateway process that follows the control plane. */
export function startGateway (
  t: Test,
  { url, token }: { readonly url: string; readonly token: string },
  environment: Record<string, string> = {}
): Promise<Running> {
  return startProcess(t, {
    CLINIGATE_ROLE: 'gateway',
    CONTROL_URL: url,
    CLINIGATE_GATEWAY_TOKEN: token,
    ...environment
  })
}

/** The status of a read with a key. */
export async function fetchStatus ({ url }: Pick<Running, 'url'>, secret: string): Promise<number> {
  const response = await fetch(`${url}/v1/patients?count=1`, { headers: { 'x-api-key': secret } })
  await response.arrayBuffer()
  return response.status
}

/** The check of the keys in the health of a gateway. */
export async function fetchKeyHealth ({
  url
}: Pick<Running, 'url'>): Promise<{ status: string; isConnected: boolean; ageSeconds: number | null }> {
  const { data } = (await (await fetch(`${url}/health`)).json()) as { data: { checks: { keys: never } } }
  return data.checks.keys
}

/** The median and the slowest of a hundred. */
export function calculatePercentiles (times: readonly number[]): { readonly median: number, readonly p99: number } {
  const sorted = times.toSorted((a, b) => a - b)
  return { median: sorted[Math.floor(sorted.length / 2)]!, p99: sorted[Math.ceil(sorted.length * 0.99) - 1]! }
}

/** Runs a function for each of many, a few at a time. */
export async function forEachConcurrently<T> (
  things: readonly T[],
  atOnce: number,
  act: (thing: T) => Promise<void>
): Promise<void> {
  const left = [...things]
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let thing = left.shift(); thing !== undefined; thing = left.shift()) await act(thing)
    })
  )
}
