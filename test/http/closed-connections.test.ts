import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import fastify from 'fastify'
import t, { type Test } from 'tap'
import { onResponseEnd } from '../../src/net/on-response-end.js'
import { type Behaviour, sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { tenantSystem } from '../harness/fhir-server.js'
import { waitUntil } from '../harness/until.js'
import { startMeasured } from '../metrics/scrape.js'

const notFound = sendJson(404, { resourceType: 'OperationOutcome' })
/** More than the buffers of both ends of a connection hold for a client that does not read. */
const largeText = 'x'.repeat(14_000_000)

/** A datastore that accepts every AuditEvent, and holds its other responses until released. */
async function startHeldDatastore (t: Test) {
  const server = await startFaultyServer()
  // Held before the gateway, which waits for the response of the datastore.
  t.after(() => server.close())
  server.answerProbes()
  const held: Array<(behaviour: Behaviour) => void> = []
  let isHolding = false
  server.behave((response, request) => {
    const { entry } = JSON.parse(server.seen.at(-1)!.body || '{}')
    if (entry === undefined) {
      return isHolding ? held.push(behaviour => behaviour(response, request)) : notFound(response, request)
    }
    sendJson(200, {
      resourceType: 'Bundle',
      type: 'transaction-response',
      entry: entry.map(() => ({ response: { status: '201 Created' } }))
    })(response, request)
  })
  return {
    url: server.url,
    hold: () => { isHolding = true },
    isRequested: () => waitUntil(() => held.length > 0),
    letGo: (behaviour = notFound) => {
      isHolding = false
      for (const respond of held.splice(0)) respond(behaviour)
    }
  }
}

async function startScene (t: Test) {
  const datastore = await startHeldDatastore(t)
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-endings-'))
  const file = join(folder, 'access.log')
  t.after(() => rmSync(folder, { recursive: true }))
  const gateway = await startMeasured(t, {
    fhirUrl: datastore.url,
    config: { auditLog: { file, auditEvents: true }, limits: { inFlightPerOrganization: 1 } }
  })
  let begun = 0
  gateway.app.server.on('request', () => { begun++ })
  const observeKey = (keyId: string) => ({
    written: () => readFileSync(file, 'utf8').split('\n').filter(line => line.includes(keyId)).length,
    logged: () => gateway.logged().filter(line => line.keyId === keyId && 'route' in line).map(({ status }) => status)
  })
  return {
    gateway,
    ...datastore,
    observeKey,
    begun: async (requests: number) => { await waitUntil(() => begun === requests); begun = 0 },
    left: async () => {
      await waitUntil(
        () => new Promise<boolean>(resolve => gateway.app.server.getConnections((_, count) => resolve(count === 0)))
      )
      await new Promise(setImmediate)
    }
  }
}

type Scene = Awaited<ReturnType<typeof startScene>>

interface Ending {
  readonly bytes: (head: string) => string
  readonly requests?: number
  /** Closes the connection while the request is under way. */
  readonly end: (socket: Socket, scene: Scene, tenantId: string) => unknown
  readonly status: string
}

const read = (head: string) => `GET /v1/fhir/Patient/1 HTTP/1.1\r\n${head}\r\n`
const create = (head: string, missing = 0) => {
  const body = '{"firstName":"Ada","lastName":"Byron"}'
  return `POST /v1/patients HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length + missing}\r\n\r\n${body}`
}

const createDisconnect =
  (how: 'destroy' | 'resetAndDestroy' = 'destroy'): Ending['end'] =>
    async (socket, { isRequested, letGo, left }) => {
      await isRequested()
      socket[how]()
      await left()
      letGo()
    }

const endings: Readonly<Record<string, Ending>> = {
  'it is answered': {
    bytes: read,
    end: async (socket, { isRequested, letGo }) => {
      await isRequested()
      letGo()
      await once(socket, 'data')
    },
    status: '4xx'
  },
  'it is refused': {
    bytes: head => read(head).replace('Patient', 'Nothing'),
    end: socket => once(socket, 'data'),
    status: '4xx'
  },
  'its client leaves while it is worked on': { bytes: read, end: createDisconnect(), status: 'aborted' },
  'its connection is reset while it is worked on': { bytes: read, end: createDisconnect('resetAndDestroy'), status: 'aborted' },
  'its client leaves while its body, which came whole, is worked on': {
    bytes: create,
    end: createDisconnect(),
    status: 'aborted'
  },
  'its client leaves in the middle of its body': {
    bytes: head => create(head, 10),
    end: async (socket, { left }) => {
      socket.destroy()
      await left()
    },
    status: 'aborted'
  },
  'its client leaves before the second of two is worked on': {
    bytes: head => read(head).repeat(2),
    requests: 2,
    end: createDisconnect(),
    status: 'aborted'
  },
  'its connection is reset in the middle of its answer': {
    bytes: read,
    end: async (socket, { isRequested, letGo, left }, tenantId) => {
      await isRequested()
      letGo(
        sendJson(200, {
          resourceType: 'Patient',
          id: '1',
          meta: { versionId: '1', tag: [{ system: tenantSystem, code: tenantId }] },
          name: [{ text: largeText }]
        })
      )
      // It has arrived as far as it can without being read.
      await once(socket, 'readable')
      socket.resetAndDestroy()
      await left()
    },
    status: 'aborted'
  }
}

t.test(
  'each request is counted, logged, audited and made an AuditEvent once, however it ends, and its permit is released',
  async t => {
    const scene = await startScene(t)
    const { gateway } = scene
    const countRequests = async (status?: string) =>
      (await gateway.scrape()).value('clinigate_http_requests_total', status === undefined ? {} : { status })
    const known = new Map<string, number>()
    for (const [how, { bytes, end, status, requests = 1 }] of Object.entries(endings)) {
      const { secret, keyId, tenantId } = await gateway.createKey()
      const { written, logged } = scene.observeKey(keyId)
      const before = [await countRequests(), await countRequests(status)] as const
      scene.hold()
      const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {})
      socket.write(bytes(`host: h\r\nx-api-key: ${secret}\r\n`))
      await scene.begun(requests)
      await end(socket, scene, tenantId)
      await waitUntil(() => written() >= requests)
      socket.destroy()
      await scene.left()
      t.strictSame(
        [(await countRequests()) - before[0], (await countRequests(status)) - before[1]],
        [requests, requests],
        `${how}: counted as ${status}`
      )
      t.equal(logged().length, requests, `${how}: logged`)
      scene.letGo()
      t.equal(
        (await gateway.inject({ url: '/v1/patients/after', headers: { 'x-api-key': secret } })).statusCode,
        404,
        `${how}: the place is free`
      )
      t.equal(written(), requests + 1, `${how}: written down`)
      known.set(tenantId, requests + 1)
    }
    const all = [...known.values()].reduce((sum, requests) => sum + requests, 0)
    const countStored = async () => (await gateway.scrape()).value('clinigate_audit_events_total', { result: 'stored' })
    await waitUntil(async () => (await countStored()) >= all)
    t.equal(await countStored(), all, 'an AuditEvent for each')
    const day = { from: new Date(Date.now() - 86_400_000), to: new Date(Date.now() + 86_400_000) }
    const readUsage = () =>
      Promise.all(
        [...known.keys()].map(async tenantId =>
          (await gateway.control.usage.sumUsage({ tenantId, ...day })).totals.reduce(
            (sum, { requests }) => sum + requests,
            0
          )
        )
      )
    await waitUntil(async () => (await readUsage()).every((requests, at) => requests >= [...known.values()][at]!))
    t.strictSame(await readUsage(), [...known.values()], 'and counted once in the usage')
  }
)

t.test('the end of a streamed response is reported once, however it ends', async t => {
  const app = fastify()
  t.teardown(() => app.close())
  const reported: boolean[] = []
  app.addHook('onRequest', async (request, reply) =>
    onResponseEnd(request, reply, isAnswered => {
      reported.push(isAnswered)
    })
  )
  let source = new PassThrough()
  app.get('/', async (_, reply) => reply.send(source))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const ends: ReadonlyArray<readonly [boolean, (leaving: AbortController) => unknown]> = [
    [true, () => source.end('ends')],
    [false, leaving => leaving.abort()],
    [false, () => source.destroy(new Error('the file is gone'))]
  ]
  for (const [isAnswered, end] of ends) {
    source = new PassThrough()
    source.write('begins')
    const leaving = new AbortController()
    const { body } = await fetch(url, { signal: leaving.signal })
    const reader = body!.getReader()
    await reader.read()
    end(leaving)
    await waitUntil(() => reported.length > 0)
    await new Promise(setImmediate)
    t.strictSame(reported.splice(0), [isAnswered])
    await reader.cancel().catch(() => {})
  }
})
