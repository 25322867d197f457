import { connect, type AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import fastify from 'fastify'
import t from 'tap'
import { createInProcessChangeFeed } from '../../src/control-plane/sync/local.js'
import { parseEventStream } from '../../src/control-plane/sync/event-stream.js'
import { createRemoteLink } from '../../src/control-plane/sync/remote.js'
import { linkRoutes } from '../../src/control-plane/sync/routes.js'
import type { Batch } from '../../src/keys/change-feed.js'
import { waitUntil } from '../harness/until.js'
import { startFollower, startControlPlane } from './control-plane.js'

const report = {
  gatewayId: 'gateway-1',
  name: 'one',
  version: '1.2.3',
  startedAt: '2030-01-01T00:00:00.000Z',
  position: { feedId: '', seq: 0 },
  checks: { keys: 'degraded' }
}

const nothing = {
  report: async () => {},
  applyUsage: async () => ({ number: 0, batchId: '' }),
  jobs: {} as never,
  webhooks: {} as never,
  subscriptions: {} as never,
  applyEvents: async () => ({ number: 0, batchId: '' }),
  events: {} as never
}

t.test('the link is accessible with valid tokens of gateways alone, on each of its routes', async t => {
  let ahead = 0
  const { app, control, token, tokenId, tenantId } = await startControlPlane(t, {}, () => new Date(Date.now() + ahead))
  const { secret: operator } = await control.tokens.create({ name: 'a program', role: 'operator' }, 'test')
  const { secret: key } = await control.keys.create({ tenantId, mode: 'live', name: 'a key' }, 'test')
  const { secret: expiring } = await control.tokens.create(
    { name: 'late', role: 'gateway', expiresAt: new Date(Date.now() + 60_000) },
    'test'
  )
  ahead = 120_000
  const routes = [['GET', '/feed?feedId=&seq=0'], ['POST', '/report'], ['POST', '/usage']] as const
  const requireRejected = async (authorization: string | undefined, what: string) => {
    for (const [method, url] of routes) {
      const response = await app.inject({
        method,
        url: `/control/v1/link${url}`,
        headers: authorization === undefined ? {} : { authorization },
        ...(method === 'POST' ? { payload: report } : {})
      })
      t.match(
        [response.statusCode, response.json(), response.headers],
        [
          401,
          { code: 'UNAUTHORIZED', data: null, message: /gateway token/ },
          { 'www-authenticate': 'Bearer', 'cache-control': 'no-store' }
        ],
        `${what}: ${url}`
      )
      t.notMatch(response.body, authorization?.slice(7) || 'cg_gateway')
    }
  }
  await requireRejected(undefined, 'no token')
  for (const [what, secret] of Object.entries({
    operator,
    key,
    late: expiring,
    mistyped: `${token.slice(0, -1)}_`,
    empty: '',
    'two words': `${token} ${token}`
  })) { await requireRejected(`Bearer ${secret}`, what) }
  await requireRejected(`Basic ${token}`, 'another scheme')
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/control/v1/link/report',
        headers: { authorization: `Bearer ${token}` },
        payload: report
      })
    ).statusCode,
    200
  )
  await control.tokens.revoke(tokenId, 'test')
  await requireRejected(`Bearer ${token}`, 'revoked')
  t.equal((await control.gateways.list()).length, 1)
})

t.test('an open stream ends within the polling interval when its token is revoked, and cannot be opened again', async t => {
  const { control, token, tokenId } = await startControlPlane(t)
  const app = fastify()
  await app.register(linkRoutes, {
    prefix: '/control/v1/link',
    store: { ...nothing, feed: createInProcessChangeFeed(control) },
    findGatewayName: async secret => (await control.tokens.findBySecret(secret))?.name,
    recheckMs: 50
  })
  t.after(() => app.close())
  const link = createRemoteLink({ url: await app.listen({ host: '127.0.0.1', port: 0 }), token })
  t.after(() => link.close())
  const { follower, lines } = startFollower(t, link.feed)
  await follower.caughtUp
  await pause(200)
  t.equal(follower.isConnected, true, 'a good token keeps its stream')
  await control.tokens.revoke(tokenId, 'test')
  await waitUntil(() => !follower.isConnected)
  await waitUntil(() => lines.some(line => line.includes('rejected this gateway')))
})

t.test('a control plane that closes ends its streams and does not wait for them', async t => {
  const { token, url, close, lines } = await startControlPlane(t)
  const link = createRemoteLink({ url, token })
  t.after(() => link.close())
  const { follower } = startFollower(t, link.feed)
  await follower.caughtUp
  const closed = close()
  await waitUntil(() => !follower.isConnected)
  await closed
  t.notMatch(lines.join(''), /"level":50/)
})

t.test('a gateway that disconnects leaves nothing behind', async t => {
  const app = fastify()
  let open = 0
  const feed = {
    async * follow (_: unknown, signal: AbortSignal): AsyncGenerator<Batch> {
      open++
      try {
        for (;;) {
          yield { feedId: 'f', isSnapshot: false, after: 0, through: 0, isLatest: true, changes: [] }
          await pause(20, undefined, { signal })
        }
      } finally {
        open--
      }
    }
  }
  await app.register(linkRoutes, { store: { ...nothing, feed }, findGatewayName: async () => 'one' })
  t.after(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const sockets = Array.from({ length: 20 }, () => connect((app.server.address() as AddressInfo).port, '127.0.0.1'))
  for (const socket of sockets) {
    socket.on('error', () => {}).write('GET /feed?feedId=&seq=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n')
  }
  await waitUntil(() => open === 20)
  for (const socket of sockets) socket.resetAndDestroy()
  await waitUntil(() => open === 0)
})

t.test('a gateway that reads slowly uses no memory: no batch is built before the one before it was read', async t => {
  const app = fastify()
  let made = 0
  const changes = Array.from({ length: 1_000 }, (_, i) => ({
    seq: i + 1,
    kind: 'key' as const,
    state: {
      keyId: `key-${i}`,
      hash: '0'.repeat(64),
      tenantId: 'org',
      name: 'x'.repeat(200),
      mode: 'test' as const,
      scopes: ['*' as const]
    }
  }))
  const feed = {
    async * follow (): AsyncGenerator<Batch> {
      for (;;) {
        made++
        yield { feedId: 'f', isSnapshot: true, after: 0, through: 1_000, isLatest: false, changes }
        await pause(1)
      }
    }
  }
  await app.register(linkRoutes, { store: { ...nothing, feed }, findGatewayName: async () => 'one' })
  t.after(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.pause().write('GET /feed?feedId=&seq=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n')
  await waitUntil(() => made > 5)
  let before = 0
  // As many as the connection takes, of which some megabytes are never read.
  while (made > before) {
    before = made
    if (made > 1_000) throw new Error('it is made though nobody reads')
    await pause(500)
  }
  t.equal(made, before, 'nobody reads, so nothing is made')
  socket.resume()
  await waitUntil(() => made > before + 20)
})

t.test('an invalid report, batch or position is rejected by its name, and no value is repeated', async t => {
  const { app, token } = await startControlPlane(t)
  const headers = { authorization: `Bearer ${token}` }
  const send = (path: string, payload: unknown) =>
    app.inject({
      method: 'POST',
      url: `/control/v1/link${path}`,
      headers: { ...headers, 'content-type': 'application/json' },
      payload: typeof payload === 'string' ? payload : JSON.stringify(payload)
    })
  const invalid = [
    [400, '/report', 'not json'],
    [400, '/report', {}],
    [400, '/report', []],
    [400, '/report', { ...report, extra: 'sneaky' }],
    [400, '/report', { ...report, name: '<script>sneaky</script>' }],
    [400, '/report', { ...report, startedAt: 'sneaky' }],
    [400, '/report', { ...report, checks: { keys: 'sneaky' } }],
    [400, '/report', { ...report, checks: { '<sneaky>': 'ok' } }],
    [400, '/report', { ...report, position: { feedId: '', seq: -1 } }],
    [400, '/report', { ...report, position: { feedId: '', seq: '1' } }],
    [413, '/report', { ...report, version: 'x'.repeat(70_000) }],
    [400, '/usage', { ledgerId: 'a', number: 0, batchId: 'b', lines: [] }],
    [400, '/usage', { sneaky: true }],
    [413, '/usage', 'x'.repeat(2_100_000)]
  ] as const
  for (const [status, path, payload] of invalid) {
    const response = await send(path, payload)
    t.equal(response.statusCode, status, `${path} ${JSON.stringify(payload).slice(0, 80)}`)
    t.notMatch(response.body, /sneaky</)
    t.match(response.json(), { data: null, meta: { status } })
  }
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/control/v1/link/report',
        headers: { ...headers, 'content-type': 'text/plain' },
        payload: 'x'
      })
    ).statusCode,
    415
  )
  for (const query of [
    '',
    'feedId=&seq=',
    'feedId=&seq=-1',
    'feedId=&seq=1e3',
    'feedId=a%20b&seq=0',
    'feedId=&seq=0&more=1',
    'feedId=a&feedId=b&seq=0'
  ]) {
    t.equal((await app.inject({ url: `/control/v1/link/feed?${query}`, headers })).statusCode, 400, query)
  }
  t.equal((await app.inject({ method: 'HEAD', url: '/control/v1/link/feed?feedId=&seq=0', headers })).statusCode, 404)
})

t.test(
  'the stream is a snapshot for a new gateway and the missed changes for one that reconnects; it contains no secret',
  async t => {
    const { url, token, createKey, control } = await startControlPlane(t)
    const { secret, keyId } = await createKey()
    const take = async (query: string) => {
      const stopping = new AbortController()
      const response = await fetch(`${url}/control/v1/link/feed?${query}`, {
        headers: { authorization: `Bearer ${token}` },
        signal: stopping.signal
      })
      t.match(response.headers.get('content-type'), 'text/event-stream')
      const { value } = await parseEventStream(response.body!).next()
      stopping.abort()
      t.notMatch(value, secret)
      return JSON.parse(value as string) as Batch
    }
    const snapshot = await take('feedId=&seq=0')
    t.match(snapshot, {
      isSnapshot: true,
      after: 0,
      isLatest: true,
      changes: [{ kind: 'organization' }, { kind: 'key', state: { keyId } }]
    })
    await control.keys.revoke(keyId, 'test')
    t.match(await take(`feedId=${snapshot.feedId}&seq=${snapshot.through}`), {
      isSnapshot: false,
      after: snapshot.through,
      changes: [{ kind: 'key', state: { keyId, revokedAt: String } }]
    })
    t.match(
      await take(`feedId=${snapshot.feedId}&seq=999`),
      { isSnapshot: true },
      'one that is ahead of a restored control plane'
    )
    t.match(await take('feedId=another&seq=1'), { isSnapshot: true }, 'one that followed another control plane')
  }
)

t.test('neither token nor hash nor query is in the log', async t => {
  const { url, token, createKey, lines } = await startControlPlane(t)
  const { keyId } = await createKey()
  const link = createRemoteLink({ url, token })
  const { follower, replica } = startFollower(t, link.feed)
  await follower.caughtUp
  await link.report({ ...report, position: replica.readPosition(), checks: {} })
  await link.close()
  await waitUntil(() => lines.some(line => line.includes('disconnected from the change feed')))
  t.match(lines.join(''), /"gateway":"a gateway"/)
  for (const secret of [token, 'feedId', 'seq=', keyId]) t.notMatch(lines.join(''), secret)
})
