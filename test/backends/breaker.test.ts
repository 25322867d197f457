import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Breaker, CircuitOpen } from '../../src/backends/breaker.js'
import { HttpBackend, probePath, type HttpBackendOptions } from '../../src/backends/http-backend.js'
import type { Dispatcher } from 'undici'
import { waitUntil } from '../harness/until.js'
import { sendJson, startFaultyServer, type Behaviour } from './faulty-server.js'

const read = { method: 'GET', path: 'Patient/1' } as const
const write = { method: 'POST', path: 'Patient', body: '{}' } as const
const file = { path: 'Binary/1', accept: ['application/fhir+ndjson'], signal: new AbortController().signal }

const reset: Behaviour = response => { response.socket!.destroy() }
const neverRespond: Behaviour = () => {}
/** A server that responds to the probe of a breaker, and to other requests as `others` does. */
const withProbeResponse =
  (others: Behaviour): Behaviour =>
    (response, request) =>
      (request.url!.endsWith(probePath) ? sendJson(404, {}) : others)(response, request)

/** So long that a slow response of a busy machine is no silence. */
const neverMs = 3_600_000

async function startWithBreaker (
  t: Test,
  { silenceMs = neverMs, ...options }: Partial<HttpBackendOptions> & { readonly silenceMs?: number } = {}
) {
  const server = await startFaultyServer()
  const raw = new HttpBackend({ name: 'test', baseUrl: server.url, retryPauseMs: 1, ...options })
  const states: string[] = []
  const breaker = new Breaker({
    probe: () => raw.probe(),
    onChange: state => states.push(state),
    pauseMs: 20,
    silenceMs
  })
  t.after(async () => {
    breaker.close()
    await server.close()
    await raw.close()
  })
  const backend = breaker.guard(raw)
  return {
    server,
    breaker,
    backend,
    states,
    codeOf: (work: Promise<unknown>) =>
      work.then(
        () => 'ok',
        error => error.code ?? error.name
      )
  }
}

t.test('only the breaker sends requests to a datastore that is down, until it responds again', async t => {
  const { server, breaker, backend, states, codeOf } = await startWithBreaker(t)
  t.equal(await codeOf(backend.send(read)), 'ok')
  server.behave(reset)
  t.equal(await codeOf(backend.send(write)), 'BACKEND_ERROR')
  await waitUntil(() => breaker.state === 'open')
  server.seen.length = 0
  const calls: Array<() => Promise<unknown>> = [
    () => backend.send(read),
    () => backend.send(write),
    () => backend.stream(file)
  ]
  for (const call of calls) {
    await t.rejects(call(), { code: 'BACKEND_UNAVAILABLE', status: 503, headers: { 'retry-after': /^\d+$/ } })
  }
  await waitUntil(() => server.seen.length > 2)
  t.strictSame([...new Set(server.seen.map(({ url }) => url))], [`/${probePath}`])
  server.behave(sendJson(200, {}))
  await waitUntil(() => breaker.state === 'closed')
  t.equal(await codeOf(backend.send(write)), 'ok')
  t.strictSame(states, ['open', 'closed'])
})

t.test('a failing request does not block others as long as the server responds to probes', async t => {
  const { server, breaker, backend, states, codeOf } = await startWithBreaker(t, { totalTimeoutMs: 100 })
  for (const behaviour of [reset, neverRespond, sendJson(500, {}), sendJson(503, {})]) {
    server.behave(withProbeResponse(behaviour))
    await Promise.all(Array.from({ length: 10 }, () => codeOf(backend.send(write))))
    await waitUntil(() => server.seen.some(({ url }) => url === `/${probePath}`))
    await pause(50)
    t.equal(breaker.state, 'closed')
  }
  t.strictSame(states, [])
})

t.test('a status that a server sends on purpose is no failure, and starts no probe', async t => {
  const { server, breaker, backend, codeOf } = await startWithBreaker(t)
  for (const status of [400, 401, 403, 404, 409, 412, 422, 429, 501]) {
    server.behave(sendJson(status, {}))
    await codeOf(backend.send(write))
    await pause(30)
    t.strictSame(server.seen.filter(({ url }) => url.endsWith(probePath)), [], String(status))
  }
  t.equal(breaker.state, 'closed')
})

t.test('a server that accepts requests and responds to none is detected while they wait', async t => {
  const { server, breaker, backend, codeOf } = await startWithBreaker(t, { connectTimeoutMs: 300, silenceMs: 50 })
  const held: Array<() => void> = []
  server.behave(response => { held.push(() => sendJson(200, {})(response, response.req)) })
  const waiting = codeOf(backend.send(write))
  await waitUntil(() => breaker.state === 'open')
  t.equal(await codeOf(backend.send(write)), 'BACKEND_UNAVAILABLE')
  server.behave(sendJson(200, {}))
  for (const respond of held) respond()
  t.equal(await waiting, 'ok', 'what it took meanwhile gets its answer')
  await waitUntil(() => breaker.state === 'closed')
})

t.test('the breaker stays closed for a slow server, though all its connections wait', async t => {
  const { server, breaker, backend, codeOf } = await startWithBreaker(t, { connections: 2, silenceMs: 50 })
  server.behave(withProbeResponse(response => { setTimeout(() => sendJson(200, {})(response, response.req), 300) }))
  t.strictSame(await Promise.all(Array.from({ length: 6 }, () => codeOf(backend.send(write)))), Array(6).fill('ok'))
  t.ok(server.seen.some(({ url }) => url.endsWith(probePath)), 'it was looked at')
  t.equal(breaker.state, 'closed')
})

t.test(
  'files that break off and failures of a proxy count as failures too, and a proxy is refused by an open breaker',
  async t => {
    const { server, breaker, backend } = await startWithBreaker(t)
    const sendThroughProxy = () =>
      new Promise<Error | null>(resolve =>
        backend.upstream.request({ method: 'GET', path: '/' }, (error, response) => {
          if (error === null) (response as Dispatcher.ResponseData).body.dump().then(() => resolve(null), resolve)
          else resolve(error)
        })
      )
    const errors: Array<() => Promise<unknown>> = [
      async () => {
        server.behave(response => {
          response.writeHead(200, { 'content-type': file.accept[0]!, 'content-length': 100 }).write('x', () => {
            server.behave(reset)
            response.socket!.destroy()
          })
        })
        for await (const chunk of (await backend.stream(file)).body) t.equal(chunk.toString(), 'x')
      },
      () => {
        server.behave(reset)
        return sendThroughProxy()
      },
      () => {
        server.behave(sendJson(500, {}))
        return sendThroughProxy()
      }
    ]
    for (const failure of errors) {
      await pause(30)
      await failure().catch(() => {})
      await waitUntil(() => breaker.state === 'open')
      t.ok((await sendThroughProxy()) instanceof CircuitOpen)
      server.behave(sendJson(200, {}))
      await waitUntil(() => breaker.state === 'closed')
    }
  }
)
