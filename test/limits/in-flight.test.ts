import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import fastify from 'fastify'
import fp from 'fastify-plugin'
import t, { type Test } from 'tap'
import { TenantConcurrency } from '../../src/backends/shares.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import type { FailureEnvelope } from '../../src/envelope/reply.js'
import { inFlight } from '../../src/limits/in-flight.js'
import { FairConcurrencyLimiter } from '../../src/limits/concurrency-limiter.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'

/** When a client leaves, the `fetch` of Node 22 connects again for nothing, which would delay the end by a minute. */
const closesAtOnce = { forceCloseConnections: true } as const

/** A datastore that holds every request until it is released, and then responds that nothing was found. */
async function startHoldingDatastore (t: Test) {
  const held: Array<{ readonly url: string, readonly response: ServerResponse }> = []
  const server = createServer(({ url = '' }, response) => {
    if (url.endsWith('-probe')) return response.writeHead(404).end()
    held.push({ url, response })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close(); server.closeAllConnections() })
  const respond = ({ response }: (typeof held)[number]) =>
    response.writeHead(404, { 'content-type': 'application/fhir+json' }).end('{"resourceType":"OperationOutcome"}')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`,
    held,
    /** Resolves when so many requests are held. */
    holds: async (count: number) => { while (held.length < count) await pause(5) },
    letGo: (which = held.length) => held.splice(0, which).forEach(respond),
    letGoOf: (part: string) => respond(held.splice(held.findIndex(({ url }) => url.includes(part)), 1)[0]!)
  }
}

async function startCrowded (t: Test, settings: GatewaySettings = {}) {
  const store = await startHoldingDatastore(t)
  const gateway = await startGateway(t, {
    fhirUrl: store.url,
    config: { limits: { inFlightPerOrganization: 3 } },
    ...settings
  })
  const requests: unknown[] = []
  gateway.app.server.on('request', ({ url }) => { requests.push(url) })
  /** Resolves when so many requests have arrived at the gateway, and have a permit or wait for one. */
  const waitForRequests = async (count: number) => {
    while (requests.length < count) await pause(5)
    await pause(5)
  }
  const get = (secret: string, id = 'some', signal?: AbortSignal) =>
    fetch(`${gateway.url}/v1/patients/${id}`, { headers: { 'x-api-key': secret }, signal })
  return { ...gateway, store, get, waitForRequests }
}

t.test('while one organization uses all its permits and queues more requests, another one is served', async t => {
  const { createKey, store, get } = await startCrowded(t)
  const [greedy, other] = [await createKey(), await createKey()]
  const requested = Array.from({ length: 20 }, () => get(greedy.secret))
  await store.holds(3)
  const response = get(other.secret, 'other')
  await store.holds(4)
  t.strictSame(
    store.held.map(({ url }) => url.includes('other')),
    [false, false, false, true],
    'three of the one, and then the other'
  )
  store.letGoOf('other')
  t.equal((await response).status, 404)
  t.equal(store.held.length, 3, 'the first three are still being worked on')
  for (let rest = 20; rest > 0; rest -= 3) {
    await store.holds(Math.min(3, rest))
    store.letGo()
  }
  t.strictSame(
    [...new Set((await Promise.all(requested)).map(({ status }) => status))],
    [404],
    'those that waited were served one after the other'
  )
})

t.test('test and live keys of an organization have permits of their own', async t => {
  const { createKey, store, get } = await startCrowded(t)
  const live = await createKey({ mode: 'live' })
  const test = await createKey({ tenantId: live.tenantId })
  const requested = [...Array.from({ length: 5 }, () => get(live.secret)), get(test.secret, 'test')]
  await store.holds(4)
  t.equal(store.held.filter(({ url }) => url.includes('test')).length, 1)
  store.letGo()
  await store.holds(2)
  store.letGo()
  await Promise.all(requested)
})

t.test('a permit is released however its request ended', async t => {
  const { createKey, store, get, url } = await startCrowded(t, {
    config: { limits: { inFlightPerOrganization: 1 }, datastores: {} }
  })
  const { secret } = await createKey()
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' }
  const isFree = async (how: string) => {
    const response = get(secret, 'after')
    await store.holds(1)
    store.letGo()
    t.equal((await response).status, 404, how)
  }
  const ends: Readonly<Record<string, () => Promise<unknown>>> = {
    answered: async () => {},
    'refused before any work': () => fetch(`${url}/v1/patients?unknown=1`, { headers }),
    'not found': () => fetch(`${url}/v1/nothing`, { headers }),
    'a body that is no JSON': () => fetch(`${url}/v1/patients`, { method: 'POST', headers, body: '{' }),
    'the client leaves in the middle of its body': async () => {
      const body = new ReadableStream({
        start: controller => {
          controller.enqueue(new TextEncoder().encode('{"firstName":'))
        }
      })
      const leaving = new AbortController()
      const sent = fetch(`${url}/v1/patients`, {
        method: 'POST',
        headers,
        body,
        duplex: 'half',
        signal: leaving.signal
      } as RequestInit).catch(() => {})
      await pause(100)
      leaving.abort()
      await sent
    },
    'the datastore breaks the connection': async () => {
      const sent = fetch(`${url}/v1/patients/some`, { method: 'DELETE', headers })
      // Reads are sent twice.
      for (let isOver = false; !isOver; store.held.splice(0).forEach(({ response }) => response.destroy())) {
        isOver = await Promise.race([sent.then(() => true), pause(10, false)])
      }
    }
  }
  for (const [how, end] of Object.entries(ends)) {
    await end()
    await isFree(how)
  }
})

t.test(
  'a client that has disconnected holds its permit until its work has ended, and a waiting one leaves the queue',
  async t => {
    const { createKey, store, get, waitForRequests } = await startCrowded(t, {
      config: { limits: { inFlightPerOrganization: 1 } }
    })
    const { secret } = await createKey()
    const leaving = new AbortController()
    const first = get(secret, 'first', leaving.signal)
    const gone = Promise.allSettled([first, store.holds(1).then(() => get(secret, 'second', leaving.signal))])
    await store.holds(1)
    await waitForRequests(2)
    leaving.abort()
    await gone
    const third = get(secret, 'third')
    await waitForRequests(3)
    await pause(100)
    t.strictSame(
      store.held.map(({ url }) => /first|second|third/.exec(url)?.[0]),
      ['first'],
      'nothing else begins before the first has ended'
    )
    store.letGo()
    await store.holds(1)
    t.match(store.held[0]!.url, 'third')
    store.letGo()
    t.equal((await third).status, 404)
  }
)

t.test('a streamed response holds its permit until it is sent, its client leaves, or it breaks off', async t => {
  const limiter = new FairConcurrencyLimiter({ permits: 1 })
  const pool = { tenantId: 'a', mode: 'test' } as const
  const app = fastify(closesAtOnce)
  t.teardown(() => app.close())
  await app.register(fp(async scope => {
    scope.decorateRequest('caller')
    scope.addHook('onRequest', async request => {
      request.caller = { ...pool, keyId: 'k', keyName: 'k', plan: 'pro', overage: false, scopes: ['*'] }
    })
  }, { name: 'authenticate' }))
  await app.register(inFlight, { concurrency: limiter })
  let source = new PassThrough()
  app.get('/', async (_, reply) => reply.send(source))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const ends: Readonly<Record<string, (leaving: AbortController) => unknown>> = {
    'it is out': () => source.end(),
    'the client leaves': leaving => leaving.abort(),
    'it breaks': () => source.destroy(new Error('the file is gone'))
  }
  for (const [how, end] of Object.entries(ends)) {
    source = new PassThrough()
    const leaving = new AbortController()
    source.write('begins')
    const { body } = await fetch(url, { signal: leaving.signal })
    const reader = body!.getReader()
    await reader.read()
    const next = limiter.acquire(pool)
    t.type(next.isAdmitted, Promise, 'while it streams, the next one waits')
    end(leaving)
    t.equal(await next.isAdmitted, true, `${how}, and the place is the next one's`)
    next.leave()
    await reader.cancel().catch(() => {})
  }
})

t.test('a client that disconnects before authentication holds no permit', async t => {
  const limiter = new FairConcurrencyLimiter({ permits: 1 })
  const pool = { tenantId: 'a', mode: 'test' } as const
  const app = fastify(closesAtOnce)
  t.teardown(() => app.close())
  const leaving = new AbortController()
  await app.register(fp(async scope => {
    scope.decorateRequest('caller')
    scope.addHook('onRequest', async (request, { raw }) => {
      const left = once(raw, 'close')
      leaving.abort()
      await left
      request.caller = { ...pool, keyId: 'k', keyName: 'k', plan: 'pro', overage: false, scopes: ['*'] }
    })
  }, { name: 'authenticate' }))
  await app.register(inFlight, { concurrency: limiter })
  const worked = new Promise<void>(resolve => app.get('/', async () => {
    resolve()
    return 'done'
  }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await fetch(url, { signal: leaving.signal }).catch(() => {})
  await worked
  const next = limiter.acquire(pool)
  t.equal(await next.isAdmitted, true)
  next.leave()
})

t.test(
  'when the queue is full or too slow, a request is rejected with 429 and does not count for the minute or the month',
  async t => {
    const { createKey, store, get, waitForRequests } = await startCrowded(t, {
      config: { limits: { inFlightPerOrganization: 1 } }
    })
    const { secret } = await createKey()
    const requested = Array.from({ length: 1 + 32 }, () => get(secret))
    await store.holds(1)
    await waitForRequests(1 + 32)
    const refused = await get(secret)
    t.equal(refused.status, 429)
    const { code, message, meta } = (await refused.json()) as FailureEnvelope
    t.equal(code, 'RATE_LIMITED')
    t.match(message, 'did not count')
    t.equal(refused.headers.get('retry-after'), '1')
    t.equal(refused.headers.get('x-ratelimit-remaining'), '999', 'only the one that is worked on counts')
    t.equal(meta.rateLimitRemaining, 999)
    t.equal(refused.headers.get('x-quota-used'), null)
    for (const statuses = Promise.all(requested).then(responses => responses.map(({ status }) => status)); ;) {
      const left = await Promise.race([statuses, pause(5)])
      store.letGo()
      if (left === undefined) continue
      t.strictSame([...new Set(left as number[])].sort(), [404], 'those that waited are served')
      break
    }
  }
)

t.test('a request that waits too long for a permit gets none', async t => {
  let clock = 0
  const limiter = new FairConcurrencyLimiter({ permits: 1, timeoutMs: 5_000, clock: () => clock })
  const pool = { tenantId: 'a', mode: 'test' } as const
  const first = limiter.acquire(pool)
  const second = limiter.acquire(pool)
  clock = 4_999
  const third = limiter.acquire(pool)
  clock = 5_000
  t.equal(await second.isAdmitted, false)
  first.leave()
  t.equal(await third.isAdmitted, true)
  third.leave()
  third.leave()
  first.leave()
  second.leave()
  const [next, last] = [limiter.acquire(pool), limiter.acquire(pool)]
  t.equal(next.isAdmitted, true)
  t.type(last.isAdmitted, Promise, 'leaving twice frees one place')
  last.leave()
  next.leave()
})

t.test('while others wait, one request of an organization starts per turn, and in the end all do', async t => {
  const limiter = new FairConcurrencyLimiter({ permits: 100 })
  limiter.acquire({ tenantId: 'b', mode: 'test' }).leave()
  const begun: string[] = []
  const enter = async (tenantId: string) => {
    const permit = limiter.acquire({ tenantId, mode: 'test' })
    await permit.isAdmitted
    begun.push(tenantId)
    return permit
  }
  const all = Promise.all(['a', 'a', 'a', 'a', 'b', 'a'].map(enter))
  await all
  t.strictSame(begun, ['a', 'b', 'a', 'a', 'a', 'a'])
  for (const permit of await all) permit.leave()
})

t.test('only organizations with a request under way use memory', async t => {
  const limiter = new FairConcurrencyLimiter({ permits: 2 })
  for (let i = 0; i < 100_000; i++) {
    limiter.acquire({ tenantId: `org-${i}`, mode: 'test' }).leave()
    if (i % 1_000 === 0) await new Promise(setImmediate)
  }
  await new Promise(setImmediate)
  t.equal(limiter.pools, 0)
})

t.test('an organization never has more than its share of a shared datastore, over all its requests and jobs', async t => {
  const store = await startHoldingDatastore(t)
  const backend = new HttpBackend({ name: 'shared', baseUrl: store.url, connections: 4 })
  t.teardown(() => backend.close())
  const shares = new TenantConcurrency()
  const sendFor = (tenantId: string) => shares.limit(backend, tenantId, 2).send({ method: 'GET', path: `Patient/${tenantId}` })
  const sent = Promise.all([...Array.from({ length: 6 }, () => sendFor('greedy')), sendFor('other')])
  await store.holds(3)
  await pause(50)
  t.strictSame(store.held.map(({ url }) => /greedy|other/.exec(url)![0]).sort(), ['greedy', 'greedy', 'other'])
  while (await Promise.race([sent, pause(20)]) === undefined) store.letGo()
  t.equal((await sent).length, 7)
  t.equal(shares.size, 0, 'what has nothing under way takes no memory')
})
