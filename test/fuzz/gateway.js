/** Starts the built gateway for the fuzzer and for clients: a process of its own, with a key without limits. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * @param {{ dist: string, fhirUrl?: string, port?: number }} options where the program was built; without `fhirUrl` the
 * sandbox is its datastore; without `port` it takes a free one, which its links do not have
 * @returns {Promise<{ url: string, key: string, log: () => string, stop: () => Promise<void> }>}
 */
export async function startBuiltGateway ({ dist, fhirUrl, port = 0 }) {
  const data = mkdtempSync(join(tmpdir(), 'clinigate-fuzz-'))
  const plans = join(data, 'plans.json')
  writeFileSync(
    plans,
    JSON.stringify({ unlimited: { requestsPerMinute: null, requestsPerMonth: null, overage: true } })
  )
  const config = join(data, 'config.json')
  // Neither the load of the machine is tested, nor how many requests without a key a fast one sends in a minute.
  writeFileSync(config, JSON.stringify({
    overload: { eventLoopDelayMs: null, heapPercent: null },
    limits: { failedAttemptsPerMinute: 1_000_000 }
  }))
  const { FHIR_TEST_URL: _, FHIR_LIVE_URL: __, ...inherited } = process.env
  const env = {
    ...inherited,
    CLINIGATE_DATA: data,
    CLINIGATE_PLANS: plans,
    CLINIGATE_CONFIG: config,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'error',
    ...(fhirUrl && { FHIR_TEST_URL: fhirUrl, FHIR_LIVE_URL: fhirUrl })
  }
  const runCommand = (...args) =>
    JSON.parse(execFileSync(process.execPath, [join(dist, 'operator', 'cli', 'index.js'), ...args], { env }))
  const { tenantId } = runCommand('orgs', 'create', '--name', 'fuzzer', '--plan', 'unlimited')
  const { secret } = runCommand('keys', 'create', '--tenant', tenantId, '--mode', 'test')
  const child = spawn(process.execPath, [join(dist, 'main.js')], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { out: '', err: '' }
  child.stdout.on('data', text => { output.out += text })
  child.stderr.on('data', text => { output.err += text })
  const ended = once(child, 'close')
  return {
    url: await waitForAddress(output, ended),
    key: secret,
    log: () => output.err,
    async stop () {
      child.kill('SIGTERM')
      await ended
      rmSync(data, { recursive: true, force: true })
    }
  }
}

async function waitForAddress (output, ended) {
  for (;;) {
    const address = /listens on (\S+)\n/.exec(output.out)?.[1]
    if (address) return address
    const isOver = await Promise.race([ended.then(() => true), new Promise(resolve => setTimeout(resolve, 50, false))])
    if (isOver) throw new Error(`the gateway ended: ${output.err}`)
  }
}
