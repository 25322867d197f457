// What limits, quota and ledger cost, and what the turns of the organizations do: the same build with them and without, side by side.
// The processor time for a request says more than the rate where the machine has other things to do.
// Usage: npm run build && node bench/limits.js [--seconds 5] [--rounds 3]
import autocannon from 'autocannon'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { newKey, newSurroundings, processorTime, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } } })
const [seconds, rounds] = [values.seconds, values.rounds].map(Number)

/** Limits that are counted and never reached. */
const plan = { requestsPerMinute: 1_000_000_000, requestsPerMonth: 1_000_000_000, overage: true }
const kinds = {
  'with all': [],
  'without turns': ['--without', 'places'],
  'without turns and ledger': ['--without', 'places,ledger'],
  'without any': ['--without', 'places,ledger,limits']
}

try {
  const { line: upstream } = await start('bench/waiting-upstream.js', ['0'])
  const targets = []
  for (const [kind, args] of Object.entries(kinds)) {
    const surroundings = await newSurroundings(upstream, plan)
    targets.push({ kind, key: newKey(surroundings), ...await startOn(surroundings, 'bench/gateway.js', args), measured: [] })
  }
  for (const target of targets) await load(target, 2)
  for (let round = 0; round < rounds; round++) for (const target of targets) target.measured.push(await load(target, seconds))
  console.log(`${cpus().length} × ${cpus()[0].model}, Node ${process.version}; reads, 10 connections, ${rounds} rounds of ${seconds} s; medians\n`)
  console.log('| gateway | requests/s | to without any | processor µs for a request | to without any |\n|---|---|---|---|---|')
  const bare = figures(targets.at(-1))
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
