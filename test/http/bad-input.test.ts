import { once } from 'node:events'
import { Agent, request } from 'node:http'
import t, { type Test } from 'tap'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'
import { startGateway, type TestGateway } from '../harness/gateway.js'

const patient = '{ "firstName": "Ada", "lastName": "Byron" }'

/** A gateway with a key, and the number of patients that were written with it. */
async function startGatewayWithKey (t: Test, config = {}) {
  const gateway = await startGateway(t, { config })
  const { secret } = await gateway.createKey()
  return { gateway, secret, written: () => countPatients(gateway, secret) }
}

async function countPatients ({ inject }: TestGateway, secret: string): Promise<number> {
  return (await inject({ url: '/v1/patients', headers: { 'x-api-key': secret } })).json().data.total
}

t.test('a body that is not strict JSON is refused, and nothing is written', async t => {
  const { gateway: { inject }, secret, written } = await startGatewayWithKey(t)
  const bodies: Array<[string, string | Buffer]> = [
    ['half an object', '{ "firstName": "Ada"'],
    ['two values', `${patient}${patient}`],
    ['single quotes', "{ 'firstName': 'Ada' }"],
    ['a comment', '{ "firstName": "Ada" /* */ }'],
    ['a trailing comma', '{ "firstName": "Ada", }'],
    ['NaN', '{ "firstName": NaN }'],
    ['a name twice', '{ "firstName": "Ada", "firstName": "Eve" }'],
    ['a name twice, once escaped', '{ "firstName": "Ada", "\\u0066irstName": "Eve" }'],
    ['__proto__', '{ "firstName": "Ada", "lastName": "B", "__proto__": { "active": false } }'],
    ['an escaped __proto__', '{ "firstName": "Ada", "lastName": "B", "__proto_\\u005f": {} }'],
    ['a NUL byte', '{ "firstName": "A\0da", "lastName": "B" }'],
    ['an escaped NUL', '{ "firstName": "A\\u0000da", "lastName": "B" }'],
    ['half a surrogate pair', '{ "firstName": "\\ud800", "lastName": "B" }'],
    ['invalid UTF-8', Buffer.concat([Buffer.from('{ "firstName": "'), Buffer.from([0xff, 0xfe]), Buffer.from('" }')])],
    ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(patient)])],
    ['UTF-16', Buffer.from(patient, 'utf16le')],
    ['depth 1,000', `${'['.repeat(1_000)}${']'.repeat(1_000)}`],
    ['depth 100,000', '{"a":'.repeat(100_000)],
    ['a number too large', '{ "firstName": 1e999 }'],
    ['spaces', '   '],
    ['nothing', '']
  ]
  for (const [name, payload] of bodies) {
    for (const method of ['POST', 'PATCH'] as const) {
      const url = method === 'POST' ? '/v1/patients' : '/v1/patients/1'
      const response = await inject({
        method,
        url,
        headers: { 'x-api-key': secret, 'content-type': 'application/json' },
        payload
      })
      t.match(
        response.json(),
        { data: null, code: 'INVALID_JSON', message: /.+/, meta: { status: 400, rateLimitTotal: 1000 } },
        `${method} ${name}`
      )
      t.notMatch(response.body, /Ada|Eve|Byron/)
    }
  }
  t.equal(
    (await inject({ method: 'POST', url: '/v1/patients', headers: { 'x-api-key': secret } })).json().code,
    'INVALID_JSON',
    'no body at all'
  )
  t.equal(({} as { active?: boolean }).active, undefined, 'no prototype was touched')
  t.equal(await written(), 0)
})

t.test('only JSON in UTF-8 without encoding is read', async t => {
  const { gateway: { inject }, secret, written } = await startGatewayWithKey(t)
  const send = (headers: Record<string, string>) =>
    inject({
      method: 'POST',
      url: '/v1/patients',
      headers: { 'x-api-key': secret, ...headers },
      payload: Buffer.from(patient)
    })
  const refused: Array<Record<string, string>> = [
    {},
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/xml' },
    { 'content-type': 'application/fhir+xml' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': 'application/jsonx' },
    { 'content-type': 'application/json, text/plain' },
    { 'content-type': 'nonsense' },
    { 'content-type': 'application/json; charset=utf-16' },
    { 'content-type': 'application/json; charset="latin1"' },
    { 'content-type': 'application/json; charset=utf-8; charset=latin1' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    { 'content-type': 'application/json', 'content-encoding': 'identity, gzip' },
    { 'content-type': 'application/json', 'content-encoding': '' }
  ]
  for (const headers of refused) {
    t.match(
      (await send(headers)).json(),
      { data: null, code: 'UNSUPPORTED_MEDIA_TYPE', meta: { status: 415 } },
      JSON.stringify(headers)
    )
  }
  t.equal(await written(), 0)
  for (const type of [
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/fhir+json; fhirVersion=4.0',
    'application/json; charset="utf-8"'
  ]) {
    t.equal((await send({ 'content-type': type, 'content-encoding': 'identity' })).statusCode, 201, type)
  }
})

t.test('a body of the maximum size is read, and one byte more is not', async t => {
  const { gateway: { inject, url }, secret, written } = await startGatewayWithKey(t, { limits: { bodyBytes: 2_048 } })
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const send = (payload: string) => inject({ method: 'POST', url: '/v1/patients', headers, payload })
  t.equal((await send(patient.padEnd(2_048))).statusCode, 201)
  t.match((await send(patient.padEnd(2_049))).json(), { code: 'PAYLOAD_TOO_LARGE', meta: { status: 413 } })
  const chunked = await exchangeRaw(
    url,
    `POST /v1/patients HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`,
    `801\r\n${patient.padEnd(0x801)}\r\n0\r\n\r\n`
  )
  t.match(parseResponses(chunked)[0]!.body, { code: 'PAYLOAD_TOO_LARGE' })
  t.equal(await written(), 1)
})

t.test('an empty body with a media type is accepted where no body is needed', async t => {
  const { gateway: { inject }, secret } = await startGatewayWithKey(t)
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const { data } = (await inject({ method: 'POST', url: '/v1/patients', headers, payload: patient })).json()
  t.equal((await inject({ method: 'DELETE', url: `/v1/patients/${data.id}`, headers })).statusCode, 200)
})

t.test('a path that cannot be decoded, or has characters that no id has, is rejected in the envelope', async t => {
  const { gateway: { inject }, secret } = await startGatewayWithKey(t)
  const get = (path: string) => inject({ url: path, headers: { 'x-api-key': secret } })
  for (const path of ['/v1/patients/%', '/v1/patients/%zz', '/v1/patients/%ff', '/%c0%ae']) {
    const response = await get(path)
    t.match(
      response.json(),
      { data: null, code: 'BAD_REQUEST', meta: { status: 400, requestId: /.+/, timestamp: /Z$/ } },
      path
    )
    t.equal(response.headers['x-request-id'], response.json().meta.requestId)
  }
  for (const path of [
    '/v1/patients/..%2f..%2fhealth',
    '/v1/patients/%00',
    `/v1/patients/${'x'.repeat(5_000)}`,
    '/v1/patients/%2541',
    '/v1/patients/a%20b'
  ]) {
    t.equal((await get(path)).statusCode, 404, path.slice(0, 40))
  }
})

t.test('two keys are rejected with 401, however they are sent', async t => {
  const { gateway, secret } = await startGatewayWithKey(t)
  const other = await gateway.createKey()
  const send = (...headers: string[]) =>
    exchangeRaw(
      gateway.url,
      ['GET /v1/patients HTTP/1.1', 'host: h', 'connection: close', ...headers, '', ''].join('\r\n')
    )
  for (const headers of [
    [`x-api-key: ${secret}`, `X-API-KEY: ${secret}`],
    [`x-api-key: ${secret}`, `x-api-key: ${other.secret}`],
    [`x-api-key: ${secret}, ${secret}`]
  ]) {
    const [response] = parseResponses(await send(...headers))
    t.equal(response!.status, 401)
    t.match(response!.body, { code: 'INVALID_KEY_FORMAT' })
    t.notMatch(response!.text, secret)
  }
  t.equal(parseResponses(await send(`x-api-key: ${secret}`))[0]!.status, 200)
})

t.test(
  'a request that is not HTTP, or can be read in two ways, gets one error in the envelope, and the connection closes',
  async t => {
    const {
      gateway: { url },
      secret,
      written
    } = await startGatewayWithKey(t)
    const head = `POST /v1/patients HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\n`
    const smuggled = `POST /v1/patients HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${patient.length}\r\n\r\n${patient}`
    const cases: Array<[string, string | Buffer]> = [
      ['no HTTP at all', 'hello\r\n\r\n'],
      ['TLS on a plain port', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])],
      [
        'Content-Length and Transfer-Encoding',
        `${head}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`
      ],
      [
        'Transfer-Encoding and Content-Length',
        `${head}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n${smuggled}`
      ],
      ['two Content-Lengths', `${head}content-length: 4\r\ncontent-length: 43\r\n\r\n${patient}`],
      ['a Content-Length that is no number', `${head}content-length: 4x\r\n\r\n${patient}`],
      ['a negative Content-Length', `${head}content-length: -1\r\n\r\n${patient}`],
      [
        'a Transfer-Encoding that does not end in chunked',
        `${head}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`
      ],
      ['a chunk of no size', `${head}transfer-encoding: chunked\r\n\r\nzz\r\n${patient}\r\n0\r\n\r\n`],
      ['a folded header', `${head}x-a: b\r\n c: d\r\ncontent-length: 0\r\n\r\n`],
      ['a space before the colon', `${head}content-length : 43\r\n\r\n${patient}`],
      ['a NUL in a header', `${head}x-a: \0\r\n\r\n`],
      ['headers of 20 KiB', `${head}x-a: ${'a'.repeat(20_480)}\r\n\r\n`],
      ['a URL of 20 KiB', `GET /v1/patients?${'a'.repeat(20_480)} HTTP/1.1\r\nhost: h\r\n\r\n`],
      ['a method that is none', 'FETCH /v1/patients HTTP/1.1\r\nhost: h\r\n\r\n']
    ]
    for (const [name, bytes] of cases) {
      const responses = parseResponses(await exchangeRaw(url, bytes))
      t.equal(responses.length, 1, name)
      t.equal(responses[0]?.status, 400)
      t.equal(responses[0]?.headers.connection, 'close')
      t.match(responses[0]?.body, {
        data: null,
        code: 'BAD_REQUEST',
        issues: [],
        meta: {
          status: 400,
          requestId: responses[0]?.headers['x-request-id'],
          timestamp: responses[0]?.headers['x-timestamp'],
          rateLimitTotal: null
        }
      })
    }
    t.equal(await written(), 0)
  }
)

t.test('a request has one Host', async t => {
  const { gateway: { url }, secret } = await startGatewayWithKey(t)
  const sendRequest = async (version: string, ...headers: string[]) =>
    parseResponses(
      await exchangeRaw(
        url,
        [`GET /v1/patients HTTP/${version}`, `x-api-key: ${secret}`, 'connection: close', ...headers, '', ''].join(
          '\r\n'
        )
      )
    )[0]!
  t.match((await sendRequest('1.1')).body, { data: null, code: 'BAD_REQUEST', meta: { status: 400 } })
  t.match((await sendRequest('1.1', 'host: a', 'Host: b')).body, { data: null, code: 'BAD_REQUEST' })
  t.equal((await sendRequest('1.1', 'host: a')).status, 200)
  t.equal((await sendRequest('1.0')).status, 200)
})

t.test('data after a request under way never looks like its response', async t => {
  const { gateway: { url }, secret, written } = await startGatewayWithKey(t)
  const request = `POST /v1/patients HTTP/1.1\r\nhost: h\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${patient.length}\r\n\r\n${patient}`
  const text = await exchangeRaw(url, `${request}nonsense\r\n\r\n`)
  t.notMatch(text, 'HTTP/1.1 400')
  t.ok(await written() <= 1)
})

t.test('a client that disconnects in the middle of its body has written nothing, and the next one is served', async t => {
  const { gateway: { url, inject, logged }, secret, written } = await startGatewayWithKey(t)
  await new Promise<void>(resolve => {
    const leaving = request(`${url}/v1/patients`, {
      method: 'POST',
      headers: { 'x-api-key': secret, 'content-type': 'application/json', 'content-length': '43' }
    })
    leaving.on('error', () => resolve())
    leaving.write(patient.slice(0, 20), () => setTimeout(() => leaving.destroy(), 50))
    leaving.on('close', () => resolve())
  })
  t.equal((await inject('/health')).statusCode, 200)
  t.equal(await written(), 0)
  t.strictSame(logged().filter(({ level }) => (level as number) >= 50), [], 'it is no error of ours')
})

t.test('HEAD is GET without a body, on rejections too', async t => {
  const { gateway: { url }, secret } = await startGatewayWithKey(t)
  const sendHead = (path: string, key: string) =>
    exchangeRaw(url, `HEAD ${path} HTTP/1.1\r\nhost: h\r\nx-api-key: ${key}\r\nconnection: close\r\n\r\n`)
  for (const [path, key, status] of [
    ['/v1/patients', secret, 200],
    ['/v1/patients/none', secret, 404],
    ['/v1/nothing', secret, 404],
    ['/v1/patients', 'x', 401]
  ] as const) {
    const text = await sendHead(path, key)
    t.match(text, `HTTP/1.1 ${status} `)
    t.ok(text.endsWith('\r\n\r\n'), `${path}: nothing after the head`)
  }
})

t.test('a request that arrives while the gateway closes gets its full response, and its connection closes', async t => {
  const { gateway, secret } = await startGatewayWithKey(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const get = () => new Promise<{ status?: number, connection?: string }>((resolve, reject) => {
    request(`${gateway.url}/v1/patients`, { agent, headers: { 'x-api-key': secret } }, response => {
      response.resume().on('end', () => resolve({ status: response.statusCode, connection: response.headers.connection }))
    }).on('error', reject).end()
  })
  t.equal((await get()).status, 200)
  const requested = once(gateway.app.server, 'request')
  const pending = get()
  await requested
  const closing = gateway.close()
  t.equal((await pending).status, 200)
  // Waiting for an idle connection would hold it up for the 72 seconds of the keep-alive timeout.
  const timeout = new Promise(resolve => setTimeout(resolve, 60_000, 'held up').unref())
  t.not(await Promise.race([closing, timeout]), 'held up', 'idle connections do not hold it up')
  await t.rejects(get())
  agent.destroy()
})

// Its line was at the level debug, and without the id.
t.test('a request that is no HTTP or has no path is logged under the id that its sender got', async t => {
  const { logged, url } = await startGateway(t)
  for (const bytes of ['PRI * HTTP/2.0\r\n\r\n', 'GET /v1/%zz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n']) {
    const [{ status, headers }] = parseResponses(await exchangeRaw(url, bytes)) as [
      ReturnType<typeof parseResponses>[number]
    ]
    t.equal(status, 400)
    const lines = logged().filter(({ requestId }) => requestId === headers['x-request-id'])
    t.match(lines, [{ level: 30, status: 400 }])
    t.notMatch(JSON.stringify(lines), /PRI|%zz/)
  }
})
