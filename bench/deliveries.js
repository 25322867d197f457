// How long events take to their receivers at a given rate, while one receiver hangs: one control store, one deliverer,
// and receivers over https in the same process. Latency is from the report of the event to its arrival.
// Usage: npm run build && node bench/deliveries.js [--rate 1000] [--seconds 20] [--receivers 2] [--hanging 1]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:https'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { openControlStore } from '../dist/control-plane/store/store.js'
import { WebhookDeliverer } from '../dist/events/webhooks/deliverer.js'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    receivers: { type: 'string', default: '1' },
    hanging: { type: 'string', default: '1' }
  }
})
const [rate, seconds, receivers, hanging] =
  [values.rate, values.seconds, values.receivers, values.hanging].map(Number)

/** Events come in batches, as gateways send them. */
const batchesPerSecond = 10
const readTestFile = name => readFileSync(new URL(`../test/jobs/${name}`, import.meta.url), 'utf8')
const [key, cert] = [readTestFile('source-key.pem'), readTestFile('source.pem')]
const directory = mkdtempSync(join(tmpdir(), 'clinigate-deliveries-'))
const now = () => new Date()
const store = await openControlStore({
  file: join(directory, 'control.db'), plans: ['pro'], now, webhookKey: Buffer.alloc(32, 1)
})
const { tenantId } = await store.organizations.create({ name: 'a', plan: 'pro' }, 'bench')
const owner = { tenantId, mode: 'live', by: 'bench' }
const committed = new Map()
const latencies = []
const servers = []
for (let at = 0; at < receivers; at++) {
  await subscribe((id, response) => {
    latencies.push(performance.now() - committed.get(id))
    response.writeHead(204).end()
  })
}
for (let at = 0; at < hanging; at++) await subscribe(() => {})
const deliverer = new WebhookDeliverer({
  queue: store.webhookQueue,
  rules: { trial: { ca: cert, loopback: true, resolve: async () => ['127.0.0.1'] } },
  version: 'bench',
  now,
  log: pino({ level: 'silent' })
})

const cpu = process.cpuUsage()
const begun = performance.now()
const perBatch = rate / batchesPerSecond
for (let batch = 1; batch <= seconds * batchesPerSecond; batch++) {
  await append(batch)
  await pause(Math.max(0, begun + batch * 1_000 / batchesPerSecond - performance.now()))
}
const appendedMs = performance.now() - begun
while (latencies.length < committed.size * receivers) await pause(20)
const drainedMs = performance.now() - begun
const { user, system } = process.cpuUsage(cpu)
latencies.sort((one, other) => one - other)
const quantile = part => Math.round(latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * part))])
console.log(`${cpus().length} processors (${cpus()[0].model}), Node.js ${process.version}`)
const toRate = (count, ms) => Math.round(count / ms * 1_000)
const processorUs = Math.round((user + system) / latencies.length)
console.log(
  `${committed.size} events at ${toRate(committed.size, appendedMs)}/s to ${receivers} receivers, ` +
  `${hanging} more hang`
)
console.log(
  `delivered ${toRate(latencies.length, drainedMs)}/s; latency p50 ${quantile(0.5)} ms, ` +
  `p99 ${quantile(0.99)} ms, most ${quantile(1)} ms`
)
console.log(`processor time ${processorUs} µs for each delivery, the receivers' part included`)
await deliverer.close()
for (const server of servers) {
  server.closeAllConnections()
  server.close()
}
await store.close()
rmSync(directory, { recursive: true, force: true })

async function subscribe (handle) {
  const server = createServer({ key, cert }, async (request, response) => {
    await request.toArray()
    handle(request.headers['webhook-id'], response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server)
  await store.webhooks.create({ url: `https://files.example.org:${server.address().port}/` }, owner)
}

async function append (number) {
  const lines = Array.from({ length: perBatch }, (_, at) => ({
    id: `evt_${String(number * 10_000 + at).padStart(26, '0')}`,
    tenantId,
    mode: 'live',
    type: 'patients.created',
    createdAt: now().toISOString(),
    resourceType: 'Patient',
    resourceId: `p${at}`,
    versionId: '1',
    requestId: 'bench'
  }))
  const at = performance.now()
  for (const { id } of lines) committed.set(id, at)
  await store.events.append({ ledgerId: 'bench', number, batchId: `bench-${number}`, lines }, 'bench')
}
