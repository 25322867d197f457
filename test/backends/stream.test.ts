import t, { type Test } from 'tap'
import { createFixedAuthorization } from '../../src/backends/authentication/authorization.js'
import type { StreamRequest } from '../../src/backends/backend.js'
import { HttpBackend, type HttpBackendOptions } from '../../src/backends/http-backend.js'
import { Failure } from '../../src/envelope/failures.js'
import { waitUntil } from '../harness/until.js'
import { startFaultyServer, type Behaviour, type FaultyServer } from './faulty-server.js'

const type = 'application/fhir+ndjson'

async function startStub (
  t: Test,
  options: Partial<HttpBackendOptions> = {}
): Promise<{
  server: FaultyServer
  read: (more?: Partial<StreamRequest>) => Promise<{ status: number; text: string }>
}> {
  const server = await startFaultyServer()
  const backend = new HttpBackend({ name: 'stub', baseUrl: `${server.url}/fhir`, ...options })
  t.teardown(async () => {
    await Promise.all([server.close(), backend.close()])
  })
  return {
    server,
    async read (more = {}) {
      const { status, body } = await backend.stream({
        path: 'Binary/1',
        accept: [type, 'application/ndjson'],
        signal: new AbortController().signal,
        ...more
      })
      let text = ''
      for await (const chunk of body) text += chunk.toString()
      return { status, text }
    }
  }
}

const sendSegments =
  (status: number, headers: Record<string, string>, ...segments: string[]): Behaviour =>
    response => {
      response.writeHead(status, headers)
      for (const segment of segments) response.write(segment)
      response.end()
    }

t.test(
  "a file is streamed, with the gateway's own credential and for the requested types",
  async t => {
    const { server, read } = await startStub(t, { authorization: createFixedAuthorization('Bearer secret') })
    for (const contentType of [`${type};charset=utf-8`, 'application/ndjson']) {
      server.behave(sendSegments(200, { 'content-type': contentType }, '{}\n', '{"a":1}\n'))
      t.strictSame(await read({ headers: { 'x-request-id': 'r1' } }), { status: 200, text: '{}\n{"a":1}\n' })
      t.match(server.seen, [
        {
          method: 'GET',
          url: '/fhir/Binary/1',
          headers: { accept: `${type}, application/ndjson`, authorization: 'Bearer secret', 'x-request-id': 'r1' }
        }
      ])
    }
  }
)

t.test('a file may be larger than the maximum of a response, and is not buffered', async t => {
  const { server, read } = await startStub(t, { maxResponseBytes: 1_000 })
  server.behave(sendSegments(200, { 'content-type': type }, 'x'.repeat(2_000_000)))
  t.equal((await read()).text.length, 2_000_000)
})

t.test('a missing file is a response without content', async t => {
  const { server, read } = await startStub(t)
  for (const status of [404, 410]) {
    server.behave(sendSegments(status, { 'content-type': 'application/fhir+json' }, '{"secret":1}'))
    t.strictSame(await read(), { status, text: '' })
  }
})

t.test('failures of a file are reported like those of any request, once and without a retry', async t => {
  const patient = await startStub(t)
  const hasty = await startStub(t, { bodyTimeoutMs: 200, headersTimeoutMs: 200 })
  const cases: Array<
    [string, Behaviour, { readonly code: string; readonly headers?: object; readonly cause?: object }]
  > = [
    ['busy', sendSegments(503, { 'retry-after': '7' }), { code: 'BACKEND_UNAVAILABLE', headers: { 'retry-after': '7' } }],
    ['busy too', sendSegments(429, {}), { code: 'BACKEND_UNAVAILABLE' }],
    ['broken', sendSegments(500, {}), { code: 'BACKEND_ERROR' }],
    [
      'a redirect',
      sendSegments(302, { location: 'https://evil.example/' }),
      { code: 'BACKEND_ERROR', cause: { reason: 'redirects are not followed' } }
    ],
    ['a refused credential', sendSegments(401, {}), { code: 'BACKEND_ERROR' }],
    ['a page of HTML', sendSegments(200, { 'content-type': 'text/html' }, '<html>'), { code: 'BACKEND_ERROR' }],
    [
      'a compressed file',
      sendSegments(200, { 'content-type': type, 'content-encoding': 'gzip' }, 'x'),
      { code: 'BACKEND_ERROR' }
    ],
    ['no type', sendSegments(200, {}, 'x'), { code: 'BACKEND_ERROR' }],
    [
      'half a file',
      response => {
        response.writeHead(200, { 'content-type': type, 'content-length': '99' }).write('x')
        setTimeout(() => response.destroy(), 5)
      },
      { code: 'BACKEND_ERROR' }
    ],
    [
      'a file that stops',
      response => {
        response.writeHead(200, { 'content-type': type }).write('x')
      },
      { code: 'BACKEND_TIMEOUT' }
    ],
    ['silence', () => {}, { code: 'BACKEND_TIMEOUT' }],
    [
      'a broken connection',
      response => {
        response.destroy()
      },
      { code: 'BACKEND_ERROR' }
    ]
  ]
  for (const [name, behaviour, failure] of cases) {
    const { server, read } = failure.code === 'BACKEND_TIMEOUT' ? hasty : patient
    server.behave(behaviour)
    const error = await read().then(() => undefined, error => error)
    t.ok(error instanceof Failure, name)
    t.match(error, failure, name)
    // The timeout may be reported before the server has read the request.
    await waitUntil(() => server.seen.length > 0)
    t.equal(server.seen.length, 1, name)
  }
  const down = new HttpBackend({ name: 'down', baseUrl: 'http://127.0.0.1:1/fhir' })
  await t.rejects(down.stream({ path: 'x', accept: [type], signal: new AbortController().signal }), {
    code: 'BACKEND_UNAVAILABLE'
  })
  await down.close()
})

t.test('an aborted stream rejects with the reason of the abort', async t => {
  const { server, read } = await startStub(t)
  server.behave(response => { response.writeHead(200, { 'content-type': type }).write('x') })
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('enough')), 50)
  await t.rejects(read({ signal: controller.signal }), { message: 'enough' })
  await t.rejects(read({ signal: AbortSignal.abort(new Error('never')) }), { message: 'never' })
})
