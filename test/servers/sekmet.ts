/** SEKMET, a FHIR R4 server in Python that others wrote, as a child process on loopback with a database of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../harness/free-port.js'
import { installPython } from '../harness/python.js'

const startLimitMs = 120_000
const stopLimitMs = 20_000

/**
 * The folder of its programs, `sekmet` among them.
 * @throws {Error} when it cannot be installed
 */
export async function installSekmet (log: (line: string) => void): Promise<string> {
  const programs = await installPython({ log, environment: 'sekmet' })
  if (programs === undefined) throw new Error('SEKMET cannot be installed: pip and Python 3.11 or newer are needed')
  return programs
}

/** A running server: its FHIR base URL, and its end. */
export interface Sekmet { readonly url: string, readonly stop: () => Promise<void> }

/**
 * Installs the server where it is not yet, starts it on a free port and waits until it serves.
 * @param log takes lines about the progress
 * @throws {Error} when it cannot be installed or does not come up; no process is left then
 */
export async function startSekmet (log: (line: string) => void): Promise<Sekmet> {
  const programs = await installSekmet(log)
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-sekmet-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/fhir`
  const file = join(folder, 'settings.yaml')
  // YAML takes JSON. Nothing is validated, since tests plant what no gateway would store; it writes nothing by itself.
  writeFileSync(file, JSON.stringify({
    base_url: url,
    data_dir: folder,
    log_inbound: false,
    simulator: { enabled: false },
    validation: { inbound: 'off' }
  }))
  const server = spawn(
    join(programs, 'sekmet'),
    ['serve', '--config', file, '--host', '127.0.0.1', '--port', String(port)],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }
  )
  let said = ''
  server.stderr.on('data', text => { said = (said + text).slice(-4_000) })
  const ended = once(server, 'close')
  const stop = async (): Promise<void> => {
    await end(server, ended)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await serves(url, ended)
    return { url, stop }
  } catch (error) {
    await stop()
    throw new Error(`${(error as Error).message}: ${said}`, { cause: error })
  }
}

async function serves (url: string, ended: Promise<unknown>): Promise<void> {
  const over = ended.then(() => true)
  for (const lateMs = performance.now() + startLimitMs; performance.now() < lateMs;) {
    const response = await fetch(`${url}/metadata`).catch(() => undefined)
    if (response?.ok) return
    if (await Promise.race([over, setTimeout(100, false)])) throw new Error('SEKMET ended before it served')
  }
  throw new Error(`SEKMET did not come up in ${startLimitMs / 1000} s`)
}

async function end (server: ChildProcess, ended: Promise<unknown>): Promise<void> {
  server.kill('SIGTERM')
  const isLate = await Promise.race([ended.then(() => false), setTimeout(stopLimitMs, true, { ref: false })])
  if (isLate) server.kill('SIGKILL')
  await ended
}
