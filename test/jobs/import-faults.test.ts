import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { test, type Test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { createImporter, toNdjson } from './importing.js'

/** `sent` is the transaction as it came. */
type Fault = (sent: string, response: ServerResponse, forward: () => Promise<Response>) => Promise<boolean> | boolean

/** A datastore behind a proxy that injects faults into transactions. */
async function startFaulty (t: Test, fault: Fault): Promise<string> {
  const sandbox = await startTestSandbox(t)
  const { origin } = new URL(sandbox.url)
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(
        ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'].includes(name)
      )
    ) as Record<string, string>
    const forward = () =>
      fetch(`${origin}${request.url!}`, { method: request.method!, headers, ...(body !== '' && { body }) })
    const isTransaction = request.method === 'POST' && body.includes('"transaction"')
    if (isTransaction && await fault(body, response, forward)) return
    const received = await forward()
    response
      .writeHead(received.status, { 'content-type': received.headers.get('content-type') ?? 'application/fhir+json' })
      .end(await received.text())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${new URL(sandbox.url).pathname.replace(/\/$/, '')}`
}

const buildLines = (count: number) =>
  [...Array(count).keys()].map(at =>
    at % 3 === 0
      ? { resourceType: 'Patient', id: `p${at}`, name: [{ family: `N${at}` }] }
      : {
          resourceType: 'Observation',
          status: 'final',
          code: { text: `weight ${at}` },
          subject: { reference: `Patient/p${at - (at % 3)}` }
        }
  )

test('a datastore that is busy, sends HTML, half a body or no response for a while: every line is stored once', async t => {
  let error = 0
  const fhirUrl = await startFaulty(t, async (_, response, forward) => {
    switch (error++) {
      case 0:
        response.writeHead(503, { 'retry-after': '1' }).end()
        return true
      case 1:
        response.writeHead(429, { 'content-type': 'application/fhir+json' }).end('{}')
        return true
      case 2:
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
        return true
      case 3: {
        const received = await (await forward()).text()
        response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(received.slice(0, received.length / 2))
        return true
      }
      case 4:
        await forward()
        response.destroy()
        return true
      default:
        return false
    }
  })
  const gateway = await startGateway(t, { fhirUrl })
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const { job, results } = await client.run(buildLines(300))
  t.match(job, { status: 'completed', processedRecords: 300, failedRecords: 0 })
  t.ok(
    results.every(({ status }) => status === 'created'),
    'a record whose response was lost was created all the same'
  )
  t.equal((await client.get('/fhir/Observation?_summary=count')).body.total, 200)
  t.equal((await client.get('/fhir/Patient?_summary=count')).body.total, 100)
  t.ok(error > 5)
})

test('a record that a datastore always breaks at fails alone, and is not counted', async t => {
  const fhirUrl = await startFaulty(t, async (sent, response, forward) => {
    const received = await forward()
    const body = await received.text()
    const isPoison = sent.includes('poison')
    response
      .writeHead(isPoison ? 500 : received.status, { 'content-type': 'application/fhir+json' })
      .end(isPoison ? '{}' : body)
    return true
  })
  const gateway = await startGateway(t, { fhirUrl })
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const { results } = await client.run([...buildLines(9), { resourceType: 'Patient', name: [{ family: 'poison' }] }])
  t.same(results.map(({ status }) => status), [...Array(9).fill('created'), 'failed'])
  t.equal(results[9]!.code, 'BACKEND_ERROR')
})

test('a response with a record of another tenant is an incident of that line alone', async t => {
  const fhirUrl = await startFaulty(t, async (_, response, forward) => {
    const received = await (await forward()).json() as { entry: Array<{ resource: { meta: { tag: unknown } } }> }
    received.entry[1]!.resource.meta.tag = [{ system: 'urn:clinigate:tenant', code: 'somebody-else' }]
    response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(JSON.stringify(received))
    return true
  })
  const gateway = await startGateway(t, { fhirUrl })
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const { results } = await client.run(buildLines(3).map(line => ({ ...line, subject: undefined })))
  t.match(
    results.map(({ status, code }) => ({ status, code })),
    [{ status: 'created' }, { status: 'failed', code: 'INTERNAL_ERROR' }, { status: 'created' }]
  )
  t.match(
    gateway.logged().filter(({ incident }) => incident !== undefined),
    [{ incident: { kind: 'foreign-response', interaction: 'import', records: 1 } }]
  )
})

test('a client that goes away in the middle of an upload leaves nothing behind', async t => {
  const gateway = await startGateway(t)
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const folder = join(gateway.dataDirectory, 'bulk')
  const sending = httpRequest(`${gateway.url}/v1/bulk/import`, {
    method: 'POST',
    headers: { 'x-api-key': client.secret, 'content-type': 'application/x-ndjson' }
  })
  sending.on('error', () => {})
  sending.write('{"resourceType":"Patient"}\n'.repeat(50_000))
  const listJobs = () => readdirSync(folder).filter(name => name.startsWith('job-'))
  while (listJobs().length === 0) await pause(10)
  sending.destroy()
  for (let tries = 0; listJobs().length > 0 && tries < 3_000; tries++) await pause(10)
  t.same(listJobs(), [])
  t.equal((await client.get('/bulk/jobs')).body.data.total, 0)
})

test('a cancelled import stops, and its results list what was written', async t => {
  let [transactions, goOn] = [0, () => {}]
  const isCancelled = new Promise<void>(resolve => { goOn = resolve })
  // However fast the machine is, it is in the middle when it is cancelled.
  const fhirUrl = await startFaulty(t, async () => {
    if (++transactions > 1) await isCancelled
    return false
  })
  t.after(() => goOn())
  const gateway = await startGateway(t, { fhirUrl })
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const started = await client.send(toNdjson(buildLines(3_000)))
  const { jobId } = started.body.data
  while ((await client.fetchResults(jobId).catch(() => [])).every(({ status }) => status !== 'created')) await pause(50)
  t.equal(
    (
      await fetch(`${gateway.url}/v1/bulk/jobs/${jobId}`, {
        method: 'DELETE',
        headers: { 'x-api-key': client.secret }
      })
    ).status,
    200
  )
  t.equal((await client.waitForEnd(jobId)).status, 'cancelled')
  goOn()
  while (gateway.logged().every(({ msg }) => msg !== 'work on a bulk job stopped')) await pause(20)
  const results = await client.fetchResults(jobId)
  const created = results.filter(({ status }) => status === 'created').length
  t.ok(created > 0 && created < 3_000, String(created))
  const stored =
    (await client.get('/fhir/Patient?_summary=count')).body.total +
    (await client.get('/fhir/Observation?_summary=count')).body.total
  t.equal(stored, created)
})
