import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import type { RoutingKey } from '../../src/backends/routing.js'
import { loadConfig } from '../../src/config/load.js'
import { Disposables } from '../../src/bootstrap/parts.js'
import { openDatastores } from '../../src/bootstrap/datastores.js'

/** One server under three names, two connections to each; it holds each request until the test lets it respond. */
async function openTestDatastores (t: Test) {
  const requested: Array<{ readonly url: string, readonly response: ServerResponse }> = []
  const server = createServer(({ url = '' }, response) => {
    // Probes of the breaker are not counted.
    if (url.endsWith('-probe')) return response.writeHead(404).end()
    requested.push({ url, response })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const toUrl = (name: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  const file = join(directory, 'config.json')
  const datastores = Object.fromEntries(['test', 'live', 'own'].map(name => [name, { url: toUrl(name), connections: 2 }]))
  writeFileSync(file, JSON.stringify({ datastores, routing: { dedicated: { acme: 'own' } } }))
  const closers = new Disposables()
  t.teardown(async () => {
    server.closeAllConnections()
    server.close()
    await closers.close()
    rmSync(directory, { recursive: true })
  })
  const environment = { CLINIGATE_CONFIG: file, CLINIGATE_DATA: directory }
  const { backendFor } = await openDatastores(
    loadConfig(environment),
    { environment, now: () => new Date(), log: pino({ level: 'silent' }) },
    closers
  )
  return {
    backendFor,
    requested,
    read: (owner: RoutingKey) => backendFor(owner).send({ method: 'GET', path: `Patient/${owner.tenantId}` }),
    waitForRequests: async (count: number) => {
      while (requested.length < count) await new Promise(resolve => setTimeout(resolve, 5))
    },
    letGo: () => {
      for (const { response } of requested.splice(0)) {
        response.writeHead(404, { 'content-type': 'application/fhir+json' }).end('{}')
      }
    }
  }
}

const test = (tenantId: string): RoutingKey => ({ tenantId, mode: 'test', plan: 'pro' })

t.test('the backend of an organization is created once, and is not shared where it has a share', async t => {
  const { backendFor } = await openTestDatastores(t)
  t.equal(backendFor(test('acme')), backendFor(test('acme')))
  const backends = new Set(
    ['acme', 'bay', 'acme bay', 'test acme'].flatMap(tenantId => [
      backendFor(test(tenantId)),
      backendFor({ tenantId, mode: 'live', plan: 'pro' })
    ])
  )
  t.equal(backends.size, 8)
})

t.test('a change of mode or plan routes the next request to another datastore', async t => {
  const { backendFor } = await openTestDatastores(t)
  const nameOf = (owner: RoutingKey) => backendFor(owner).name
  for (let i = 0; i < 2; i++) {
    t.equal(nameOf(test('acme')), 'test')
    t.equal(nameOf({ tenantId: 'acme', mode: 'live', plan: 'pro' }), 'live')
    t.equal(nameOf({ tenantId: 'acme', mode: 'live', plan: 'enterprise' }), 'own')
    t.throws(() => backendFor({ tenantId: 'bay', mode: 'live', plan: 'enterprise' }), { code: 'BACKEND_UNAVAILABLE' })
    t.throws(() => backendFor({ tenantId: 'acme', mode: 'live', plan: 'gone' }), { code: 'BACKEND_UNAVAILABLE' })
  }
})

t.test('an organization has no more than its share after thousands of other organizations sent requests', async t => {
  const { backendFor, read, requested, waitForRequests, letGo } = await openTestDatastores(t)
  const first = backendFor(test('greedy'))
  const responses = [read(test('greedy'))]
  await waitForRequests(1)
  for (let i = 0; i < 3_000; i++) backendFor(test(`org-${i}`))
  t.not(backendFor(test('greedy')), first, 'ways are not kept for ever')
  responses.push(read(test('greedy')), read(test('other')))
  await waitForRequests(2)
  t.strictSame(requested.map(({ url }) => url), ['/test/Patient/greedy', '/test/Patient/other'])
  letGo()
  await waitForRequests(1)
  t.strictSame(requested.map(({ url }) => url), ['/test/Patient/greedy'])
  letGo()
  t.strictSame((await Promise.all(responses)).map(({ status }) => status), [404, 404, 404])
})
