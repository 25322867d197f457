// What it costs to measure and to write accesses down: the same build without either, with metrics, and with the access audit log, side by side.
// The processor time for a request says more than the rate where the machine has other things to do.
// Usage: npm run build && node bench/metrics.js [--seconds 5] [--rounds 3]
import autocannon from 'autocannon'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort, newKey, newSurroundings, processorTime, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } } })
const [seconds, rounds] = [values.seconds, values.rounds].map(Number)

const kinds = {
  plain: async () => ({}),
  'with metrics': async () => ({ METRICS_PORT: String(await freePort()) }),
  'with the access audit log': async ({ env }) => ({ AUDIT_LOG_FILE: join(env.CLINIGATE_DATA, 'access.log') })
}

try {
  const { line: upstream } = await start('bench/waiting-upstream.js', ['0'])
  const targets = []
  for (const [kind, more] of Object.entries(kinds)) {
    const surroundings = await newSurroundings(upstream)
    Object.assign(surroundings.env, await more(surroundings))
    targets.push({ kind, key: newKey(surroundings), ...await startOn(surroundings, 'dist/main.js'), measured: [] })
  }
  for (const target of targets) await load(target, 2)
  for (let round = 0; round < rounds; round++) for (const target of targets) target.measured.push(await load(target, seconds))
  console.log(`${cpus().length} × ${cpus()[0].model}, Node ${process.version}; reads, 10 connections, ${rounds} rounds of ${seconds} s; medians\n`)
  console.log('| gateway | requests/s | to plain | processor µs for a request | to plain |\n|---|---|---|---|---|')
  const bare = figures(targets[0])
  for (const target of targets) {
    const { rate, cost } = figures(target)
    console.log(`| ${[target.kind, rate.toFixed(0), (rate / bare.rate).toFixed(3), cost.toFixed(0), (cost / bare.cost).toFixed(3)].join(' | ')} |`)
  }
} finally {
  stopAll()
}

async function load ({ url, pid, key: { tenantId, secret } }, duration) {
  const before = processorTime(pid)
  const { '2xx': served, non2xx, errors, requests } = await autocannon({ url: `${url}/v1/patients/${tenantId}`, headers: { 'x-api-key': secret }, connections: 10, duration })
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} answers were not 2xx, ${errors} errors`)
  return { rate: requests.average, cost: (processorTime(pid) - before) * 1_000 / served }
}

function figures ({ measured }) {
  const of = name => median(measured.map(one => one[name]))
  return { rate: of('rate'), cost: of('cost') }
}

function median (numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}
