// Side-by-side benchmarks: each round takes every target in turn, so that a noisy machine is as unfair to one as to the
// other. After them the limits and who shares them, the start-up, the mappings, the copy of the keys, events and bulk
// jobs, each a program of its own. Those of bulk jobs start a HAPI each; a million lines and some thousands of records
// before HAPI take a quarter of an hour. Usage: npm run bench [-- --seconds 5 --rounds 3]
import autocannon from 'autocannon'
import { execFileSync } from 'node:child_process'
import { cpus, hostname } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median } from './median.js'
import { processorTime, residentMemory, start, startGateway, stopAll } from './processes.js'

const {
  values: { seconds, rounds }
} = parseArgs({ options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } } })

const gateway = await startGateway(async tenantId => (await start('bench/stub-upstream.js', [tenantId])).line)
const proxy = await start('bench/bare-proxy.js', [gateway.upstream])
const key = { 'x-api-key': gateway.secret }

const read = 'Patient/p0'
const pageOf = count => `Patient?_count=${count}`
const sideBySide = (path, url) => ({
  direct: { url: `${gateway.upstream}/${path}` },
  'bare proxy': { url: `${proxy.line}/${path}`, pid: proxy.pid },
  gateway: { url: `${gateway.url}/v1/${url}`, headers: key, pid: gateway.pid }
})

const scenarios = {
  'simple read': sideBySide(read, 'patients/p0'),
  'simple search of 20': sideBySide(pageOf(20), 'patients?count=20'),
  'raw read': sideBySide(read, `fhir/${read}`),
  'raw search of 20': sideBySide(pageOf(20), `fhir/${pageOf(20)}`),
  'raw search of 100': sideBySide(pageOf(100), `fhir/${pageOf(100)}`)
}

try {
  const memory = []
  console.log(
    `${hostname()}: ${cpus().length} × ${cpus()[0].model}, Node ${process.version}; ${rounds} rounds of ${seconds} s each, 10 connections; medians\n`
  )
  console.log(
    '| scenario | target | requests/s | p50 ms | p99 ms | to bare proxy | processor µs a request | to bare proxy |'
  )
  console.log('|---|---|---|---|---|---|---|---|')
  for (const [scenario, targets] of Object.entries(scenarios)) {
    const results = await alternate(targets, memory)
    const peer = median(results['bare proxy'].map(result => result.rate))
    const peerCost = median(results['bare proxy'].map(result => result.cost))
    for (const [target, measured] of Object.entries(results)) {
      const rate = median(measured.map(result => result.rate))
      const cost = median(measured.map(result => result.cost))
      const costs = Number.isNaN(cost) ? '– | –' : `${cost.toFixed(0)} | ${(cost / peerCost).toFixed(2)}`
      console.log(
        `| ${scenario} | ${target} | ${rate.toFixed(0)} | ${median(measured.map(result => result.p50))} | ${median(measured.map(result => result.p99))} | ${(rate / peer).toFixed(2)} | ${costs} |`
      )
    }
  }
  console.log(
    `\nResident memory of the gateway after each of its rounds, MiB: ${memory.map(mib => mib.toFixed(0)).join(', ')}`
  )
} finally {
  stopAll()
}
for (const script of [
  'limits.js',
  'fairness.js',
  'organizations.js',
  'start-up.js',
  'mappings.js',
  'keys.js',
  'events.js',
  'bulk-memory.js',
  'bulk-export.js',
  'bulk-import.js',
  'bulk-beside.js'
]) {
  console.log(`\n${script}\n`)
  execFileSync(process.execPath, ['--expose-gc', join(import.meta.dirname, script)], { stdio: 'inherit' })
}

async function alternate (targets, memory) {
  const results = Object.fromEntries(Object.keys(targets).map(target => [target, []]))
  for (const target of Object.values(targets)) await load(target, 2)
  for (let round = 0; round < Number(rounds); round++) {
    for (const [name, target] of Object.entries(targets)) {
      results[name].push(await load(target, Number(seconds)))
      if (name === 'gateway') memory.push(residentMemory(gateway.pid))
    }
  }
  return results
}

async function load ({ pid, ...target }, duration) {
  const time = () => pid === undefined ? NaN : processorTime(pid)
  const before = time()
  const result = await autocannon({ ...target, connections: 10, duration })
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${target.url}: ${result.non2xx} answers were not 2xx, ${result.errors} errors`)
  }
  const cost = (time() - before) * 1_000 / result['2xx']
  return { rate: result.requests.average, cost, p50: result.latency.p50, p99: result.latency.p99 }
}
