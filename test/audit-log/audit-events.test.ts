import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type Test } from 'tap'
import { AuditEvents, type AuditEventsParts } from '../../src/observability/audit-log/audit-events.js'
import type { AuditBacklogEntry } from '../../src/observability/audit-log/entry.js'
import { Failure } from '../../src/envelope/failures.js'
import type { JobOwner } from '../../src/jobs/model/job.js'
import type { AccessEvent, AccessEventOutcome } from '../../src/tenant-guard/access-events.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { createImporter } from '../jobs/importing.js'
import { createGatewayClient } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { testAuditEvents } from './audit-events-contract.js'

async function startEventful (t: Test, settings: GatewaySettings = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-events-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'access.log')
  const gateway = await startGateway(t, { ...settings, config: { auditLog: { file, auditEvents: true } } })
  return {
    gateway,
    lines: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line))
  }
}

test('each access is an AuditEvent of its own organization, in the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testAuditEvents(t, sandbox.url)
})

test('a gateway that closes stores its last AuditEvents first, and no AuditEvent describes another one', async t => {
  const sandbox = await startTestSandbox(t)
  const { gateway, lines } = await startEventful(t, { fhirUrl: sandbox.url })
  const client = await createGatewayClient(gateway)
  for (let i = 0; i < 120; i++) await client.send('GET', 'patients/nobody')
  await gateway.close()
  const stored = await createFhirClient(sandbox.url).fetchTagged(client.tenantId, 'AuditEvent')
  t.equal(stored.length, 120)
  t.same(
    stored.map(({ id }) => id).sort(),
    lines()
      .map(({ hash }) => `clinigate-access-${hash.slice(0, 40)}`)
      .sort(),
    'each has the hash of its line'
  )
})

test('a bulk job is an AuditEvent, and an import can neither change nor forge one of the gateway\'s', async t => {
  const sandbox = await startTestSandbox(t)
  const { gateway, lines } = await startEventful(t, { fhirUrl: sandbox.url })
  const { tenantId, secret } = await gateway.createKey()
  const imports = createImporter(gateway, secret)
  const { job } = await imports.run([{ resourceType: 'Patient', id: 'a' }])
  const direct = createFhirClient(sandbox.url)
  const findJobEvent = async () =>
    (await direct.fetchTagged(tenantId, 'AuditEvent')).find(event => JSON.stringify(event.entity).includes(job.id))
  await waitUntil(async () => await findJobEvent() !== undefined)
  const event = (await findJobEvent())!
  t.match(event, { action: 'E', outcome: '0', subtype: [{ code: 'operation' }] })
  const { results } = await imports.run([
    { ...event, outcome: '8' },
    { ...event, id: `clinigate-access-${'0'.repeat(40)}` }
  ])
  t.equal((await direct.read('AuditEvent', event.id)).outcome, '0', 'what it calls by that id is another record')
  const known = new Set(lines().map(({ hash }) => `clinigate-access-${hash.slice(0, 40)}`))
  t.ok(results.every(({ id }) => id === undefined || !id.startsWith('clinigate-access-')))
  t.same(
    (await direct.fetchTagged(tenantId, 'AuditEvent')).filter(
      ({ id }) => id.startsWith('clinigate-access-') && !known.has(id)
    ),
    []
  )
})

test('while a datastore rejects all AuditEvents, requests are served and the log reports the lost events', async t => {
  const server = await startFaultyServer()
  t.teardown(() => server.close())
  server.answerProbes()
  server.behave((response, request) =>
    sendJson(request.method === 'GET' ? 404 : 500, { resourceType: 'OperationOutcome' })(response, request)
  )
  const { gateway, lines } = await startEventful(t, { fhirUrl: server.url })
  const client = await createGatewayClient(gateway)
  for (let i = 0; i < 3; i++) t.equal((await client.send('GET', 'patients/nobody')).status, 404)
  await waitUntil(() => gateway.logged().some(({ msg }) => msg === 'AuditEvents of accesses are waiting for a datastore'))
  t.equal((await client.send('GET', 'patients/nobody')).status, 404)
  await gateway.close()
  const { tenantId } = client
  t.match(lines().at(-1), { action: 'unsent', tenantId, mode: 'test', records: 4 })
  t.equal(lines().length, 5, 'the log itself has every access')
})

test('while a datastore rejects AuditEvents permanently, requests are served and /health is degraded', async t => {
  const sandbox = await startTestSandbox(t, { readOnlyTypes: ['AuditEvent'] })
  const { gateway } = await startEventful(t, { fhirUrl: sandbox.url })
  const client = await createGatewayClient(gateway)
  t.equal((await client.send('GET', 'patients/nobody')).status, 404)
  const fetchHealth = async () => (await gateway.inject({ url: '/health' })).json().data
  await waitUntil(async () => (await fetchHealth()).checks.auditEvents?.status === 'degraded')
  const { status, checks: { auditEvents } } = await fetchHealth()
  t.match({ status, auditEvents }, { status: 'degraded', auditEvents: { reason: /AuditEvent/ } })
  t.equal((await client.send('POST', 'patients', { lastName: 'Byron' })).status, 201)
})

test('AuditEvents that a datastore rejects one by one are reported, and the others are stored', async t => {
  const server = await startFaultyServer()
  t.teardown(() => server.close())
  server.answerProbes()
  const sent: any[] = []
  server.behave((response, request) => {
    if (request.method === 'GET') return sendJson(404, { resourceType: 'OperationOutcome' })(response, request)
    const bundle = JSON.parse(server.seen.at(-1)!.body)
    sent.push(bundle)
    if (bundle.type === 'transaction') return sendJson(422, { resourceType: 'OperationOutcome' })(response, request)
    sendJson(200, {
      resourceType: 'Bundle',
      type: 'batch-response',
      entry: bundle.entry.map((_: unknown, at: number) => ({ response: { status: at === 0 ? '422' : '201 Created' } }))
    })(response, request)
  })
  const { gateway, lines } = await startEventful(t, { fhirUrl: server.url })
  const client = await createGatewayClient(gateway)
  for (let i = 0; i < 3; i++) await client.send('GET', 'patients/nobody')
  await gateway.close()
  const unsent = lines().filter(({ action }) => action === 'unsent')
  const batches = sent.filter(({ type }) => type === 'batch')
  t.equal(unsent.reduce((sum, { records }) => sum + records, 0), batches.length, 'one of each batch')
  t.equal(batches.reduce((sum, { entry }) => sum + entry.length, 0), 3, 'none was sent again')
})

test('an organization without a datastore has no AuditEvents, and the log reports it', async t => {
  const { gateway, lines } = await startEventful(t)
  const client = await createGatewayClient(gateway, { plan: 'enterprise', mode: 'live' })
  t.equal((await client.send('GET', 'patients')).status, 503)
  await gateway.close()
  t.same(lines().map(({ action }) => action), ['R', 'unsent'])
})

const buildOwner = (tenantId: string): JobOwner => ({
  tenantId,
  mode: 'test',
  keyId: 'k',
  keyName: 'a key',
  plan: 'pro',
  overage: true
})
const buildEvent = (id: number): AccessEvent => ({ resourceType: 'AuditEvent', id: String(id) })

function openAuditEvents (parts: Pick<AuditEventsParts, 'store'> & Partial<AuditEventsParts>) {
  const reported: AuditBacklogEntry[] = []
  const log = { info () {}, warn () {}, error () {} }
  const events = new AuditEvents({
    datastoreOf: ({ tenantId }) => tenantId.slice(0, 1),
    reportUnsent: async unsent => {
      reported.push(unsent)
    },
    now: () => new Date(0),
    log,
    pauseMs: 1,
    ...parts
  })
  return { events, reported }
}

const throwUnavailable = async () => { throw new Failure('BACKEND_UNAVAILABLE') }

test('memory is bounded for each datastore, so that one that is down does not affect another one', async t => {
  const stored: string[] = []
  const { events, reported } = openAuditEvents({
    maxWaiting: 5,
    store: async (of, some) =>
      of.tenantId === 'a1'
        ? await throwUnavailable()
        : some.map(({ id }): AccessEventOutcome => {
          stored.push(id)
          return 'stored'
        })
  })
  for (let i = 0; i < 12; i++) events.add(buildOwner('a1'), buildEvent(i))
  for (let i = 0; i < 5; i++) events.add(buildOwner('b1'), buildEvent(i))
  await waitUntil(() => stored.length === 5)
  t.same(events.counts, { stored: 5, unsent: 7, waiting: 5 })
  await waitUntil(() => reported.length === 1)
  t.match(reported[0], { tenantId: 'a1', action: 'unsent', records: 7 })
  await events.close()
  t.match(reported[1], { tenantId: 'a1', records: 5 })
  t.same(events.counts, { stored: 5, unsent: 12, waiting: 0 })
})

test('AuditEvents that a datastore did not accept are stored when it recovers, in transactions of 100 of one organization', async t => {
  let isDown = true
  const transactions: Array<{ readonly tenantId: string; readonly ids: string[] }> = []
  const { events, reported } = openAuditEvents({
    store: async ({ tenantId }, some) => {
      if (isDown) await throwUnavailable()
      transactions.push({ tenantId, ids: some.map(({ id }) => id) })
      return some.map(() => 'stored')
    }
  })
  for (let i = 0; i < 250; i++) events.add(buildOwner(i % 2 === 0 ? 'a1' : 'a2'), buildEvent(i))
  await new Promise(resolve => setTimeout(resolve, 10))
  isDown = false
  await waitUntil(() => events.counts.stored === 250)
  await events.close()
  t.ok(
    transactions.every(
      ({ tenantId, ids }) => ids.length <= 100 && ids.every(id => (Number(id) % 2 === 0) === (tenantId === 'a1'))
    )
  )
  t.equal(new Set(transactions.flatMap(({ ids }) => ids)).size, 250)
  t.same(reported, [])
})

test('AuditEvents that a datastore does not accept yet wait, and the others are stored', async t => {
  let request = 0
  const { events, reported } = openAuditEvents({
    store: async (_, some) => {
      request++
      return some.map(({ id }): AccessEventOutcome => (id === '1' && request < 4 ? 'again' : 'stored'))
    }
  })
  for (let i = 0; i < 3; i++) events.add(buildOwner('a1'), buildEvent(i))
  await waitUntil(() => events.counts.stored === 3)
  t.equal(request, 4)
  await events.close()
  t.same(reported, [])
  events.add(buildOwner('a1'), buildEvent(4))
  t.match(reported, [{ tenantId: 'a1', records: 1 }], 'an event after the end is reported as given up')
})

test('closing waits no longer than its limit for a datastore that does not respond', async t => {
  let release = () => {}
  const { events, reported } = openAuditEvents({
    closingMs: 20,
    store: async (_, some) => {
      await new Promise<void>(resolve => {
        release = resolve
      })
      return some.map(() => 'stored')
    }
  })
  events.add(buildOwner('a1'), buildEvent(1))
  await events.close()
  t.match(reported, [{ records: 1 }])
  release()
  await new Promise(resolve => setTimeout(resolve, 5))
  t.same(events.counts, { stored: 0, unsent: 1, waiting: 0 }, 'what was given up is not counted again')
})
