// How long the built gateway takes from its start to its first response, and the memory and processor time that it uses
// until then.
// Usage: npm run build && node bench/start-up.js [--rounds 7]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, median, formatTable } from './figures.js'
import { findFreePort, readProcessorTime, readResidentMemory, start, stopAll } from './processes.js'

const { values: { rounds } } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } })

const main = join(import.meta.dirname, '..', 'dist', 'main.js')
const upstream = (await start('bench/stub-upstream.js')).line
const kinds = {
  'configured datastores': { FHIR_TEST_URL: upstream, FHIR_LIVE_URL: upstream },
  sandboxes: {}
}

try {
  const starts = Object.keys(kinds).flatMap(datastores =>
    ['first', 'later'].map(which => ({ datastores, which, measured: [] }))
  )
  for (let round = 0; round < Number(rounds); round++) {
    for (const datastores of Object.keys(kinds)) {
      const data = mkdtempSync(join(tmpdir(), 'clinigate-bench-'))
      for (const { measured } of starts.filter(start => start.datastores === datastores)) {
        measured.push(await measure({ CLINIGATE_DATA: data, ...kinds[datastores] }))
      }
      rmSync(data, { recursive: true, force: true })
    }
  }
  console.log(`${describeMachine()}; medians of ${rounds} starts\n`)
  const rows = starts.map(({ datastores, which, measured }) => [
    datastores, which, ...['ms', 'cpuMs', 'mib'].map(name => median(measured.map(one => one[name])).toFixed(0))
  ])
  console.log(formatTable(['datastores', 'start', 'first answer ms', 'processor ms', 'resident MiB'], rows))
} finally {
  stopAll()
}

/** Starts a gateway on its data, waits for the first response and ends the gateway. */
async function measure (env) {
  const port = await findFreePort()
  const { FHIR_TEST_URL: _, FHIR_LIVE_URL: __, ...inherited } = process.env
  const startedAt = performance.now()
  const child = spawn(process.execPath, [main], {
    env: { ...inherited, HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'ignore', 'inherit']
  })
  const ended = once(child, 'close')
  while (!await fetch(`http://127.0.0.1:${port}/health`).then(response => response.ok, () => false)) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  const measured = {
    ms: performance.now() - startedAt,
    cpuMs: readProcessorTime(child.pid),
    mib: readResidentMemory(child.pid)
  }
  child.kill('SIGTERM')
  await ended
  return measured
}
