// The cost of the event of each change: the same gateway with events and without, each with a separate control plane,
// by turns in one run, with the same number of creates. The processor time says more than the rate on a machine with
// other load.
// Usage: npm run build && node bench/events.js [--creates 3000] [--rounds 7] [--connections 10] [--profile FOLDER]
import autocannon from 'autocannon'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, median } from './figures.js'
import { createKey, createEnvironment, readProcessorTime, start, startSeparately, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    creates: { type: 'string', default: '3000' },
    rounds: { type: 'string', default: '7' },
    connections: { type: 'string', default: '10' },
    profile: { type: 'string' }
  }
})
const [creates, rounds, connections] = [values.creates, values.rounds, values.connections].map(Number)

try {
  // Each gateway has an organization of its own, and so a datastore of its own.
  const targets = { 'without events': await startTarget(false), 'with events': await startTarget(true) }
  for (const target of Object.values(targets)) await load(target)
  const measured = Object.fromEntries(Object.keys(targets).map(name => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const names = Object.keys(targets)
    for (const name of round % 2 === 0 ? names : names.reverse()) {
      measured[name].push(await load(targets[name]))
    }
  }
  show(measured)
} finally {
  stopAll()
}

async function startTarget (enabled) {
  const environment = await createEnvironment()
  const { env } = environment
  const config = join(env.CLINIGATE_DATA, 'config.json')
  writeFileSync(config, JSON.stringify({ events: { enabled } }))
  env.CLINIGATE_CONFIG = config
  const { tenantId, secret } = createKey(environment)
  const { line: upstream } = await start('bench/stub-upstream.js', [tenantId])
  Object.assign(env, { FHIR_TEST_URL: upstream, FHIR_LIVE_URL: upstream })
  const flags = values.profile === undefined
    ? []
    : ['--cpu-prof', `--cpu-prof-dir=${join(values.profile, enabled ? 'with' : 'without')}`]
  return { ...await startSeparately(environment, flags), secret }
}

async function load ({ url, pid, control, secret }) {
  const readProcessorTimes = () => [pid, control].map(readProcessorTime)
  const before = readProcessorTimes()
  const { '2xx': served, non2xx, errors, requests, latency } = await autocannon({
    url: `${url}/v1/patients`,
    method: 'POST',
    headers: { 'x-api-key': secret, 'content-type': 'application/json' },
    body: '{"firstName":"Ada","lastName":"Byron","gender":"female","birthDate":"1990-03-14"}',
    connections,
    amount: creates
  })
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} responses were not 2xx, ${errors} errors`)
  // The events that are sent to the control plane afterwards belong to these creates as well.
  await new Promise(resolve => setTimeout(resolve, 1_000))
  const [gateway, plane] = readProcessorTimes().map((time, at) => (time - before[at]) * 1_000 / served)
  return { rate: requests.average, p50: latency.p50, p99: latency.p99, gateway, plane }
}

function show (measured) {
  console.log(
    `${describeMachine()}; creates, ${connections} connections, ${rounds} rounds of ${creates}; medians\n`
  )
  console.log('| gateway | requests/s | p50 ms | p99 ms | processor µs for a create | of the control plane |')
  console.log('|---|---|---|---|---|---|')
  const getMedian = (name, figure) => median(measured[name].map(one => one[figure]))
  for (const name of Object.keys(measured)) {
    const figures = ['rate', 'p50', 'p99', 'gateway', 'plane'].map(figure => getMedian(name, figure).toFixed(0))
    console.log(`| ${[name, ...figures].join(' | ')} |`)
  }
  const ratios = measured['with events'].map(({ gateway }, i) => gateway / measured['without events'][i].gateway)
  const byRound = ratios.map(ratio => ratio.toFixed(3)).join(', ')
  const times = `${median(ratios).toFixed(3)} times the processor time of one without`
  console.log(`\nA create with events takes ${times} (by round: ${byRound}).`)
}
