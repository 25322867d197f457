import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { buildServerOptions } from '../../src/http/server-options.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { startGateway } from '../harness/gateway.js'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'
import { waitUntil } from '../harness/until.js'

const patient = '{ "firstName": "Ada", "lastName": "Byron" }'

async function startGatewayWithKey (t: Test, settings: Parameters<typeof startGateway>[1] = {}) {
  const gateway = await startGateway(t, settings)
  const { secret } = await gateway.createKey()
  const countPatients = async () =>
    (await gateway.inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).json().data.total
  return { gateway, secret, countPatients }
}

function open (url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  return socket
}

t.setTimeout(300_000)

t.test('one gateway and all that arrives over its connections', async t => {
  const shared = await startGatewayWithKey(t)

  await t.test('a request that two parsers could read in two ways reaches no route twice', async t => {
    const { gateway: { url }, secret, countPatients } = shared
    const head = `POST /v1/patients HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n`
    const hidden = `POST /v1/patients HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${patient.length}\r\n\r\n${patient}`
    const refused: Array<[string, string]> = [
      ['lines that end in LF alone', `${head}content-length: 0\n\n${hidden}`],
      ['a header line that ends in LF alone', `${head}x-a: b\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['a header line that ends in CR alone', `${head}x-a: b\rtransfer-encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
      [
        'two Transfer-Encodings',
        `${head}transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n${hidden}`
      ],
      ['a Transfer-Encoding that nobody knows', `${head}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['a vertical tab before chunked', `${head}transfer-encoding: \x0bchunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['a space in the name Transfer-Encoding', `${head}transfer-encoding : chunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['two equal Content-Lengths', `${head}content-length: 0\r\ncontent-length: 0\r\n\r\n${hidden}`],
      ['a list of Content-Lengths', `${head}content-length: 0, 0\r\n\r\n${hidden}`],
      ['a Content-Length with a sign', `${head}content-length: +0\r\n\r\n${hidden}`],
      ['a chunk size beyond all numbers', `${head}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n${hidden}`],
      ['a chunk that ends in LF alone', `${head}transfer-encoding: chunked\r\n\r\n0\n\n${hidden}`],
      [
        'chunk extensions without end',
        `${head}transfer-encoding: chunked\r\n\r\n1;${'a'.repeat(40_000)}\r\n{\r\n0\r\n\r\n${hidden}`
      ],
      ['a version that is none', `${head.replace('HTTP/1.1', 'HTTP/9.9')}\r\n${hidden}`],
      ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}`]
    ]
    for (const [name, bytes] of refused) {
      const responses = parseResponses(await exchangeRaw(url, bytes))
      t.ok(
        responses.length <= 1 && responses.every(({ status }) => status === 400),
        `${name}: ${responses.map(({ status }) => status)}`
      )
    }
    t.equal(await countPatients(), 0)
  })

  await t.test('TRACE, upgrades and other requests for more than HTTP are rejected, and open nothing', async t => {
    const { gateway: { url }, secret } = shared
    const sendRequest = async (line: string, ...headers: string[]) =>
      parseResponses(
        await exchangeRaw(
          url,
          [`${line} HTTP/1.1`, 'host: h', `x-api-key: ${secret}`, 'connection: close', ...headers, '', ''].join('\r\n')
        )
      )
    t.strictSame((await sendRequest('TRACE /v1/patients')).map(({ status }) => status), [405])
    t.notMatch((await sendRequest('TRACE /v1/patients', 'x-echo: s3cret'))[0]!.text, 's3cret')
    t.strictSame(await sendRequest('CONNECT 127.0.0.1:22'), [], 'nobody gets a way to somewhere else')
    t.strictSame(
      (await sendRequest('GET http://127.0.0.1:22/v1/patients')).map(({ status }) => status),
      [200],
      'whatever host it names, it is answered here'
    )
    const upgraded = await sendRequest(
      'GET /v1/patients',
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version: 13'
    )
    t.ok(upgraded.every(({ status }) => status !== 101))
    t.strictSame(
      (
        await sendRequest('GET /v1/patients', 'expect: 100-continue', ...Array.from({ length: 500 }, (_, i) => `x-${i}: 1`))
      ).map(({ status }) => status),
      [100, 200]
    )
    t.strictSame(
      (await sendRequest('GET /v1/patients', ...Array.from({ length: 4_000 }, (_, i) => `x${i}:1`))).map(
        ({ status }) => status
      ),
      [400],
      'too many headers'
    )
  })

  await t.test('a client that pipelines many requests and reads gets the responses in order', async t => {
    const { gateway: { url } } = shared
    const paths = Array.from({ length: 200 }, (_, i) => i % 2 === 0 ? '/health' : '/nothing')
    const text = await exchangeRaw(
      url,
      paths
        .map(
          (path, i) =>
            `GET ${path} HTTP/1.1\r\nhost: h\r\n${i === paths.length - 1 ? 'connection: close\r\n' : ''}\r\n`
        )
        .join('')
    )
    t.strictSame(parseResponses(text).map(({ status }) => status), paths.map(path => path === '/health' ? 200 : 404))
  })
})

t.test('a gateway with a slow datastore', async t => {
  const server = await startFaultyServer()
  server.answerProbes()
  // Held before the gateway, which waits for the response of the datastore.
  t.after(() => server.close())
  const {
    gateway: { url },
    secret
  } = await startGatewayWithKey(t, { fhirUrl: server.url, config: { limits: { inFlightPerOrganization: 2 } } })
  const read = `GET /v1/patients/1 HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\n\r\n`
  const quick = 'GET /health HTTP/1.1\r\nhost: h\r\n\r\n'
  const held: Array<() => void> = []
  const hold = () =>
    server.behave((response, request) => {
      held.push(() => sendJson(404, { resourceType: 'OperationOutcome' })(response, request))
    })
  const waitUntilHeld = async (count: number) => {
    while (held.length < count) await pause(10)
  }
  const respondToHeld = () => { for (const respond of held.splice(0)) respond() }

  await t.test('a client that keeps pipelining requests behind a slow response is cut off', async t => {
    hold()
    const socket = open(url)
    const closed = once(socket, 'close')
    socket.write(read)
    await waitUntilHeld(1)
    socket.write(quick.repeat(255))
    t.equal((await fetch(`${url}/health`)).status, 200, 'others are served')
    t.notOk(socket.closed, '256 may wait')
    socket.write(quick)
    await closed
    t.equal(socket.bytesRead, 0)
    respondToHeld()
  })

  await t.test(
    'permits of an organization are released when a connection breaks on which several of its requests wait',
    async t => {
      hold()
      const socket = open(url)
      socket.write(read.repeat(5))
      await waitUntilHeld(2)
      socket.destroy()
      server.behave(sendJson(404, { resourceType: 'OperationOutcome' }))
      respondToHeld()
      await waitUntil(
        async () => (await fetch(`${url}/v1/patients/1`, { headers: { 'x-api-key': secret } })).status === 404
      )
      t.pass('there is room again')
    }
  )
})

t.test('headers that arrive slowly end their connection, and others are served meanwhile', async t => {
  const options = buildServerOptions({ now: () => new Date() })
  t.match(options.http, { headersTimeout: 20_000, connectionsCheckingInterval: 5_000 })
  // The same server with shorter timeouts, but long enough to serve a client on a busy machine.
  const app = fastify({
    ...options,
    http: { ...options.http, headersTimeout: 2_000, connectionsCheckingInterval: 100 }
  })
  t.after(() => app.close())
  app.get('/', async () => 'served')
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const slow = Array.from({ length: 50 }, () => open(url))
  const received = slow.map(async socket => {
    let text = ''
    socket.on('data', chunk => { text += chunk })
    socket.write('GET / HTTP/1.1\r\nhost: h\r\n')
    const drops = setInterval(() => socket.write('x'), 50)
    await once(socket, 'close')
    clearInterval(drops)
    return text
  })
  t.equal(await (await fetch(url)).text(), 'served')
  for (const text of await Promise.all(received)) t.ok(text === '' || text.startsWith('HTTP/1.1 400 '), text.slice(0, 30))
})

t.test('more connections than the setting allows are not accepted, and there is room again when others end', async t => {
  const { gateway: { url } } = await startGatewayWithKey(t, { config: { limits: { connections: 20 } } })
  const sockets = Array.from({ length: 20 }, () => open(url))
  await Promise.all(sockets.map(socket => once(socket, 'connect')))
  const [first, ...others] = sockets
  first!.write('GET /health HTTP/1.1\r\nhost: h\r\n\r\n')
  await once(first!, 'data')
  const surplus = open(url)
  t.equal(await once(surplus, 'close').then(() => surplus.bytesRead), 0)
  for (const socket of others) socket.destroy()
  for (;;) {
    const response = await fetch(`${url}/health`).catch(() => undefined)
    if (response?.status === 200) break
    await pause(20)
  }
  first!.destroy()
})
