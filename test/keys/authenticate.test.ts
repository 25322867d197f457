import t, { type Test } from 'tap'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import fastify from 'fastify'
import { request } from 'undici'
import type { Failure } from '../../src/envelope/failures.js'
import { authenticate, createAuthenticator } from '../../src/keys/authenticate.js'
import { KeyCache } from '../../src/keys/cache.js'
import type { Mode } from '../../src/config/mode.js'
import type { Caller } from '../../src/keys/caller.js'
import type { Change, KeyState } from '../../src/keys/change-feed.js'
import { Replica } from '../../src/keys/replica.js'
import { hashSecret, generateSecret } from '../../src/keys/secret.js'
import { startGateway } from '../harness/gateway.js'

const start = new Date('2030-01-01T00:00:00Z')
const addMinutes = (minutes: number) => new Date(start.getTime() + minutes * 60_000)

/** A copy with one organization, to which a test adds keys. */
function createKeyChecks (t: Test, maxStalenessMinutes: number | null = null) {
  const replica = new Replica(':memory:')
  t.teardown(() => replica.close())
  let lookups = 0
  const cache = new KeyCache({ lookup: hash => { lookups++; return replica.find(hash) } })
  const take = (changes: Change[], now = start) => {
    const { seq } = replica.readPosition()
    cache.evict(
      replica.apply(
        { feedId: 'feed-1', isSnapshot: seq === 0, after: seq, through: seq + changes.length, isLatest: true, changes },
        now
      )
    )
  }
  const checkNow = createAuthenticator({ replica, cache, maxStalenessMinutes })
  // A cached key is checked at once.
  const check: (...request: Parameters<typeof checkNow>) => Promise<Caller> = async (...request) => checkNow(...request)
  return {
    take,
    authenticate: check,
    lookups: () => lookups,
    addKey (mode: Mode, state: Partial<KeyState> = {}) {
      const secret = generateSecret(mode)
      const seq = replica.readPosition().seq + 1
      const made: KeyState = {
        keyId: `key-${seq}`,
        hash: hashSecret(secret),
        tenantId: 'org-a',
        name: 'a key',
        mode,
        scopes: ['*'],
        ...state
      }
      take([{ seq, kind: 'key', state: made }])
      return {
        secret,
        change: (later: Partial<KeyState>) =>
          take([{ seq: replica.readPosition().seq + 1, kind: 'key', state: { ...made, ...later } }])
      }
    },
    check: (secret: string, now = start) => check(['Host', 'x', 'X-API-Key', secret], now),
    checkHeaders: (rawHeaders: string[]) => check(rawHeaders, start)
  }
}

function withOrganization (t: Test, maxStalenessMinutes: number | null = null) {
  const keys = createKeyChecks(t, maxStalenessMinutes)
  keys.take([{ seq: 1, kind: 'organization', state: { tenantId: 'org-a', plan: 'pro', overage: true } }])
  return keys
}

t.test('a valid key identifies the caller', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('live', { scopes: ['read'] })
  t.strictSame(await keys.check(secret), {
    keyId: 'key-2',
    keyName: 'a key',
    tenantId: 'org-a',
    plan: 'pro',
    overage: true,
    mode: 'live',
    scopes: ['read']
  })
})

t.test('a request without a key is UNAUTHORIZED', async t => {
  const keys = withOrganization(t)
  await t.rejects(keys.checkHeaders(['Host', 'x-api-key', 'Authorization', 'Basic dTpw']), {
    code: 'UNAUTHORIZED',
    status: 401,
    headers: { 'www-authenticate': /x-api-key/ }
  })
})

t.test('two keys, or one of another format, are INVALID_KEY_FORMAT without a look-up', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('test')
  for (const headers of [
    ['x-api-key', secret, 'X-Api-Key', secret],
    ['x-api-key', `${secret}, ${secret}`],
    ['x-api-key', secret.slice(0, -1)],
    ['x-api-key', secret + 'a'],
    ['x-api-key', 'a'.repeat(16_000)],
    ['x-api-key', secret.replace('test', 'live')],
    ['x-api-key', `Bearer ${secret}`],
    ['Authorization', `Bearer ${secret}`, 'authorization', `Bearer ${secret}`],
    ['Authorization', `Bearer Bearer ${secret}`],
    ['Authorization', 'Bearer x']
  ]) {
    await t.rejects(keys.checkHeaders(headers), { code: 'INVALID_KEY_FORMAT', status: 401 })
  }
  t.equal(keys.lookups(), 0)
})

t.test('a tool that can only send Authorization: Bearer is authenticated by its key', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('live')
  for (const headers of [
    ['Authorization', `Bearer ${secret}`],
    ['authorization', `bearer ${secret}`],
    ['x-api-key', '', 'Authorization', `Bearer ${secret}`],
    ['x-api-key', secret, 'Authorization', 'Bearer'],
    ['x-api-key', secret, 'Authorization', `Bearer ${secret}`],
    ['x-api-key', secret, 'Authorization', 'Basic dTpw']
  ]) t.match(await keys.checkHeaders(headers), { keyId: 'key-2' }, headers.join(' '))
})

t.test('a key in x-api-key and another one after Authorization: Bearer are rejected with 401, whichever is valid', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('live')
  const { secret: other } = keys.addKey('live')
  for (const [header, bearer] of [[secret, other], [secret, 'x'], ['x', secret], [generateSecret('live'), secret]] as const) {
    await t.rejects(keys.checkHeaders(['x-api-key', header, 'Authorization', `Bearer ${bearer}`]), {
      code: 'INVALID_KEY_FORMAT',
      status: 401,
      message: /Send one key/
    })
  }
  t.equal(keys.lookups(), 0)
})

t.test('a key that was never created here is INVALID_KEY, and so is one whose stored mode is another', async t => {
  const keys = withOrganization(t)
  await t.rejects(keys.check(generateSecret('test')), { code: 'INVALID_KEY' })
  const secret = generateSecret('test')
  keys.addKey('live', { hash: hashSecret(secret) })
  await t.rejects(keys.check(secret), { code: 'INVALID_KEY' })
})

t.test('a revoked key is rejected from the next call on', async t => {
  const keys = withOrganization(t)
  const { secret, change } = keys.addKey('live')
  await keys.check(secret)
  change({ revokedAt: start.toISOString() })
  await t.rejects(keys.check(secret), { code: 'KEY_REVOKED', status: 401 })
})

t.test('a key is valid until the last millisecond before its expiry, also from the cache', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('live', { expiresAt: addMinutes(0.5).toISOString() })
  await keys.check(secret)
  await keys.check(secret, new Date(addMinutes(0.5).getTime() - 1))
  t.equal(keys.lookups(), 1)
  await t.rejects(keys.check(secret, addMinutes(0.5)), { code: 'KEY_EXPIRED', status: 401 })
})

t.test('a changed plan applies to the caller from the next call on', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('live')
  await keys.check(secret)
  keys.take([{ seq: 3, kind: 'organization', state: { tenantId: 'org-a', plan: 'team', overage: true } }])
  t.equal((await keys.check(secret)).plan, 'team')
})

t.test('while the copy is being built every key gets 503 with Retry-After', async t => {
  const keys = createKeyChecks(t)
  await t.rejects(keys.check(generateSecret('test')), {
    code: 'BACKEND_UNAVAILABLE',
    status: 503,
    headers: { 'retry-after': '5' }
  })
})

t.test('a copy older than keys.maxStalenessMinutes authenticates no caller, until it is up to date again', async t => {
  const keys = withOrganization(t, 10)
  const { secret } = keys.addKey('live')
  await keys.check(secret, addMinutes(10))
  await t.rejects(keys.check(secret, addMinutes(10.1)), { code: 'BACKEND_UNAVAILABLE' })
  keys.take([], addMinutes(10.1))
  await keys.check(secret, addMinutes(10.2))
})

t.test('without that limit a gateway that is cut off goes on validating', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('live')
  await keys.check(secret, addMinutes(60 * 24 * 365))
})

t.test('over HTTP the plugin sets the caller, and no response or log line holds the key', async t => {
  const keys = withOrganization(t)
  const { secret } = keys.addKey('test')
  const lines: string[] = []
  const app = fastify({ logger: { level: 'trace', stream: { write: line => { lines.push(line) } } } })
  app.setErrorHandler((error, _request, reply) =>
    reply
      .code((error as Failure).status)
      .headers({ ...(error as Failure).headers })
      .send({ code: (error as Failure).code })
  )
  await app.register(authenticate, { authenticate: keys.authenticate, now: () => start })
  app.get('/who', async request => request.caller)
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())

  const valid = await request(`${url}/who`, { headers: { 'x-api-key': secret } })
  t.match(await valid.body.json(), { keyId: 'key-2', tenantId: 'org-a' })
  const bearer = await request(`${url}/who`, { headers: { authorization: `Bearer ${secret}` } })
  t.match(await bearer.body.json(), { keyId: 'key-2', tenantId: 'org-a' })
  const missing = await request(`${url}/nowhere`)
  t.equal(missing.statusCode, 401, 'an unknown path is authenticated too')
  t.match(missing.headers['www-authenticate'], /x-api-key/)
  const twice = await sendRaw(
    app.server.address() as AddressInfo,
    `GET /who HTTP/1.1\r\nHost: x\r\nX-API-Key: ${secret}\r\nx-api-key: ${secret}\r\nConnection: close\r\n\r\n`
  )
  t.match(twice, /^HTTP\/1.1 401 [^]*INVALID_KEY_FORMAT/)
  const mistyped = await request(`${url}/who`, { headers: { 'x-api-key': secret.slice(0, -1) + '!' } })
  const output = [twice, await missing.body.text(), await mistyped.body.text(), ...lines].join()
  t.notMatch(output, secret.slice(9, 40))
  t.ok(lines.length > 4)
})

async function sendRaw ({ port }: AddressInfo, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let response = ''
  socket.setEncoding('utf8').on('data', chunk => { response += chunk })
  socket.write(text)
  await once(socket, 'close')
  return response
}

t.test('an empty key header counts as no key', async t => {
  const { inject } = await startGateway(t)
  for (const key of ['', ' ']) {
    t.match((await inject({ url: '/v1/patients', headers: { 'x-api-key': key } })).json(), { code: 'UNAUTHORIZED' })
  }
})
