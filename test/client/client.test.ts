import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createClient, type RetryOptions } from '../../src/client/index.js'
import { resourcePaths } from '../../src/client/resource-paths.js'
import { mappings } from '../../src/mappings/registry.js'
import { testClient } from './client-contract.js'

t.test('on the sandbox', async t => testClient(t, {}))

t.test('there is a client for every resource', async t => {
  t.strictSame(
    Object.values(resourcePaths).sort(),
    mappings.map(({ path }) => `/v1/${path}`).sort(),
    "npm run build makes the client's files anew"
  )
  const client = createClient({ url: 'http://127.0.0.1:9', key: 'k' })
  t.type(client.practitionerRoles.search, 'function')
})

interface Request {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type ResponseHandler = (response: ServerResponse, request: IncomingMessage) => unknown

/** A server that responds with the handlers of the test in turn, and a client of it. */
async function startScriptedServer (t: Test, handlers: readonly ResponseHandler[], retry: RetryOptions = {}) {
  const requests: Request[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ method: request.method!, url: request.url!, headers: request.headers, body })
    handlers[Math.min(requests.length, handlers.length) - 1]!(response, request)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => { server.closeAllConnections(); server.close() })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { requests, url, client: createClient({ url, key: 'svc_test_1', retry: { firstPauseMs: 2, ...retry } }) }
}

const sendOk: ResponseHandler = response => sendJson(response, 200, { data: { id: '1' }, meta: {} })
const hangUp: ResponseHandler = (_, request) => request.socket.destroy()
const sendHalfResponse: ResponseHandler = response => {
  response.writeHead(200, { 'content-length': 100 })
  response.write('{"data"')
  setTimeout(() => response.destroy(), 5)
}
const sendNothing: ResponseHandler = () => {}
const failWith =
  (status: number, headers: Record<string, string> = {}, code = 'BACKEND_UNAVAILABLE'): ResponseHandler =>
    response =>
      sendJson(response, status, { data: null, code, message: 'Wait.', issues: [], meta: { requestId: 'r1' } }, headers)

function sendJson (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response
    .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r1', ...headers })
    .end(JSON.stringify(body))
}

t.test('a request that reads, or has an idempotency key, is retried until it gets a final response', async t => {
  const { requests, client } = await startScriptedServer(t, [hangUp, failWith(503), sendHalfResponse, sendOk])
  t.match(await client.patients.read('1'), { id: '1' })
  t.equal(requests.length, 4)
  const writing = await startScriptedServer(t, [hangUp, failWith(504), failWith(502), sendOk])
  t.match(await writing.client.patients.create({ firstName: 'A', lastName: 'B' }), { id: '1' })
  t.equal(new Set(writing.requests.map(({ headers }) => headers['idempotency-key'])).size, 1, 'with one key')
  t.match(writing.requests[0]!.headers, { 'x-api-key': 'svc_test_1', 'idempotency-key': /^[0-9a-f-]{36}$/ })
  t.strictSame(new Set(writing.requests.map(({ body }) => body)), new Set(['{"firstName":"A","lastName":"B"}']))
  t.equal(writing.requests[0]!.url, '/v1/patients')
})

t.test('a deletion is retried only when nothing was done', async t => {
  const broken = await startScriptedServer(t, [hangUp, sendOk])
  await t.rejects(broken.client.patients.delete('1'), { name: 'ClinigateError', code: 'NETWORK_ERROR', status: 0 })
  const unavailable = await startScriptedServer(t, [failWith(503), sendOk])
  await t.rejects(unavailable.client.patients.delete('1'), {
    code: 'BACKEND_UNAVAILABLE',
    status: 503,
    requestId: 'r1'
  })
  const limited = await startScriptedServer(t, [failWith(429, { 'retry-after': '0' }, 'RATE_LIMITED'), sendOk])
  await limited.client.patients.delete('1')
  t.strictSame([broken, unavailable, limited].map(({ requests }) => requests.length), [1, 1, 2])
})

t.test('a key in use is waited for, any other conflict is not', async t => {
  const inFlight = await startScriptedServer(t, [hangUp, failWith(409, { 'retry-after': '0' }, 'CONFLICT'), sendOk])
  await inFlight.client.patients.update('1', { active: true })
  t.equal(inFlight.requests.length, 3)
  const conflict = await startScriptedServer(t, [failWith(409, {}, 'CONFLICT'), sendOk])
  await t.rejects(conflict.client.patients.update('1', { active: true }), { code: 'CONFLICT' })
  t.equal(conflict.requests.length, 1)
})

t.test('attempts are limited in number and in time', async t => {
  const { requests, client } = await startScriptedServer(t, [failWith(503, { 'retry-after': '0' })], { attempts: 3 })
  await t.rejects(client.patients.search(), { code: 'BACKEND_UNAVAILABLE', retryAfter: 0 })
  t.equal(requests.length, 3)
  const patient = await startScriptedServer(t, [failWith(429, { 'retry-after': '86400' }, 'MONTHLY_QUOTA_EXCEEDED'), sendOk])
  await t.rejects(patient.client.patients.search(), { code: 'MONTHLY_QUOTA_EXCEEDED', retryAfter: 86400 })
  t.equal(patient.requests.length, 1, 'a day is not waited for')
  // On a machine that stands still some more attempts fit into the time.
  const silent = await startScriptedServer(t, [sendNothing, sendOk], { timeoutMs: 50, attempts: 100, maxPauseMs: 2 })
  t.match(await silent.client.patients.read('1'), { id: '1' }, 'an attempt without an answer ends')
  const wrong = await startScriptedServer(t, [failWith(400, {}, 'UNKNOWN_FILTER'), sendOk])
  await t.rejects(wrong.client.patients.search(), { code: 'UNKNOWN_FILTER' })
  t.equal(wrong.requests.length, 1, 'a mistake stays one')
})

t.test('an abort ends a request at once, during an attempt and between two', async t => {
  for (const handler of [sendNothing, failWith(503)]) {
    const abort = new AbortController()
    const handleThenAbort: ResponseHandler = (response, request) => {
      handler(response, request)
      setTimeout(() => abort.abort(new Error('enough')), 50)
    }
    const { requests, client } = await startScriptedServer(t, [handleThenAbort], {
      firstPauseMs: 60_000,
      maxPauseMs: 60_000
    })
    const reading = client.patients.all({}, { signal: abort.signal }).next()
    await t.rejects(reading, { message: 'enough' })
    t.equal(requests.length, 1)
  }
  const { requests, client } = await startScriptedServer(t, [sendOk])
  await t.rejects(
    client.patients.create({ firstName: 'A', lastName: 'B' }, { signal: AbortSignal.abort(new Error('before')) }),
    { message: 'before' }
  )
  t.equal(requests.length, 0)
})

t.test('the key is sent to no other host', async t => {
  const other = await startScriptedServer(t, [sendOk])
  const { client } = await startScriptedServer(
    t,
    [response => response.writeHead(307, { location: `${other.url}v1/patients/1` }).end()],
    { attempts: 1 }
  )
  await t.rejects(client.patients.read('1'), { code: 'NETWORK_ERROR' })
  t.equal(other.requests.length, 0)
})

t.test('a response of an intermediary is no response of the gateway', async t => {
  for (const handler of [
    (response: ServerResponse) => response.writeHead(403).end('<html>'),
    (response: ServerResponse) => response.writeHead(200).end('<html>')
  ]) {
    const { client } = await startScriptedServer(t, [handler])
    await t.rejects(client.patients.read('1'), { name: 'ClinigateError', code: 'UNEXPECTED_RESPONSE' })
  }
})

t.test('a request with a path or filter that would mean another one is not sent', async t => {
  const { requests, client } = await startScriptedServer(t, [sendOk])
  for (const id of ['', '.', '..']) await t.rejects(client.patients.delete(id), TypeError)
  await t.rejects(client.patients.search({ gender: [] }), TypeError, 'an empty list would match everything')
  t.equal(requests.length, 0)
  await client.patients.read('../practitioners/1?x=1#y')
  t.equal(requests[0]!.url, '/v1/patients/..%2Fpractitioners%2F1%3Fx%3D1%23y')
})

t.test('an export is started and a job cancelled again only where a repetition has no second effect', async t => {
  const sendJob = (status: string): ResponseHandler => response => sendJson(response, 200, { data: { id: 'job-1', status }, meta: {} })
  const sendStarted: ResponseHandler = response => sendJson(response, 202, { data: { jobId: 'job-1' }, meta: {} })
  const refused = await startScriptedServer(t, [failWith(503), failWith(429, { 'retry-after': '0' }, 'RATE_LIMITED'), sendStarted])
  t.equal(await refused.client.bulk.export({ resourceTypes: ['patients'] }), 'job-1')
  t.strictSame(refused.requests.map(({ url }) => url), Array(3).fill('/v1/bulk/export'))
  const lost = await startScriptedServer(t, [hangUp, sendStarted])
  await t.rejects(lost.client.bulk.export(), { code: 'NETWORK_ERROR' }, 'which may have started it')
  t.equal(lost.requests.length, 1)
  const cancelled = await startScriptedServer(t, [hangUp, failWith(503), sendJob('cancelled')])
  t.match(await cancelled.client.bulk.cancel('job-1'), { status: 'cancelled' })
  const sent = cancelled.requests.map(({ method, url }) => `${method} ${url}`)
  t.strictSame(sent, Array(3).fill('DELETE /v1/bulk/jobs/job-1'))
  const waited = await startScriptedServer(t, [sendJob('pending'), failWith(503), sendJob('completed')])
  const seen: string[] = []
  const onProgress = ({ status }: { readonly status: string }): void => { seen.push(status) }
  t.match(await waited.client.bulk.wait('job-1', { onProgress }), { status: 'completed' })
  t.strictSame(seen, ['pending'])
})

t.test('a request that could not be sent is retried, unless the time for all attempts is over', async t => {
  const closed = createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  for (const [totalMs, expected] of [[60_000, [1, 2]], [0, []]] as const) {
    const attempts: number[] = []
    const onRetry = (count: number): void => { attempts.push(count) }
    const retry = { attempts: 3, firstPauseMs: 2, totalMs, onRetry }
    const client = createClient({ url: `http://127.0.0.1:${port}`, key: 'k', retry })
    await t.rejects(client.bulk.export(), { code: 'NETWORK_ERROR', cause: { cause: { code: 'ECONNREFUSED' } } })
    t.strictSame(attempts, expected, `${totalMs} ms`)
  }
})
