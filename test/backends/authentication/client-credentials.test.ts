import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { BackendRequest } from '../../../src/backends/backend.js'
import { certificate, startTokenServer, type TokenServer } from '../../harness/token-server.js'
import { waitUntil } from '../../harness/until.js'
import { startGuarded, type Guarded } from './datastores.js'
import { catchFailure } from '../../tenant-guard/guarded.js'

const read: BackendRequest = { method: 'GET', path: 'Patient/1' }
const write: BackendRequest = { method: 'POST', path: 'Patient', body: '{"resourceType":"Patient"}' }

/** A clock that stands still, so that no pause between two retries ends by itself, until a test sets it forward. */
function createClock (): { readonly now: () => Date, readonly forward: (seconds: number) => void } {
  let ms = Date.now()
  return { now: () => new Date(ms), forward: seconds => { ms += seconds * 1_000 } }
}

function writeFiles (t: Test, contents: Readonly<Record<string, string>>): (name: string) => string {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-credentials-'))
  t.after(() => rmSync(directory, { recursive: true }))
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(directory, name), content)
  return name => join(directory, name)
}

const buildOauthConfig = (tokens: TokenServer, more: object = {}) => ({
  type: 'oauth2',
  tokenUrl: tokens.tokenUrl,
  clientId: 'gateway',
  clientSecretEnv: 'SECRET',
  ...more
})

async function withSecret (
  t: Test,
  request: Parameters<typeof startTokenServer>[1] & { readonly now?: () => Date } = {}
): Promise<{ tokens: TokenServer; guarded: Guarded }> {
  const tokens = await startTokenServer(t, request)
  const guarded = await startGuarded(t, {
    accepts: tokens.accepts,
    auth: buildOauthConfig(tokens, { clientAuthentication: request.method }),
    environment: { SECRET: 'a secret' },
    now: request.now ?? createClock().now
  })
  return { tokens, guarded }
}

for (const method of ['client_secret_basic', 'client_secret_post'] as const) {
  t.test(
    `a client of ${method} gets its token, and requests one for any number of concurrent requests`,
    async t => {
      const {
        tokens,
        guarded: { backend }
      } = await withSecret(t, { method })
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, index) => backend.send(index % 2 ? read : write))
      )
      t.same(new Set(responses.map(({ status }) => status)), new Set([200]))
      t.equal(tokens.requested.length, 1)
      t.equal(tokens.requested[0]!.parameters.get('grant_type'), 'client_credentials')
      t.equal(tokens.requested[0]!.authorization !== undefined, method === 'client_secret_basic')
    }
  )
}

t.test('a client authenticates by a signed assertion, with RSA as SMART requires and with EC', async t => {
  const keys = {
    RS384: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' })
  }
  for (const [alg, { privateKey, publicKey }] of Object.entries(keys)) {
    const file = writeFiles(t, { key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() })
    const tokens = await startTokenServer(t, {
      method: 'private_key_jwt',
      keys: { keys: [{ ...publicKey.export({ format: 'jwk' }), alg, kid: 'one' } as never] }
    })
    const auth = buildOauthConfig(tokens, {
      clientSecretEnv: undefined,
      clientAuthentication: 'private_key_jwt',
      keyFile: file('key'),
      keyId: 'one'
    })
    const { backend } = await startGuarded(t, { accepts: tokens.accepts, auth })
    t.equal((await backend.send(read)).status, 200, alg)
  }
})

t.test(
  'a client authenticates by its certificate, at a token server and a datastore whose authority is configured',
  async t => {
    const file = writeFiles(t, certificate)
    const tokens = await startTokenServer(t, { method: 'tls_client_auth' })
    const known: boolean[] = []
    const guarded = await startGuarded(t, {
      accepts: tokens.accepts,
      auth: buildOauthConfig(tokens, {
        clientSecretEnv: undefined,
        clientAuthentication: 'tls_client_auth',
        caFile: file('cert')
      }),
      datastore: { caFile: file('cert'), clientCertFile: file('cert'), clientKeyFile: file('key') },
      tls: { ...certificate, ca: certificate.cert, requestCert: true, rejectUnauthorized: true }
    })
    known.push((await guarded.backend.send(read)).status === 200)
    t.same(known, [true])
    const stranger = await startGuarded(t, {
      accepts: tokens.accepts,
      auth: buildOauthConfig(tokens, { clientSecretEnv: undefined, clientAuthentication: 'tls_client_auth' }),
      datastore: { caFile: file('cert'), clientCertFile: file('cert'), clientKeyFile: file('key') },
      tls: { ...certificate, ca: certificate.cert, requestCert: true, rejectUnauthorized: true }
    })
    t.equal(
      (await catchFailure(stranger.backend.send(read))).code,
      'BACKEND_UNAVAILABLE',
      'a token server that no authority vouches for is not told who asks'
    )
    t.equal(stranger.server.seen.length, 0)
  }
)

t.test('scope, resource and audience are requested as configured', async t => {
  const tokens = await startTokenServer(t)
  const { backend } = await startGuarded(t, {
    accepts: tokens.accepts,
    auth: buildOauthConfig(tokens, { scope: 'system/*.cruds', resource: 'https://fhir.example.org', audience: 'fhir' }),
    environment: { SECRET: 'a secret' }
  })
  t.equal((await backend.send(read)).status, 200)
  t.match(Object.fromEntries(tokens.requested[0]!.parameters), {
    scope: 'system/*.cruds',
    resource: 'https://fhir.example.org',
    audience: 'fhir'
  })
})

t.test('a token is renewed ahead of its expiry by one caller, and no request waits for it', async t => {
  const { now, forward } = createClock()
  const { tokens, guarded: { backend, server } } = await withSecret(t, { now })
  await backend.send(read)
  const old = server.seen[0]!.headers.authorization
  forward(3_600 - 200)
  let open = () => {}
  const opened = new Promise<void>(resolve => { open = resolve })
  // The token server is slow; the old token is valid meanwhile.
  tokens.behave((_, response) => {
    opened.then(() =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ access_token: 'new', token_type: 'Bearer', expires_in: 3_600 }))
    )
  })
  const responses = await Promise.all(Array.from({ length: 10 }, () => backend.send(read)))
  t.ok(responses.every(({ status }) => status === 200))
  t.same(new Set(server.seen.map(({ headers }) => headers.authorization)), new Set([old]))
  open()
  await waitUntil(() => tokens.requested.length === 2)
  server.behave((response) => { response.writeHead(200, { 'content-type': 'application/fhir+json' }).end('{}') })
  await waitUntil(() => {
    backend.send(read).catch(() => {})
    return server.seen.some(({ headers }) => headers.authorization === 'Bearer new')
  })
  t.equal(tokens.requested.length, 2)
})

t.test(
  'a token that a datastore rejects is dropped, and the request is sent with a new one, for reads, writes and files',
  async t => {
    for (const request of [read, write]) {
      const {
        tokens,
        guarded: { backend, statuses }
      } = await withSecret(t)
      await backend.send(request)
      tokens.revokeAll()
      const responses = await Promise.all([backend.send(request), backend.send(request)])
      t.same(
        responses.map(({ status }) => status),
        [200, 200]
      )
      t.equal(tokens.requested.length, 2, 'one new token for both')
      t.equal(statuses.filter(status => status === 200).length, 3, 'each was done once')
    }
    const {
      tokens,
      guarded: { backend, statuses }
    } = await withSecret(t)
    t.ok(await backend.probe())
    tokens.revokeAll()
    t.equal(
      (
        await backend.stream({
          path: 'Binary/1',
          accept: ['application/fhir+json'],
          signal: AbortSignal.timeout(60_000)
        })
      ).status,
      200
    )
    tokens.revokeAll()
    t.equal(await backend.probe(), false, 'not again at once')
    t.same(statuses, [200, 401, 200, 401])
  }
)

t.test('a request that a proxy forwards carries the token too, and is sent again with a new one', async t => {
  const { tokens, guarded: { backend, statuses } } = await withSecret(t)
  const sendRequest = () =>
    new Promise<number>((resolve, reject) =>
      backend.upstream.request(
        {
          origin: backend.upstream.origin,
          path: '/fhir/CodeSystem/$lookup',
          method: 'POST',
          headers: { accept: 'application/fhir+json' },
          body: '{}'
        },
        (error, response) => {
          if (error) reject(error)
          else response.body.dump().then(() => resolve(response.statusCode), reject)
        }
      )
    )
  t.equal(await sendRequest(), 200)
  tokens.revokeAll()
  t.equal(await sendRequest(), 200)
  t.same(statuses, [200, 401, 200])
  tokens.revokeAll()
  await tokens.stop()
  t.equal(await sendRequest(), 401, 'what was refused again goes to the guard')
})

t.test('a datastore that rejects every token does not cause a token request for each request', async t => {
  const tokens = await startTokenServer(t)
  const { backend } = await startGuarded(t, {
    accepts: () => false,
    auth: buildOauthConfig(tokens),
    environment: { SECRET: 'a secret' },
    now: createClock().now
  })
  for (let index = 0; index < 10; index++) t.equal((await catchFailure(backend.send(read))).code, 'BACKEND_ERROR')
  t.equal(tokens.requested.length, 2)
})

t.test(
  'while no token can be fetched, requests get a Retry-After and the token server is not called; later all are served',
  async t => {
    const { now, forward } = createClock()
    const {
      tokens,
      guarded: { backend, server, logged, isFailing }
    } = await withSecret(t, { now })
    tokens.behave((_, response) => {
      response.writeHead(503, { 'retry-after': '30' }).end('down')
    })
    for (let index = 0; index < 5; index++) {
      const failure = await catchFailure(backend.send(write))
      t.equal(failure.code, 'BACKEND_UNAVAILABLE')
      t.ok(Number(failure.headers['retry-after']) > 25)
    }
    t.equal(tokens.requested.length, 1)
    t.equal(server.seen.length, 0)
    t.ok(isFailing())
    tokens.behave(undefined)
    forward(31)
    t.equal((await backend.send(write)).status, 200)
    t.equal(isFailing(), false)
    t.match(logged, [
      { level: 'warn', datastore: 'guarded', status: 503 },
      { level: 'info', datastore: 'guarded' }
    ])
    t.equal(logged.length, 2)
  }
)

t.test('a valid token is used until it expires while no new one can be fetched', async t => {
  const { now, forward } = createClock()
  const { tokens, guarded: { backend, server, isFailing } } = await withSecret(t, { now })
  await backend.send(read)
  await tokens.stop()
  forward(3_600 - 100)
  t.equal((await backend.send(read)).status, 200)
  await waitUntil(isFailing)
  t.equal((await backend.send(read)).status, 200)
  forward(100)
  t.equal((await catchFailure(backend.send(read))).code, 'BACKEND_UNAVAILABLE')
  t.equal(server.seen.length, 3)
})

t.test('a client secret that was replaced is used for the next token, and a rejected one is logged without its value', async t => {
  const { now, forward } = createClock()
  const file = writeFiles(t, { secret: 'wrong-s3cret\n' })
  const tokens = await startTokenServer(t)
  const { backend, logged } = await startGuarded(t, {
    accepts: tokens.accepts,
    auth: buildOauthConfig(tokens, { clientSecretEnv: undefined, clientSecretFile: file('secret') }),
    now
  })
  const failure = await catchFailure(backend.send(read))
  t.match(failure.cause, {
    reason: 'the token server refused the gateway',
    code: 'invalid_client',
    tokenServerStatus: 401
  })
  t.match(logged, [{ level: 'warn', code: 'invalid_client', status: 401 }])
  t.notMatch(JSON.stringify([logged, failure, failure.cause, failure.message]), /s3cret/)
  writeFileSync(file('secret'), 'a secret\n')
  forward(2)
  t.equal((await backend.send(read)).status, 200)
})

t.test('a response of a token server without a valid token is an error', async t => {
  for (const [body, type] of [
    ['<html>', 'text/html'],
    ['{}', 'application/json'],
    ['{"access_token":"a\\r\\nx: y","token_type":"Bearer"}', 'application/json'],
    ['{"access_token":"a","token_type":"mac"}', 'application/json'],
    ['[', 'application/json']
  ] as const) {
    const {
      tokens,
      guarded: { backend, server }
    } = await withSecret(t)
    tokens.behave((_, response) => {
      response.writeHead(200, { 'content-type': type }).end(body)
    })
    t.equal((await catchFailure(backend.send(read))).code, 'BACKEND_UNAVAILABLE', body)
    t.equal(server.seen.length, 0)
  }
})
