import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand } from '../cli/command.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { UsageLedger } from '../../src/limits/usage-ledger/ledger.js'
import { createMemoryLog, startStandIn, startService, createTemporaryDirectory } from '../sync/control-plane.js'

t.setTimeout(480_000)

/** A gateway in front of a FHIR server of another process, so that its jobs have a thread, with a key. */
async function startWithThread (t: Test, { url, data = createTemporaryDirectory(t), bulk = {}, now }: {
  readonly url: string, readonly data?: string, readonly bulk?: object, readonly now?: () => Date
}) {
  const file = join(createTemporaryDirectory(t), 'config.json')
  writeFileSync(file, JSON.stringify({ bulk, events: { enabled: true } }))
  const environment = { FHIR_TEST_URL: url, FHIR_LIVE_URL: url, CLINIGATE_DATA: data, CLINIGATE_CONFIG: file }
  const service = await startService(t, environment, now)
  const control = service.control!
  const { tenantId } = await control.organizations.create({ name: 'clinic', plan: 'pro' }, 'test')
  const { secret, keyId } = await control.keys.create({ tenantId, mode: 'live', name: 'a key' }, 'test')
  await service.catchUp()
  const send = async (path: string, request: RequestInit = {}) => {
    const headers = { 'x-api-key': secret, ...request.headers }
    const response = await fetch(`${service.url}${path}`, { ...request, headers })
    return { status: response.status, text: await response.text() }
  }
  const get = async (path: string) => JSON.parse((await send(path)).text).data
  const importPatients = async (count: number, firstName = 'Ada'): Promise<string> => {
    const patients = Array.from({ length: count }, (_, at) => ({ firstName: `${firstName} ${at}`, lastName: 'Thread' }))
    const { text } = await send('/v1/bulk/import?resourceType=Patient', {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: patients.map(patient => JSON.stringify(patient)).join('\n')
    })
    return JSON.parse(text).data.jobId
  }
  const fetchStatus = async (id: string): Promise<string> => (await get(`/v1/bulk/jobs/${id}`)).status
  const own = join(data, 'job-thread')
  /** How many requests of an organization the control plane has counted. */
  const countRequests = async (id = tenantId): Promise<number> => {
    const day = 86_400_000
    const [from, to] = [new Date(Date.now() - day), new Date(Date.now() + day)]
    return (await control.usage.sumUsage({ tenantId: id, from, to })).totals[0]?.counted ?? 0
  }
  return { ...service, control, data, own, tenantId, keyId, countRequests, send, get, importPatients, fetchStatus }
}

/** A FHIR server that holds the response to each transaction until it is released, and counts them. */
async function startHoldingServer (t: Test) {
  const sandbox = await startTestSandbox(t)
  const held: Array<() => void> = []
  const state = { isHolding: true, sent: 0, active: 0 }
  const url = await startStandIn(t, async (request, response) => {
    state.active++
    const body = Buffer.concat(await request.toArray())
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers as Record<string, string>
    if (request.method === 'POST' && request.url === '/') {
      state.sent++
      if (state.isHolding) await new Promise<void>(resolve => held.push(resolve))
    }
    const init = { method: request.method!, headers, ...body.length > 0 && { body } }
    const received = await fetch(sandbox.url + request.url!.replace(/^\/$/, ''), init)
    response
      .writeHead(received.status, { 'content-type': 'application/fhir+json' })
      .end(Buffer.from(await received.arrayBuffer()))
    state.active--
  })
  const release = () => {
    state.isHolding = false
    for (const go of held.splice(0)) go()
  }
  const count = async () =>
    ((await (await fetch(`${sandbox.url}/Patient?_summary=count`)).json()) as { total: number }).total
  return { url, state, release, count }
}

t.test('jobs run in a thread of their own; its counts and logs arrive', async t => {
  const { url } = await startTestSandbox(t)
  const gateway = await startWithThread(t, { url })
  t.notOk(existsSync(gateway.own), 'a gateway without jobs has no thread')
  const id = await gateway.importPatients(25)
  await waitUntil(async () => await gateway.fetchStatus(id) === 'completed')
  t.match(await gateway.get(`/v1/bulk/jobs/${id}`), { totalRecords: 25, processedRecords: 25, failedRecords: 0 })
  t.ok((await gateway.get('/v1/usage')).used >= 25, 'the process knows at once what the thread has counted')
  t.equal((await gateway.get('/v1/patients?lastName=thread')).total, 25)
  t.ok(existsSync(join(gateway.own, 'usage.db')), 'it has a ledger of its own')
  await waitUntil(async () => await gateway.countRequests() >= 26)
  const month = new Date().toISOString().slice(0, 7)
  const recompute = async () =>
    JSON.parse((await runCommand({ CLINIGATE_DATA: gateway.data }, 'usage', 'recompute', '--month', month)).out)[0]
  await waitUntil(async () => (await recompute()).agrees)
  t.ok((await recompute()).ledger.counted >= 26, 'a bill that is recomputed has its ledger, too')
  await waitUntil(async () => (await gateway.get('/v1/events?count=100')).data.length === 25)
  const exported = await gateway.send('/v1/bulk/export', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceTypes: ['Patient'] })
  })
  const { jobId } = JSON.parse(exported.text).data
  await waitUntil(async () => await gateway.fetchStatus(jobId) === 'completed')
  const { files: [file] } = await gateway.get(`/v1/bulk/jobs/${jobId}`)
  const lines = (await gateway.send(new URL(file.url).pathname + new URL(file.url).search)).text.trimEnd().split('\n')
  t.equal(lines.length, 25)
  t.match(await gateway.get('/health'), { checks: { bulk: { status: 'ok' } } })
})

t.test('a cancelled job stops in the thread, and one of a gateway that ends goes on at its next start', async t => {
  const server = await startHoldingServer(t)
  const gateway = await startWithThread(t, { url: server.url })
  const cancelled = await gateway.importPatients(1_000)
  await waitUntil(() => server.state.sent > 0)
  await gateway.send(`/v1/bulk/jobs/${cancelled}`, { method: 'DELETE' })
  await waitUntil(async () => await gateway.fetchStatus(cancelled) === 'cancelled')
  server.release()
  await waitUntil(async () => server.state.active === 0 && (await gateway.get('/health')).checks.bulk.running === 0)
  const before = await server.count()
  t.ok(before < 1_000, 'not all of it was stored')

  server.state.isHolding = true
  const sent = server.state.sent
  const resumed = await gateway.importPatients(500, 'Grace')
  await waitUntil(() => server.state.sent > sent)
  const closing = gateway.close()
  server.release()
  await closing
  const next = await startWithThread(t, { url: server.url, data: gateway.data })
  const { tenantId } = gateway
  const findJob = async () => await next.control.jobs.find(resumed, { tenantId, mode: 'live' })
  await waitUntil(async () => (await findJob())?.status === 'completed')
  t.equal(await server.count() - before, 500, 'each record once')
})

t.test('a job whose thread cannot work is claimed again by another one, and health reports it meanwhile', async t => {
  const { url } = await startTestSandbox(t)
  const clock = { aheadMs: 0 }
  const gateway = await startWithThread(t, { url, now: () => new Date(Date.now() + clock.aheadMs) })
  mkdirSync(gateway.own)
  mkdirSync(join(gateway.own, 'keys.db'))
  const id = await gateway.importPatients(3)
  await waitUntil(() => gateway.lines.some(line => line.includes('a bulk job lost its thread')))
  t.equal(await gateway.fetchStatus(id), 'processing')
  rmSync(join(gateway.own, 'keys.db'), { recursive: true })
  clock.aheadMs = 31_000
  await waitUntil(async () => await gateway.fetchStatus(id) === 'completed')
  t.match(await gateway.get(`/v1/bulk/jobs/${id}`), { processedRecords: 3, failedRecords: 0 })
})

for (const thread of [true, false]) {
  t.test(`the outbox of a thread is sent by the next gateway, ${thread ? 'with' : 'without'} a thread`, async t => {
    const { url } = await startTestSandbox(t)
    const data = createTemporaryDirectory(t)
    const gateway = await startWithThread(t, { url, data })
    const { tenantId, keyId, own } = gateway
    await gateway.close()
    mkdirSync(own)
    const ledger = new UsageLedger({ file: join(own, 'usage.db'), now: () => new Date(), log: createMemoryLog().log })
    await ledger.opened
    ledger.record({
      tenantId,
      keyId,
      mode: 'live',
      resource: 'Patient',
      interaction: 'create',
      outcome: 'ok',
      isCounted: true,
      isOverage: false
    }, new Date().toISOString())
    await ledger.close()
    const next = await startWithThread(t, { url, data, bulk: { thread } })
    await waitUntil(async () => await next.countRequests(tenantId) === 1)
  })
}
