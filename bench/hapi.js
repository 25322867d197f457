// The latency that the gateway adds in front of a real HAPI: reads and searches at half of the rate that HAPI serves
// directly, directly and through the gateway by turns. A HAPI of its own, on PostgreSQL, is started unless one is
// named.
// Usage: npm run bench -- hapi [--write] [--seconds 8] [--rounds 5] [--fhir <base URL> | --database h2]
import { parseArgs } from 'node:util'
import { generateRecords } from './bulk-records.js'
import { hapiOptions, loadByTransactions, openHapi } from './bulk-methods.js'
import { describeRun, writeBetweenMarkers } from './documents.js'
import { formatTable } from './figures.js'
import { alternate, load, getMedian, getMedianRatio } from './load.js'
import { createKey, createEnvironment, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '5' },
    ...hapiOptions
  }
})
const [duration, rounds] = [values.seconds, values.rounds].map(Number)
const connections = 16

const hapi = await openHapi(values)
try {
  const environment = await createEnvironment(hapi.url)
  const { tenantId, secret } = createKey(environment)
  const gateway = await startOn(environment, 'dist/main.js')
  const series = Date.now().toString(36)
  await loadByTransactions(hapi.url, generateRecords(series, 1_000, tenantId), { atOnce: 2 })
  const headers = { 'x-api-key': secret }
  const tag = `_tag=urn:clinigate:tenant|${tenantId}`
  const works = {
    read: [`/Patient/${series}-p0`, `/Patient/${series}-p0`],
    'search of 20': [`/Patient?_count=20&${tag}`, '/Patient?_count=20']
  }
  const rows = []
  for (const [work, [direct, through]] of Object.entries(works)) {
    rows.push(...await measure(work, {
      direct: { url: `${hapi.url}${encodeURI(direct)}`, pid: hapi.pid },
      'through the gateway': { url: `${gateway.url}/v1/fhir${through}`, headers, pid: gateway.pid }
    }))
  }
  const head = ['work', 'way', 'requests/s', 'p50 ms', 'to direct', 'p99 ms', 'to direct']
  const how = `${describeRun(new Date())} Medians of ${rounds} rounds by turns of ${duration} s.`
  const text = `${how}\n\n${formatTable(head, rows)}`
  console.log(text)
  if (values.write) writeBetweenMarkers('docs/performance.md', 'hapi', text)
} finally {
  stopAll()
  await hapi.stop()
}

async function measure (work, targets) {
  await alternate(targets, { rounds: 2, duration, connections })
  const { rate } = await load(targets.direct, { duration, connections })
  const results = await alternate(targets, { rounds, duration, connections, overallRate: Math.ceil(rate / 2) })
  const formatCells = (all, figure) => [
    getMedian(all, figure).toFixed(1),
    getMedianRatio(all, results.direct, figure).toFixed(2)
  ]
  return Object.entries(results).map(([method, all]) =>
    [work, method, getMedian(all, 'rate').toFixed(0), ...formatCells(all, 'p50'), ...formatCells(all, 'p99')])
}
