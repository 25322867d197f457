import { createServer, request } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { startPostgres } from '../harness/postgres.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { createTemporaryDirectory } from '../sync/control-plane.js'
import { startGateway, startProcess, fetchStatus, type Running } from '../sync/processes.js'

t.setTimeout(300_000)

const count = 5_000

interface SlowDatastore {
  readonly url: string
  readonly direct: string
  /** From now on writes are performed, and their responses held until `goOn`. */
  readonly hold: () => void
  /** Responds without delay from now on. */
  readonly goOn: () => void
}

/**
 * A datastore that responds to one write after the other, so that a process can be killed in the middle of the work,
 * however fast the machine is.
 */
async function startSlowDatastore (t: Test): Promise<SlowDatastore> {
  const sandbox = await startTestSandbox(t)
  const { port, pathname, hostname } = new URL(sandbox.url)
  let goOn = () => {}
  let queue = Promise.resolve()
  let pauseMs = 400
  const server = createServer((requested, response) => {
    const passed = request(
      { hostname, port, method: requested.method, path: requested.url, headers: requested.headers },
      async received => {
        if (requested.method !== 'GET') await (queue = queue.then(() => pause(pauseMs)))
        response.writeHead(received.statusCode!, received.headers)
        received.pipe(response)
      }
    )
    passed.on('error', () => response.destroy())
    requested.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    goOn()
    server.closeAllConnections()
    server.close()
  })
  const hold = () => {
    const held = new Promise<void>(resolve => { goOn = resolve })
    queue = queue.then(() => held)
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    direct: sandbox.url,
    hold,
    goOn: () => {
      pauseMs = 0
      goOn()
    }
  }
}

t.test(
  'an import whose gateway is killed continues at another one, and at the next when that one is stopped; each line is written once',
  async t => {
    const database = await (await startPostgres(t)).createDatabase()
    const control = await startProcess(t, { CLINIGATE_ROLE: 'control', CONTROL_DATABASE_URL: database })
    const store = await openControlStore({ file: '', url: database, plans: ['enterprise'], now: () => new Date() })
    t.after(() => store.close())
    const { secret: token } = await store.tokens.create({ name: 'gateways', role: 'gateway' }, 'test')
    const { tenantId } = await store.organizations.create({ name: 'clinic', plan: 'enterprise' }, 'test')
    const { secret } = await store.keys.create({ tenantId, mode: 'test', name: 'a key' }, 'test')
    const shared = createTemporaryDirectory(t)
    writeFileSync(join(shared, 'config.json'), JSON.stringify({ bulk: { directory: join(shared, 'bulk') } }))
    const datastore = await startSlowDatastore(t)
    const environment = {
      CLINIGATE_CONFIG: join(shared, 'config.json'),
      FHIR_TEST_URL: datastore.url,
      FHIR_LIVE_URL: datastore.url
    }
    const gateways = await Promise.all(
      [1, 2].map(at =>
        startGateway(t, { url: control.url, token }, { ...environment, CLINIGATE_GATEWAY_NAME: `gateway-${at}` })
      )
    )
    const [first, second] = gateways as [Running, Running]
    for (const gateway of gateways) await waitUntil(async () => (await fetchStatus(gateway, secret)) === 200)

    const headers = { 'x-api-key': secret }
    const lines = Array.from({ length: count }, (_, i) =>
      JSON.stringify({ firstName: `Name ${i}`, lastName: 'Handed' })
    )
    const posted = await fetch(`${first.url}/v1/bulk/import?resourceType=Patient`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      body: lines.join('\n')
    })
    t.equal(posted.status, 202)
    const {
      data: { jobId }
    } = (await posted.json()) as { data: { jobId: string } }
    const fetchJob = async ({ url }: Running) =>
      (
        (await (await fetch(`${url}/v1/bulk/jobs/${jobId}`, { headers })).json()) as {
          data: { status: string; processedRecords: number }
        }
      ).data
    const isInTheMiddleAfter = (processed: number, at: Running) => async () => {
      await pause(100)
      const job = await fetchJob(at)
      if (job.status === 'completed' || job.status === 'failed') throw new Error(`it is ${job.status} already`)
      return job.processedRecords > processed
    }

    await waitUntil(isInTheMiddleAfter(0, second))
    await first.end('SIGKILL')
    const { processedRecords: atKill } = await fetchJob(second)
    await waitUntil(isInTheMiddleAfter(atKill, second))
    datastore.hold()
    const again = await first.again()
    const ended = second.end('SIGTERM')
    await waitUntil(async () => (await fetchStatus(second, secret).catch(() => 0)) !== 200)
    datastore.goOn()
    await ended
    t.equal(second.child.exitCode, 0)
    t.ok(second.output.err.includes('"why":"stopping"'), 'it was at work when it was stopped')
    await waitUntil(async () => (await fetchJob(again)).status !== 'processing')

    const job = await fetchJob(again)
    t.match(job, { status: 'completed', totalRecords: count, processedRecords: count, failedRecords: 0 })
    const results = (await (await fetch(`${again.url}/v1/bulk/jobs/${jobId}/results`, { headers })).text())
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    t.strictSame(
      results.map(({ line }) => line),
      lines.map((_, i) => i + 1),
      'a result for each line, in order'
    )
    t.equal(new Set(results.map(({ id }) => id)).size, count)
    const found = (await (await fetch(`${datastore.direct}/Patient?family=Handed&_summary=count`)).json()) as {
      total: number
    }
    t.equal(found.total, count, 'none is missing and none is there twice')
    for (const { output } of [first, second, again, control]) {
      for (const hidden of [secret, token, 'Name 1']) t.notOk((output.out + output.err).includes(hidden))
    }
  }
)
