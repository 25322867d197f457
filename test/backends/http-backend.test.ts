import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import {
  formatBasicHeader, formatBearerHeader, createFixedAuthorization
} from '../../src/backends/authentication/authorization.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import type { HttpBackendOptions } from '../../src/backends/http-backend.js'
import type { BackendRequest } from '../../src/backends/backend.js'
import { sendJson, startFaultyServer } from './faulty-server.js'
import type { Behaviour, FaultyServer } from './faulty-server.js'
import { waitUntil } from '../harness/until.js'
import { catchFailure } from '../tenant-guard/guarded.js'

const read: BackendRequest = { method: 'GET', path: 'Patient/1' }
const write: BackendRequest = { method: 'POST', path: 'Patient', body: '{"resourceType":"Patient"}' }

async function startStub (
  test: Test,
  options: Partial<HttpBackendOptions> = {}
): Promise<{ server: FaultyServer; backend: HttpBackend }> {
  const server = await startFaultyServer()
  const backend = new HttpBackend({ name: 'stub', baseUrl: `${server.url}/fhir`, retryPauseMs: 5, ...options })
  test.teardown(async () => {
    await Promise.all([server.close(), backend.close()])
  })
  return { server, backend }
}

const sendHtml: Behaviour = response => {
  response.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>')
}
const sendHalfBody: Behaviour = response => {
  response.writeHead(200, { 'content-type': 'application/fhir+json', 'content-length': '100' })
  response.write('{"resourceType":')
  setTimeout(() => response.destroy(), 10)
}
const reset: Behaviour = response => { response.destroy() }
const neverRespond: Behaviour = () => {}
const stallAfterHeaders: Behaviour = response => {
  response.writeHead(200, { 'content-type': 'application/fhir+json' }).write('{')
}
const dripBody: Behaviour = response => {
  response.writeHead(200, { 'content-type': 'application/fhir+json' })
  const timer = setInterval(() => response.write(' '), 20)
  response.on('close', () => clearInterval(timer))
}

t.test("a request reaches the path below the base URL with the gateway's own headers and no others", async t => {
  const { server, backend } = await startStub(t, { authorization: createFixedAuthorization(formatBearerHeader('secret')) })
  await backend.send({ ...write, headers: { prefer: 'return=representation', 'x-request-id': 'r1' } })
  const { method, url, headers, body } = server.seen[0]!
  t.strictSame([method, url, body], ['POST', '/fhir/Patient', write.body])
  t.strictSame(headers, {
    host: `127.0.0.1:${server.port}`,
    connection: 'keep-alive',
    accept: 'application/fhir+json',
    authorization: 'Bearer secret',
    prefer: 'return=representation',
    'x-request-id': 'r1',
    'content-type': 'application/fhir+json; charset=utf-8',
    'content-length': String(write.body!.length)
  })
})

t.test('a page link at the base, a search by POST and a basic credential are sent unchanged', async t => {
  const { server, backend } = await startStub(t, { authorization: createFixedAuthorization(formatBasicHeader('gateway', 'pä:ss')) })
  await backend.send({ method: 'GET', path: '?_getpages=1' })
  await backend.send({ method: 'POST', path: 'Patient/_search?_tag=a%7Cb', form: 'name=x' })
  t.strictSame(server.seen.map(seen => seen.url), ['/fhir?_getpages=1', '/fhir/Patient/_search?_tag=a%7Cb'])
  t.equal(server.seen[1]!.headers['content-type'], 'application/x-www-form-urlencoded; charset=utf-8')
  t.equal(server.seen[1]!.headers.authorization, 'Basic ' + Buffer.from('gateway:pä:ss').toString('base64'))
})

t.test('a header that may steer the datastore is never sent', async t => {
  const { server, backend } = await startStub(t)
  for (const name of ['content-location', 'x-cascade', 'authorization', 'host', 'X-Request-Id']) {
    await t.rejects(backend.send({ ...read, headers: { [name]: 'x' } }), {
      message: `the header ${name} must not be sent to a datastore`
    })
  }
  await t.rejects(backend.send({ ...read, headers: { 'x-request-id': 'a\r\nx-cascade: delete' } }))
  t.equal(server.seen.length, 0)
})

t.test('responses below 500 are returned with their text untouched', async t => {
  const { server, backend } = await startStub(t)
  server.behave(response => {
    response
      .writeHead(200, { 'content-type': 'application/fhir+json;charset=UTF-8', etag: 'W/"3"' })
      .end('{"value":1.10,"text":"ü€😀"}')
  })
  const received = await backend.send(read)
  t.strictSame([received.status, received.headers.etag, received.body], [200, 'W/"3"', '{"value":1.10,"text":"ü€😀"}'])
  for (const status of [400, 404, 409, 410, 412, 422]) {
    server.behave(sendJson(status, { resourceType: 'OperationOutcome' }))
    t.equal((await backend.send(read)).status, status)
  }
  server.behave(response => { response.writeHead(204).end() })
  t.equal((await backend.send({ method: 'DELETE', path: 'Patient/1' })).body, '')
})

t.test('each failure of the datastore has its code', async t => {
  const patient = await startStub(t, { maxResponseBytes: 1000 })
  const hasty = await startStub(t, { headersTimeoutMs: 100, bodyTimeoutMs: 100, totalTimeoutMs: 1000 })
  const cases: Array<[string, Behaviour, string, RegExp?]> = [
    ['HTML', sendHtml, 'BACKEND_ERROR'],
    ['half a body', sendHalfBody, 'BACKEND_ERROR'],
    ['a connection that is reset', reset, 'BACKEND_ERROR'],
    ['500', sendJson(500, {}), 'BACKEND_ERROR'],
    ['502', sendJson(502, {}), 'BACKEND_ERROR'],
    ['our credential refused', sendJson(401, {}), 'BACKEND_ERROR'],
    ['our credential without rights', sendJson(403, {}), 'BACKEND_ERROR'],
    ['a proxy that wants a credential', sendJson(407, {}), 'BACKEND_ERROR'],
    ['a redirect', sendJson(302, {}, { location: 'http://127.0.0.1:1/' }), 'BACKEND_ERROR'],
    ['a body too large', sendJson(200, { text: 'x'.repeat(2000) }), 'BACKEND_ERROR'],
    [
      'a body that is not UTF-8',
      response => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x22, 0xff, 0x22]))
      },
      'BACKEND_ERROR'
    ],
    ['a compressed body that was not requested', sendJson(200, {}, { 'content-encoding': 'gzip' }), 'BACKEND_ERROR'],
    ['no headers', neverRespond, 'BACKEND_TIMEOUT'],
    ['a body that stops', stallAfterHeaders, 'BACKEND_TIMEOUT'],
    ['a body that drips for ever', dripBody, 'BACKEND_TIMEOUT'],
    ['429', sendJson(429, {}), 'BACKEND_UNAVAILABLE', /^5$/],
    ['503', sendJson(503, {}), 'BACKEND_UNAVAILABLE', /^5$/],
    ['503 with Retry-After', sendJson(503, {}, { 'retry-after': '17' }), 'BACKEND_UNAVAILABLE', /^17$/],
    ['503 with an insane Retry-After', sendJson(503, {}, { 'retry-after': '99999999' }), 'BACKEND_UNAVAILABLE', /^5$/]
  ]
  for (const [what, behaviour, code, retryAfter = /^undefined$/] of cases) {
    const { server, backend } = code === 'BACKEND_TIMEOUT' ? hasty : patient
    for (const request of [read, write]) {
      // So that a connection is there, and the request is sent before any timeout.
      server.behave(sendJson(200, {}))
      await backend.send(read).catch(() => {})
      server.behave(behaviour)
      const failure = await catchFailure(backend.send(request))
      t.equal(failure.code, code, `${what}: ${request.method}`)
      t.match(String(failure.headers['retry-after']), retryAfter, what)
      t.notMatch(failure.message, /127|fhir|Patient/i, what)
    }
  }
})

t.test('a write with an unknown outcome is reported as such, to be checked by the client, and is never retried', async t => {
  const { server, backend } = await startStub(t, { headersTimeoutMs: 100 })
  for (const behaviour of [reset, sendHalfBody, neverRespond, sendJson(500, {}), sendJson(502, {}), sendHtml]) {
    server.behave(behaviour)
    t.match((await catchFailure(backend.send(write))).message, /check whether it was made/)
    // The timeout may be reported before the server has read the request.
    await waitUntil(() => server.seen.length > 0)
    t.equal(server.seen.length, 1)
    t.match(
      (await catchFailure(backend.send({ ...write, isSafe: true }))).message,
      /^Try again/,
      'a POST that changes nothing'
    )
    await waitUntil(() => server.seen.length > 1)
  }
})

t.test('a read is retried once after a broken connection, 502, 503 and 504, and not after anything else', async t => {
  const { server, backend } = await startStub(t)
  for (const behaviour of [reset, sendHalfBody, sendJson(502, {}), sendJson(503, {}), sendJson(504, {})]) {
    server.behave(behaviour, sendJson(200, { resourceType: 'Patient' }))
    t.equal((await backend.send(read)).status, 200)
    t.equal(server.seen.length, 2)
    server.behave(behaviour)
    await catchFailure(backend.send(read))
    t.equal(server.seen.length, 2)
  }
  for (const behaviour of [sendJson(500, {}), sendJson(404, {}), sendHtml, sendJson(503, {}, { 'retry-after': '60' })]) {
    server.behave(behaviour)
    await backend.send(read).catch(() => {})
    t.equal(server.seen.length, 1)
  }
  const hasty = await startStub(t, { headersTimeoutMs: 100 })
  hasty.server.behave(neverRespond)
  t.equal((await catchFailure(hasty.backend.send(read))).code, 'BACKEND_TIMEOUT')
  await waitUntil(() => hasty.server.seen.length > 0)
  t.equal(hasty.server.seen.length, 1)
})

t.test('a datastore that is down or unknown is unavailable, for reads and writes, and the probe reports it', async t => {
  const { server, backend } = await startStub(t)
  t.equal(await backend.probe(), true)
  server.behave(sendJson(500, {}))
  t.equal(await backend.probe(), false)
  await server.close()
  const unknown = new HttpBackend({ name: 'unknown', baseUrl: 'http://no-such-host.invalid/fhir' })
  t.teardown(() => unknown.close())
  for (const one of [backend, unknown]) {
    for (const request of [read, write]) {
      const failure = await catchFailure(one.send(request))
      t.strictSame([failure.code, failure.headers['retry-after']], ['BACKEND_UNAVAILABLE', '5'])
    }
    t.equal(await one.probe(), false)
  }
})

t.test('a request that finds every connection busy waits no longer than its budget, and is not sent', async t => {
  // The timeout of the first one runs while it waits for its credential; the second has the connection by then, and for
  // longer.
  const headers = [() => undefined, () => pause(600, formatBearerHeader('late')), () => undefined]
  const { server, backend } = await startStub(t, {
    connections: 1,
    totalTimeoutMs: 1_000,
    authorization: { ...createFixedAuthorization(), header: () => headers.shift()!() }
  })
  // So that the connection is there, and the second is sent before its timeout.
  await backend.send(read)
  server.behave(neverRespond)
  const waiting = catchFailure(backend.send(write))
  await pause(400)
  const busy = catchFailure(backend.send(write))
  t.strictSame([(await waiting).code, (await busy).code], ['BACKEND_UNAVAILABLE', 'BACKEND_TIMEOUT'])
  t.equal(server.seen.length, 1)
})

t.test(
  'a certificate of an unknown authority is rejected; a configured authority is trusted, for its own names alone',
  async t => {
    const certificate = readFileSync(new URL('self-signed.pem', import.meta.url), 'utf8')
    const key = readFileSync(new URL('self-signed-key.pem', import.meta.url), 'utf8')
    const server = await startFaultyServer({ cert: certificate, key })
    const backends = {
      strict: new HttpBackend({ name: 'strict', baseUrl: server.url }),
      trusting: new HttpBackend({ name: 'trusting', baseUrl: server.url, ca: certificate }),
      otherName: new HttpBackend({
        name: 'other name',
        baseUrl: server.url.replace('127.0.0.1', 'localhost'),
        ca: certificate
      })
    }
    t.teardown(async () => {
      await Promise.all([server.close(), ...Object.values(backends).map(backend => backend.close())])
    })
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    t.teardown(() => {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    })
    t.equal((await catchFailure(backends.strict.send(read))).code, 'BACKEND_UNAVAILABLE')
    t.equal((await catchFailure(backends.otherName.send(read))).code, 'BACKEND_UNAVAILABLE')
    t.equal(server.seen.length, 0)
    t.equal((await backends.trusting.send(read)).status, 200)
  }
)

t.test('closing twice waits for the same end', async t => {
  const { server, backend } = await startStub(t)
  server.behave(sendJson(200, {}))
  const response = backend.send(read)
  await Promise.all([backend.close(), backend.close()])
  t.equal((await response).status, 200, 'what was under way is answered')
  await backend.close()
  t.equal((await catchFailure(backend.send(read))).code, 'BACKEND_UNAVAILABLE', 'and nothing more is sent')
  t.equal(server.seen.length, 1)
})

t.test('an address that is not a plain base URL stops the start', async t => {
  for (const baseUrl of [
    '',
    'fhir',
    'ftp://host/fhir',
    'http://user:pass@host/fhir',
    'http://host/fhir?x=1',
    'http://host/fhir#x'
  ]) {
    t.throws(() => new HttpBackend({ name: 'bad', baseUrl }), /base URL/)
  }
  const backend = new HttpBackend({ name: 'good', baseUrl: 'http://HOST:80/a/fhir//' })
  t.equal(backend.baseUrl, 'http://host/a/fhir')
  await backend.close()
})
