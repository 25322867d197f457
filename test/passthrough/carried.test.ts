import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { modes } from '../../src/config/mode.js'
import { sendJson, startFaultyServer, type Behaviour, type FaultyServer } from '../backends/faulty-server.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { testTerminologyRejections } from './terminology-contract.js'
import { fhirBase, assertRejected, openWorld, createFhirSender, type Fhir } from './fixture.js'

const genders = 'http://hl7.org/fhir/ValueSet/administrative-gender'
const question = `/ValueSet/$expand?url=${encodeURIComponent(genders)}`
const valueSet = { resourceType: 'ValueSet', url: genders }

/** A gateway to a scripted server. */
async function startGatewayTo (
  t: Test,
  server: FaultyServer,
  datastore: object = {}
): Promise<{ readonly send: Fhir['send']; readonly logged: () => unknown }> {
  server.answerProbes()
  const datastores = {
    there: { url: `${server.url}/deep/fhir`, auth: { type: 'bearer', tokenEnv: 'THERE_TOKEN' }, ...datastore }
  }
  const gateway = await startGateway(t, {
    plans: unlimitedPlans,
    environment: { THERE_TOKEN: 'tok3n' },
    config: { publicUrl: new URL(fhirBase).origin, datastores, routing: { test: 'there', live: 'there' } }
  })
  const { secret } = await gateway.createKey()
  return { send: createFhirSender(gateway, secret), logged: gateway.logged }
}

async function startValueSetServer (t: Test, ...tls: Parameters<typeof startFaultyServer>): Promise<FaultyServer> {
  const server = await startFaultyServer(...tls)
  t.after(() => server.close())
  server.behave(sendJson(200, valueSet))
  return server
}

t.test(
  "nothing of the client's bytes goes to the datastore: path, query, headers and body are rebuilt",
  async t => {
    const server = await startValueSetServer(t)
    const { send } = await startGatewayTo(t, server)
    const headers = {
      cookie: 's3cret',
      authorization: 'Basic s3cret',
      'content-location': 'Patient/1',
      'x-forwarded-host': 'evil',
      forwarded: 'host=evil',
      'x-request-source': 's3cret',
      'if-none-match': '*',
      prefer: 'respond-async',
      'accept-encoding': 'gzip',
      connection: 'x-api-key, authorization',
      te: 'trailers',
      'x-request-id': 'mine'
    }
    t.equal(
      (await send('GET', `${question}&filter=a%26b%3Dc&filter=+d&_format=json&_pretty=true`, undefined, headers)).status,
      200
    )
    t.equal((await send('GET', `/%56alueSet/%24expand?%75rl=${encodeURIComponent(genders)}`)).status, 200)
    const [first, second] = server.seen
    t.equal(second!.url, `/deep/fhir/ValueSet/$expand?url=${encodeURIComponent(genders)}`)
    t.match(first, {
      method: 'GET',
      url: `/deep/fhir/ValueSet/$expand?url=${encodeURIComponent(genders)}&filter=a%26b%3Dc&filter=%20d`,
      body: ''
    })
    t.strictSame(first!.headers, {
      accept: 'application/fhir+json',
      authorization: 'Bearer tok3n',
      'x-request-id': 'mine',
      host: new URL(server.url).host,
      connection: 'keep-alive'
    })
    server.behave(sendJson(200, { resourceType: 'Parameters' }))
    const coding = { system: 'http://loinc.org', code: 'a\u00e4', userSelected: true }
    await send(
      'POST',
      '/CodeSystem/$validate-code',
      `{"parameter" : [{"valueCoding":${JSON.stringify(coding)},"name":"coding"}, {"name":"url","valueUri":"http://loinc.org"},{"name":"abstract","valueBoolean":true}] ,"id":"x","resourceType":"Parameters"}`
    )
    t.match(server.seen, [
      {
        method: 'POST',
        url: '/deep/fhir/CodeSystem/$validate-code',
        headers: { 'content-type': 'application/fhir+json; charset=utf-8' }
      }
    ])
    const { userSelected: _, ...expected } = coding
    t.strictSame(JSON.parse(server.seen[0]!.body), {
      resourceType: 'Parameters',
      parameter: [
        { name: 'coding', valueCoding: expected },
        { name: 'url', valueUri: 'http://loinc.org' },
        { name: 'abstract', valueBoolean: true }
      ]
    })
  }
)

t.test('two datastores on one host get requests with their own path and credential each, also at one time', async t => {
  const server = await startValueSetServer(t)
  server.answerProbes()
  server.behave((response, { url }) => sendJson(200, { ...valueSet, title: url!.split('/')[1] })(response, {} as never))
  const datastores = Object.fromEntries(
    modes.map(name => [
      name,
      { url: `${server.url}/${name}/fhir`, auth: { type: 'bearer', tokenEnv: `${name.toUpperCase()}_TOKEN` } }
    ])
  )
  const gateway = await startGateway(t, {
    plans: unlimitedPlans,
    environment: { TEST_TOKEN: 'of-test', LIVE_TOKEN: 'of-live' },
    config: { publicUrl: new URL(fhirBase).origin, datastores }
  })
  const keys = await Promise.all(
    modes.map(async mode => ({ mode, send: createFhirSender(gateway, (await gateway.createKey({ mode })).secret) }))
  )
  for (const { mode, send } of Array.from({ length: 3 }, () => keys).flat()) {
    t.equal((await send('GET', question)).resource.title, mode)
  }
  const responses = await Promise.all(
    Array.from({ length: 10 }, () => keys)
      .flat()
      .map(async ({ mode, send }) => [mode, (await send('GET', question)).resource.title])
  )
  for (const [mode, title] of responses) t.equal(title, mode)
  t.equal(server.seen.length, 26)
  for (const { url, headers } of server.seen) t.equal(headers.authorization, `Bearer of-${url.split('/')[1]}`)
})

t.test('a long terminology request is sent as Parameters', async t => {
  const server = await startValueSetServer(t)
  const { send } = await startGatewayTo(t, server)
  const filters = Array.from({ length: 4 }, () => `&filter=${'x'.repeat(1_900)}`).join('')
  t.equal((await send('GET', question + filters)).status, 200)
  t.match(server.seen, [{ method: 'POST', url: '/deep/fhir/ValueSet/$expand' }])
  t.equal(JSON.parse(server.seen[0]!.body).parameter.length, 5)
})

t.test(
  "of the response the client sees the resource, with the gateway's URLs, and no header of the datastore",
  async t => {
    const server = await startValueSetServer(t)
    const { send } = await startGatewayTo(t, server)
    const id = `${server.url}/deep/fhir/ValueSet/1`
    server.behave(
      sendJson(
        200,
        { ...valueSet, identifier: [{ system: id }] },
        {
          'x-powered-by': 'HAPI',
          'set-cookie': 'a=b',
          etag: 'W/"1"',
          'content-location': id,
          'access-control-allow-origin': '*',
          'cache-control': 'public'
        }
      )
    )
    const result = await send('GET', question)
    t.strictSame(result.resource, { ...valueSet, identifier: [{ system: `${fhirBase}/ValueSet/1` }] })
    for (const name of ['x-powered-by', 'set-cookie', 'etag', 'content-location', 'access-control-allow-origin']) {
      t.notHas(result.headers, { [name]: /./ }, name)
    }
    t.equal(result.headers['cache-control'], 'no-store')
    server.behave(response => {
      response
        .writeHead(200, { 'content-type': 'application/fhir+json' })
        .end(JSON.stringify({ ...valueSet, identifier: [{ system: id }] }).replaceAll('/', '\\/'))
    })
    t.strictSame(
      (await send('GET', question)).resource.identifier,
      [{ system: `${fhirBase}/ValueSet/1` }],
      'escaped slashes hide nothing'
    )
  }
)

t.test("any other response of a datastore becomes an error in the gateway's words, after one request", async t => {
  const server = await startValueSetServer(t)
  const { send, logged } = await startGatewayTo(t, server)
  const buildOutcome = (code: string) => ({
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'error', code, diagnostics: `HAPI-0001 s3cret at ${server.url}` }]
  })
  const cases: ReadonlyArray<[string, Behaviour, number, Record<string, string>?]> = [
    ['503', sendJson(503, buildOutcome('transient')), 503, { 'retry-after': '5' }],
    ['503 with a time', sendJson(503, buildOutcome('transient'), { 'retry-after': '7' }), 503, { 'retry-after': '7' }],
    ['429', sendJson(429, buildOutcome('throttled')), 503, { 'retry-after': '5' }],
    ['500', sendJson(500, buildOutcome('exception')), 502],
    ['401', sendJson(401, buildOutcome('login')), 502],
    ['a redirect', sendJson(302, {}, { location: 'http://127.0.0.1:1/' }), 502],
    ['404', sendJson(404, buildOutcome('not-found')), 404],
    ['400', sendJson(400, buildOutcome('processing')), 400],
    ['422', sendJson(422, buildOutcome('processing')), 400],
    ['400 not supported', sendJson(400, buildOutcome('not-supported')), 501],
    ['405', sendJson(405, buildOutcome('not-supported')), 501],
    ['501', sendJson(501, buildOutcome('not-supported')), 501],
    ['another resource', sendJson(200, { resourceType: 'Patient', id: 's3cret' }), 502],
    ['an outcome', sendJson(200, buildOutcome('informational')), 502],
    [
      'HTML',
      response => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<p>s3cret')
      },
      502
    ],
    [
      'half JSON',
      response => {
        response.writeHead(200, { 'content-type': 'application/fhir+json' }).end('{"resourceType":"ValueSet","s3cret')
      },
      502
    ],
    [
      'no UTF-8',
      response => {
        response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(Buffer.from([0x22, 0xff, 0x22]))
      },
      502
    ],
    [
      'packed bytes',
      response => {
        response.writeHead(200, { 'content-type': 'application/fhir+json', 'content-encoding': 'gzip' }).end('s3cret')
      },
      502
    ],
    [
      'a broken connection',
      response => {
        response.destroy()
      },
      502
    ],
    [
      'a connection that breaks in the body',
      response => {
        response.writeHead(200, { 'content-type': 'application/fhir+json', 'content-length': '100' }).write('{')
        setImmediate(() => response.destroy())
      },
      502
    ],
    [
      'nothing',
      response => {
        response.writeHead(200).end()
      },
      502
    ]
  ]
  for (const [title, behaviour, status, headers = {}] of cases) {
    server.behave(behaviour)
    const response = await send('GET', question)
    assertRejected(t, response, status, title)
    t.match(response.headers, headers, title)
    t.equal(server.seen.length, 1, `${title}: one request`)
    t.notMatch(response.text, /s3cret|HAPI|127\.0\.0\.1/, title)
  }
  t.notMatch(JSON.stringify(logged()), 's3cret')
})

t.test('a response that does not come in time, or does not end, is a 504', async t => {
  const server = await startValueSetServer(t)
  const { send } = await startGatewayTo(t, server, { headersTimeoutMs: 30_000, totalTimeoutMs: 3_000 })
  server.behave(() => {})
  assertRejected(t, await send('GET', question), { status: 504, code: 'timeout' }, 'no response')
  server.behave(response => {
    response.writeHead(200, { 'content-type': 'application/fhir+json' })
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  })
  assertRejected(t, await send('GET', question), { status: 504, code: 'timeout' }, 'no end')
  server.behave(sendJson(200, valueSet))
  await waitUntil(async () => (await send('GET', question)).status === 200)
})

t.test('a response that is too large is cut off and refused as too-costly', async t => {
  const server = await startValueSetServer(t)
  const { send } = await startGatewayTo(t, server)
  server.behave(response => {
    response.writeHead(200, { 'content-type': 'application/fhir+json' }).end(' '.repeat(16 * 1024 * 1024 + 1))
  })
  assertRejected(t, await send('GET', question), { status: 400, code: 'too-costly' }, 'too large')
})

t.test('an unreachable datastore is unavailable', async t => {
  const server = await startValueSetServer(t)
  const { send } = await startGatewayTo(t, server)
  await server.close()
  const response = await send('GET', question)
  assertRejected(t, response, { status: 503, code: 'transient' }, 'gone')
  t.equal(response.headers['retry-after'], '5')
})

t.test('a certificate of no trusted authority is refused', async t => {
  const certificate = new URL('../backends/self-signed.pem', import.meta.url)
  const server = await startValueSetServer(t, {
    cert: readFileSync(certificate),
    key: readFileSync(new URL('../backends/self-signed-key.pem', import.meta.url))
  })
  const strict = await startGatewayTo(t, server)
  assertRejected(t, await strict.send('GET', question), 502, 'self-signed')
  t.equal(server.seen.length, 0)
  const trusting = await startGatewayTo(t, server, { caFile: certificate.pathname })
  t.equal((await trusting.send('GET', question)).status, 200)
})

t.test('a datastore without terminology is reported, and an invalid request is refused before', async t => {
  const sandbox = await startTestSandbox(t)
  const world = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const { send } = await world.fhir()
  assertRejected(t, await send('GET', question), { status: 501, code: 'not-supported' }, 'the sandbox')
  await testTerminologyRejections(t, world)
})
