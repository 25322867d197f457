import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openControlStore, type ControlStore } from '../../src/control-plane/store/store.js'
import { UsageLedger } from '../../src/limits/usage-ledger/ledger.js'
import { findFreePort } from '../harness/free-port.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { buildUsageEvent, countLedgerRequests } from '../limits/usage-samples.js'
import { readScrape } from '../metrics/scrape.js'
import { startService, createTemporaryDirectory } from '../sync/control-plane.js'
import { startProcess } from '../sync/processes.js'

// Building the program and starting its processes takes its time.
t.setTimeout(300_000)

const permits = 3
const perMinute = 40

/** A slow FHIR server in front of another one, which counts its concurrent requests. */
async function startSlow (url: string) {
  const load = { now: 0, most: 0, delayMs: 0 }
  const server = createServer((incoming, outgoing) => {
    load.most = Math.max(load.most, ++load.now)
    outgoing.once('close', () => { load.now-- })
    setTimeout(() => {
      const { method, headers, url: path } = incoming
      const sent = request(new URL(path!, url), { method, headers }, received => {
        outgoing.writeHead(received.statusCode!, received.headers)
        received.pipe(outgoing)
      })
      incoming.pipe(sent)
    }, load.delayMs)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const { pathname } = new URL(url)
  return { load, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}` }
}

/** Two processes on one port with a control plane, and its store, which is open here as well. */
async function startTwo () {
  const slow = await startSlow((await startTestSandbox(t)).url)
  const data = createTemporaryDirectory(t)
  const [config, plans] = [join(data, 'config.json'), join(data, 'plans.json')]
  const metricsPort = await findFreePort()
  writeFileSync(config, JSON.stringify({
    events: { enabled: true }, metrics: { port: metricsPort }, limits: { inFlightPerOrganization: permits }
  }))
  const none = { requestsPerMonth: null, overage: true }
  writeFileSync(plans, JSON.stringify({
    pro: { requestsPerMinute: perMinute, ...none }, enterprise: { requestsPerMinute: null, ...none }
  }))
  const gateway = await startProcess(t, {
    CLINIGATE_DATA: data,
    CLINIGATE_CONFIG: config,
    CLINIGATE_PLANS: plans,
    CLINIGATE_PROCESSES: '2',
    FHIR_TEST_URL: slow.url,
    FHIR_LIVE_URL: slow.url
  })
  const store = await openControlStore({
    file: join(data, 'control.db'), plans: ['pro', 'enterprise'], now: () => new Date()
  })
  t.teardown(() => store.close())
  const tenants: string[] = []
  const createKey = async (plan: string) => {
    const { tenantId } = await store.organizations.create({ name: 'clinic', plan }, 'test')
    tenants.push(tenantId)
    return { tenantId, ...await store.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test') }
  }
  /** Resolves when two processes serve, neither of them the one that ended. */
  const waitUntilBothServe = async (ended?: number) => {
    const isServed = async () => (await send('GET', '/health')).body.data.checks.processes.running === 2
    const hasEnded = () => ended === undefined || !readPids().includes(ended)
    while (!hasEnded() || !await isServed().catch(() => false)) await pause(200)
  }
  const readPids = () => readFileSync(`/proc/${gateway.child.pid}/task/${gateway.child.pid}/children`, 'utf8')
    .trim().split(' ').map(Number)
  /** Each on a connection of its own, so that both processes get some. */
  const send = (method: string, path: string, { key = '', headers = {}, body }: Sent = {}) =>
    new Promise<{ status: number, headers: Record<string, unknown>, body: any }>((resolve, reject) => {
      const json = body === undefined ? undefined : JSON.stringify(body)
      const sent = request(gateway.url + path, {
        method,
        agent: new Agent(),
        headers: { 'x-api-key': key, ...json && { 'content-type': 'application/json' }, ...headers }
      }, async received => {
        try {
          let text = ''
          for await (const chunk of received) text += chunk
          resolve({ status: received.statusCode!, headers: received.headers, body: JSON.parse(text) })
        } catch (error) {
          reject(error)
        }
      })
      sent.once('error', reject)
      sent.end(json)
    })
  const waitUntilKnown = async (key: string, status: number) => {
    // The process of a connection is random: only many in a row show that both know.
    for (let times = 0; times < 20;) {
      const isKnown = (await send('GET', '/v1/usage', { key })).status === status
      times = isKnown ? times + 1 : 0
      if (!isKnown) await pause(50)
    }
  }
  const runMany = <T>(count: number, act: (at: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, at) => act(at)))
  await waitUntilBothServe()
  return {
    ...gateway,
    slow,
    store,
    tenants,
    createKey,
    send,
    waitUntilKnown,
    runMany,
    waitUntilBothServe,
    readPids,
    metricsPort,
    data
  }
}

interface Sent {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** How many requests of an organization the control plane has. */
async function countStoredRequests (store: Pick<ControlStore, 'usage'>, tenantId: string): Promise<number> {
  const ever = { from: new Date('2020-01-01'), to: new Date('2100-01-01') }
  return (await store.usage.sumUsage({ tenantId, ...ever })).totals[0]!.requests
}

const patient = { firstName: 'Ada', lastName: 'Byron' }

t.test('two processes serve one port as one gateway', async t => {
  const two = await startTwo()
  const { send, runMany, waitUntilKnown, store, slow } = two

  await t.test('they admit exactly the limit of a minute together', async t => {
    const { secret: key } = await two.createKey('pro')
    await waitUntilKnown(key, 200)
    const { headers } = await send('GET', '/v1/usage', { key })
    const left = Number(headers['x-ratelimit-remaining'])
    const responses = await runMany(left + 30, () => send('GET', '/v1/usage', { key }))
    t.equal(responses.filter(({ status }) => status === 200).length, left)
    t.equal(responses.filter(({ status }) => status === 429).length, 30)
    const remaining = responses.filter(({ status }) => status === 200).map(({ headers }) => Number(headers['x-ratelimit-remaining']))
    t.equal(new Set(remaining).size, left, 'no two were told that the same number is left')
  })

  await t.test('an organization has no more concurrent requests than with one process', async t => {
    const { secret: key } = await two.createKey('enterprise')
    await waitUntilKnown(key, 200)
    Object.assign(slow.load, { most: 0, delayMs: 50 })
    const responses = await runMany(30, () => send('GET', '/v1/patients?count=1', { key }))
    slow.load.delayMs = 0
    t.strictSame([...new Set(responses.map(({ status }) => status))], [200])
    t.equal(slow.load.most, permits)
  })

  await t.test('a request with an Idempotency-Key takes effect once, whichever process it reaches', async t => {
    const { secret: key } = await two.createKey('enterprise')
    await waitUntilKnown(key, 200)
    const headers = { 'idempotency-key': randomUUID() }
    const create = () => send('POST', '/v1/patients', { key, headers, body: patient })
    slow.load.delayMs = 20
    const first = await runMany(8, create)
    slow.load.delayMs = 0
    const made = first.filter(({ status }) => status === 201)
    t.ok(made.length >= 1)
    t.ok(first.every(({ status }) => status === 201 || status === 409))
    // One after the other, on so many connections that both processes get some.
    for (let times = 0; times < 20; times++) made.push(await create())
    t.strictSame([...new Set(made.map(({ body }) => body.data.id))], [made[0]!.body.data.id])
    t.equal((await send('GET', '/v1/patients', { key })).body.data.total, 1)
    const other = await send('POST', '/v1/patients', { key, headers, body: { ...patient, lastName: 'King' } })
    t.equal(other.status, 422, 'and the key is refused for another request')
  })

  await t.test('a revoked key is refused by both', async t => {
    const { secret: key, keyId } = await two.createKey('enterprise')
    await waitUntilKnown(key, 200)
    await store.keys.revoke(keyId, 'test')
    await waitUntilKnown(key, 401)
    const responses = await runMany(10, () => send('GET', '/v1/usage', { key }))
    t.ok(responses.every(({ status }) => status === 401))
  })

  await t.test('the metrics are those of both', async t => {
    const { secret: key } = await two.createKey('enterprise')
    await waitUntilKnown(key, 200)
    const scrape = async () => readScrape(await (await fetch(`http://127.0.0.1:${two.metricsPort}/metrics`)).text())
    const labels = { route: '/v1/patients/:id', status: '4xx' }
    const readCounted = async () => (await scrape()).value('clinigate_http_requests_total', labels)
    const before = await readCounted()
    await runMany(20, () => send('GET', '/v1/patients/none', { key }))
    await waitUntil(async () => await readCounted() === before + 20)
    t.equal((await scrape()).value('clinigate_check_ok', { check: 'processes' }), 1)
    t.equal((await scrape()).value('clinigate_build_info'), 1, 'what all have alike is not added up')
  })

  await t.test('a process that is killed under load is started again, and no acknowledged write is lost', async t => {
    const { secret: key, tenantId } = await two.createKey('enterprise')
    await waitUntilKnown(key, 200)
    const ids = new Set<string>()
    const stopping = new AbortController()
    const load = runMany(3, async () => {
      while (!stopping.signal.aborted) {
        const made = await send('POST', '/v1/patients', { key, body: patient }).catch(() => undefined)
        if (made?.status === 201) ids.add(made.body.data.id)
        // Processes that start need the processor, too.
        await pause(50)
      }
    })
    const sumLedgerRequests = () => ['', 'process-2'].map(folder => join(two.data, folder, 'usage.db'))
      .reduce((sum, file) => sum + countLedgerRequests(file), 0)
    await waitUntil(() => ids.size >= 20)
    const readRequestsTotal = async () => {
      const text = await (await fetch(`http://127.0.0.1:${two.metricsPort}/metrics`)).text()
      return readScrape(text).value('clinigate_http_requests_total')
    }
    for (const pid of two.readPids()) {
      const [onDisk, counted] = [sumLedgerRequests(), await readRequestsTotal()]
      process.kill(pid, 'SIGKILL')
      const before = ids.size
      await waitUntil(() => ids.size > before + 10)
      t.ok(sumLedgerRequests() >= onDisk, 'what was counted stays counted')
      t.ok(await readRequestsTotal() >= counted, 'and no total of the metrics falls')
      await two.waitUntilBothServe(pid)
    }
    stopping.abort()
    await load
    t.match(two.output.err, /"process":\d.*a process ended, and is started again/)
    const listEventIds = async () => (await store.events.list({ organizationId: tenantId, mode: 'test', after: 0, types: ['*'], limit: 10_000 }))
      .map(({ resourceId }) => resourceId)
    await waitUntil(async () => {
      const found = new Set(await listEventIds())
      return [...ids].every(id => found.has(id))
    })
    t.pass(`each of ${ids.size} creates that were acknowledged has its event`)
    const countSentRequests = async () => {
      const totals = await Promise.all(two.tenants.map(tenantId => countStoredRequests(store, tenantId)))
      return totals.reduce((sum, requests) => sum + requests, 0)
    }
    await waitUntil(async () => await countSentRequests() === sumLedgerRequests())
  })

  await t.test('both end with the first process, after their requests are served', async t => {
    const { secret: key } = await two.createKey('enterprise')
    await waitUntilKnown(key, 200)
    const pids = two.readPids()
    slow.load.delayMs = 2_000
    const before = slow.load.now
    const open = runMany(3, () => send('GET', '/v1/patients?count=1', { key }))
    await waitUntil(() => slow.load.now === before + 3)
    const ended = two.end()
    t.strictSame((await open).map(({ status }) => status), [200, 200, 200])
    t.equal(await ended, 0)
    t.throws(() => pids.map(pid => process.kill(pid, 0)))
    t.notMatch(two.output.err, key)
  })
})

t.test('processes that cannot start report it once, and end', async t => {
  const { url } = await startTestSandbox(t)
  const taken = createServer()
  await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
  t.teardown(() => taken.close())
  const { port } = taken.address() as AddressInfo
  await t.rejects(startProcess(t, {
    PORT: String(port), CLINIGATE_PROCESSES: '2', FHIR_TEST_URL: url, FHIR_LIVE_URL: url
  }), /it ended: [^]*another process uses the port/)
})

t.test('the counts of processes are sent when there are fewer of them', async t => {
  const data = createTemporaryDirectory(t)
  mkdirSync(join(data, 'process-2'))
  const now = () => new Date()
  const log = { info: () => {}, warn: () => {}, error: () => {} }
  const ledger = new UsageLedger({ file: join(data, 'process-2', 'usage.db'), now, log })
  await ledger.opened
  ledger.record(buildUsageEvent(), now().toISOString())
  await ledger.close()
  const { control } = await startService(t, { CLINIGATE_DATA: data })
  await waitUntil(async () => await countStoredRequests(control!, 'org-a') === 1)
  t.pass('the control plane has it')
})
