// Resident memory of a gateway, without its control plane, while it imports and exports files of more and more lines,
// each size by a gateway of its own, and the memory per line, in front of a FHIR server without other load.
// Usage: npm run build && node bench/bulk-memory.js [--lines 1000000] [--sizes 3]
import { parseArgs } from 'node:util'
import { describeMachine, formatTable } from './figures.js'
import { generateRecords } from './bulk-records.js'
import { exportThrough, importThrough } from './bulk-methods.js'
import {
  createKey,
  createEnvironment,
  readProcessorTime,
  readResidentMemory,
  start,
  startSeparately,
  stopAll
} from './processes.js'

const { values } = parseArgs({
  options: { lines: { type: 'string', default: '1000000' }, sizes: { type: 'string', default: '3' } }
})
/** Each size is a tenth of the next. */
const sizes = Array.from({ length: Number(values.sizes) }, (_, i) =>
  Math.floor(Number(values.lines) / 10 ** i)
).reverse()

try {
  console.log(`${describeMachine()}\n`)
  const head = ['lines', 'job', 'lines/s', 'gateway processor ms a line', 'resident MiB before', 'most MiB']
  console.log(formatTable(head, []))
  for (const lines of sizes) await measureSize(lines)
} finally {
  stopAll()
}

async function measureSize (lines) {
  const { line: upstream } = await start('bench/bulk-upstream.js', [String(lines)])
  const environment = await createEnvironment(upstream)
  const { secret } = createKey(environment)
  const jobs = {
    import: gateway => importThrough(gateway, generateRecords('file', lines)),
    export: async gateway => {
      const met = await exportThrough(gateway, ['Patient', 'Observation'])
      if (met !== lines) throw new Error(`${met} lines were exported`)
    }
  }
  const gateway = { secret, ...await startSeparately(environment) }
  for (const [name, job] of Object.entries(jobs)) {
    const { seconds, cpuMs, before, peakMemory } = await measure(gateway, job)
    const figures = [(lines / seconds).toFixed(0), (cpuMs / lines).toFixed(3), before.toFixed(0), peakMemory.toFixed(0)]
    console.log(`| ${[lines, name, ...figures].join(' | ')} |`)
  }
  process.kill(gateway.pid, 'SIGTERM')
}

async function measure (gateway, job) {
  const before = readResidentMemory(gateway.pid)
  let peakMemory = before
  const looking = setInterval(() => { peakMemory = Math.max(peakMemory, readResidentMemory(gateway.pid)) }, 100)
  const cpuBefore = readProcessorTime(gateway.pid)
  const startedAt = performance.now()
  try {
    await job(gateway)
  } finally {
    clearInterval(looking)
  }
  return {
    seconds: (performance.now() - startedAt) / 1_000,
    cpuMs: readProcessorTime(gateway.pid) - cpuBefore,
    before,
    peakMemory
  }
}
