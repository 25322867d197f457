/**
 * `npm run soak [-- --minutes N]`: a gateway under half of its maximum load, for a while. Its memory and response times
 * are printed as a table; they must not grow.
 */
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { readResidentMemory, start, startGateway, stopAll } from '../../bench/processes.js'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } })
const seconds = Number(values.minutes) * 60
const parts = 10

// Memory settles as the caches fill and the compiler finishes, for which the first tenth is left out; and two
// processors are never idle.
const maxGrowth = { memory: 1.15, p99: 1.5 }
const minNoticedMs = 10

try {
  const { url, pid, secret } = await startGateway(
    async tenantId => (await start('bench/stub-upstream.js', [tenantId])).line
  )
  const load = options =>
    autocannon({ url: `${url}/v1/patients/p0`, headers: { 'x-api-key': secret }, connections: 10, ...options })
  await load({ duration: 5 })
  const capacity = (await load({ duration: 10 })).requests.average
  const rate = Math.max(10, Math.round(capacity / 2))
  console.log(
    `Capacity ${Math.round(capacity)} requests/s; ${values.minutes} minutes at ${rate}\n\n| second | requests/s | p50 ms | p99 ms | memory MiB | not 200 |\n|---|---|---|---|---|---|`
  )
  const measured = []
  for (let part = 1; part <= parts; part++) {
    const { requests, latency, errors, timeouts, non2xx } = await load({
      duration: seconds / parts,
      overallRate: rate
    })
    measured.push({ p99: latency.p99, memory: readResidentMemory(pid), failed: errors + timeouts + non2xx })
    console.log(
      `| ${Math.round((part * seconds) / parts)} | ${Math.round(requests.average)} | ${latency.p50} | ${latency.p99} | ${measured.at(-1).memory.toFixed(0)} | ${measured.at(-1).failed} |`
    )
  }
  report(measured.slice(1))
} finally {
  stopAll()
}

/** Compares the first third with the last one. */
function report (measured) {
  const third = Math.ceil(measured.length / 3)
  const computeMedians = name =>
    [measured.slice(0, third), measured.slice(-third)].map(
      some => some.map(one => one[name]).sort((a, b) => a - b)[Math.floor(third / 2)]
    )
  const [memoryBefore, memoryAfter] = computeMedians('memory')
  const [p99Before, p99After] = computeMedians('p99')
  const verdicts = {
    'memory is flat': memoryAfter <= memoryBefore * maxGrowth.memory,
    'p99 is flat': p99After <= Math.max(p99Before * maxGrowth.p99, minNoticedMs),
    'every request was served': measured.every(({ failed }) => failed === 0)
  }
  console.log(`\nMemory ${memoryBefore.toFixed(0)} → ${memoryAfter.toFixed(0)} MiB, p99 ${p99Before} → ${p99After} ms`)
  for (const [verdict, isTrue] of Object.entries(verdicts)) console.log(`${isTrue ? 'yes' : 'NO '}  ${verdict}`)
  process.exitCode = Object.values(verdicts).every(Boolean) ? 0 : 1
}
