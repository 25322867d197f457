// What a request costs through the gateway and its peers, by kind of work and number of connections.
// Usage: npm run bench -- requests [--write] [--seconds 1] [--rounds 3] [--connections 1,16,256] [--works read,…]
// [--peers …]
import { parseArgs } from 'node:util'
import { allPeers, bare, startContestants, buildTarget } from './contestants.js'
import { describeRun, writeBetweenMarkers } from './documents.js'
import { formatTable } from './figures.js'
import { alternate, getMedian, getMedianRatio } from './load.js'
import { stopAll } from './processes.js'

const mainWorks =
  ['read', 'search of 20', 'search of 100', 'create with two references', 'patch of one field', 'transaction of 20']
/** The number of connections of the short table. */
const usual = 16

const { values } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: `1,${usual},256` },
    works: { type: 'string', default: mainWorks.join() },
    peers: { type: 'string', default: allPeers.join() }
  }
})
const [duration, rounds] = [values.seconds, values.rounds].map(Number)
const connectionCounts = values.connections.split(',').map(Number)
const works = values.works.split(',')
const named = values.peers.split(',').filter(Boolean)
const peers = named.includes(bare) ? named : [...named, bare]
if (values.write && !connectionCounts.includes(usual)) throw new Error(`--write needs ${usual} connections`)

try {
  const contestants = await startContestants({ peers })
  // Above all Java needs some seconds before its code is compiled.
  const warming = { rounds: 1, duration: 2, connections: usual }
  for (const work of works) await alternate(buildTargets(contestants, work), warming)
  const measured = []
  for (const connections of connectionCounts) {
    for (const work of works) {
      const targets = buildTargets(contestants, work)
      await alternate(targets, { rounds: 1, duration: 1, connections })
      measured.push({ work, connections, results: await alternate(targets, { rounds, duration, connections }) })
    }
  }
  show(measured, Object.keys(contestants))
} finally {
  stopAll()
}

function buildTargets (contestants, work) {
  const entries = Object.keys(contestants).map(name => [name, buildTarget(contestants, name, work)])
  return Object.fromEntries(entries.filter(([, one]) => one !== undefined))
}

function show (measured, names) {
  const how = `${describeRun(new Date())} Medians of ${rounds} rounds by turns; ` +
    'load and FHIR server share the machine.'
  const long = `${how}\n\n${formatLongTable(measured)}`
  console.log(long)
  if (!values.write) return
  writeBetweenMarkers('docs/performance.md', 'requests', long)
  writeBetweenMarkers('README.md', 'requests', `${how}\n\n${formatShortTable(measured, names)}`)
}

function formatLongTable (measured) {
  const head =
    ['work', 'connections', 'contestant', 'requests/s', 'p50 ms', 'p99 ms', 'processor µs a request', `to ${bare}`]
  const rows = measured.flatMap(({ work, connections, results }) => Object.entries(results).map(([name, all]) => [
    work,
    connections,
    name,
    getMedian(all, 'rate').toFixed(0),
    getMedian(all, 'p50').toFixed(1),
    getMedian(all, 'p99').toFixed(1),
    getMedian(all, 'cost').toFixed(0),
    getMedianRatio(all, results[bare], 'cost').toFixed(2)
  ]))
  return formatTable(head, rows)
}

/** Processor time of a request, of each kind of work and contestant. */
function formatShortTable (measured, names) {
  const formatCell = (results, name) =>
    results[name] === undefined
      ? '–'
      : `${getMedian(results[name], 'cost').toFixed(0)} ` +
      `(${getMedianRatio(results[name], results[bare], 'cost').toFixed(2)} ×)`
  const rows = measured.filter(({ connections }) => connections === usual)
    .map(({ work, results }) => [work, ...names.map(name => formatCell(results, name))])
  return formatTable(['processor µs a request', ...names], rows)
}
