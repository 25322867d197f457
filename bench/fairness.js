// How a busy organization affects another one: the times of single requests, one after the other, while the gateway is
// idle and while the other organization sends over many connections, with and without the limit of requests in flight
// per organization.
// Usage: npm run build && node bench/fairness.js [--requests 500] [--rounds 3] [--connections 200] [--delays 0,20]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'undici'
import { describeMachine, median, quantile, formatTable } from './figures.js'
import { createKey, createEnvironment, start, startOn, stopAll } from './processes.js'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '200' },
    delays: { type: 'string', default: '0,20' }
  }
})
const [requests, rounds, connections] = [values.requests, values.rounds, values.connections].map(Number)

/** The number of decimals of each figure, in the order of the columns. */
const digits = { p50: 1, p99: 1, loadedP50: 1, loadedP99: 1, ratio: 2, served: 0, refused: 0 }

const kinds = { bounded: [], 'not bounded': ['--without', 'concurrency'] }

try {
  console.log(
    `${describeMachine()}; ${rounds} rounds of ${requests} requests of the one, ` +
    `the other with ${connections} connections; medians\n`
  )
  console.log(formatTable([
    'datastore delay ms', 'limit', 'alone p50 ms', 'p99 ms', 'p50 ms under load', 'p99 ms',
    'p99 to p99 alone', "the other's responses/s", 'rejected/s'
  ], []))
  for (const delay of values.delays.split(',')) await compare(delay)
} finally {
  stopAll()
}

async function compare (delay) {
  const { line: upstream } = await start('bench/stub-upstream.js', ['bench', delay])
  const targets = []
  for (const [kind, args] of Object.entries(kinds)) {
    const environment = await createEnvironment(upstream)
    const [one, other] = [createKey(environment), createKey(environment)]
    targets.push({
      kind,
      one,
      other,
      ...(await startOn({ env: { ...environment.env, LOG_LEVEL: 'silent' } }, 'bench/gateway.js', args)),
      measured: []
    })
  }
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) target.measured.push(await measure(target))
  }
  for (const { kind, measured } of targets) {
    const figures = Object.entries(digits).map(([name, digits]) =>
      median(measured.map(one => one[name])).toFixed(digits))
    console.log(`| ${[delay, kind, ...figures].join(' | ')} |`)
  }
}

async function measure ({ url, one, other }) {
  await measureLatencies({ url, key: one }, 100)
  const alone = await measureLatencies({ url, key: one }, requests)
  const noise = spawn(
    process.execPath,
    [join(import.meta.dirname, 'load.js'), `${url}/v1/patients/${other.tenantId}`, other.secret, connections],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  )
  const output = noise.stdout.toArray()
  await pause(1_000)
  const underLoad = await measureLatencies({ url, key: one }, requests)
  noise.kill('SIGTERM')
  await once(noise, 'close')
  const { served, refused, seconds } = JSON.parse(Buffer.concat(await output))
  return {
    ...alone,
    loadedP50: underLoad.p50,
    loadedP99: underLoad.p99,
    ratio: underLoad.p99 / alone.p99,
    served: served / seconds,
    refused: refused / seconds
  }
}

/** One after the other, with a pause between. */
async function measureLatencies ({ url, key: { tenantId, secret } }, count) {
  const client = new Client(url)
  const measured = []
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now()
    const { statusCode, body } = await client.request({
      method: 'GET',
      path: `/v1/patients/${tenantId}`,
      headers: { 'x-api-key': secret }
    })
    await body.dump()
    if (statusCode !== 200) throw new Error(`answered with ${statusCode}`)
    measured.push(performance.now() - startedAt)
    await pause(5)
  }
  await client.close()
  return { p50: quantile(measured, 0.5), p99: quantile(measured, 0.99) }
}
