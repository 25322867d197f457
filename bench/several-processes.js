// Throughput of several processes on one port, compared with as many processes of a bare proxy: raw reads. Load and
// FHIR server share the machine, so two processes cannot serve twice as much on two processors; the cost of a read says
// more.
// Usage: npm run bench -- several-processes [--write] [--seconds 3] [--rounds 5] [--processes 1,2] [--connections 16]
import { parseArgs } from 'node:util'
import { describeRun, writeBetweenMarkers } from './documents.js'
import { formatTable } from './figures.js'
import { alternate, getMedian, getMedianRatio } from './load.js'
import { start, startGateway, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    processes: { type: 'string', default: '1,2' },
    connections: { type: 'string', default: '16' }
  }
})
const [duration, rounds, connections] = [values.seconds, values.rounds, values.connections].map(Number)

try {
  const targets = {}
  for (const count of values.processes.split(',')) {
    const gateway = await startGateway(
      async tenantId => (await start('bench/stub-upstream.js', [tenantId])).line,
      { args: count === '1' ? [] : ['--processes', count] }
    )
    const proxy = await start('bench/bare-proxy.js', [gateway.upstream, count])
    const headers = { 'x-api-key': gateway.secret }
    targets[`@fastify/http-proxy, ${count}`] = { url: `${proxy.line}/Patient/p0`, pid: proxy.pid }
    targets[`clinigate, ${count}`] = { url: `${gateway.url}/v1/fhir/Patient/p0`, pid: gateway.pid, headers }
  }
  await alternate(targets, { rounds: 1, duration: 2, connections })
  const results = await alternate(targets, { rounds, duration, connections })
  const [first] = Object.values(results)
  const rows = Object.entries(results).map(([name, all]) => [
    name,
    ...['rate', 'cost'].flatMap(figure => [
      getMedian(all, figure).toFixed(0),
      getMedianRatio(all, first, figure).toFixed(2)
    ]),
    getMedian(all, 'p99').toFixed(1)
  ])
  const head = [
    'raw reads by processes', 'requests/s', 'to the first', 'processor µs a request', 'to the first', 'p99 ms'
  ]
  const how = `${describeRun(new Date())} Medians of ${rounds} rounds by turns, ${connections} connections.`
  const text = `${how}\n\n${formatTable(head, rows)}`
  console.log(text)
  if (values.write) writeBetweenMarkers('docs/performance.md', 'several-processes', text)
} finally {
  stopAll()
}
