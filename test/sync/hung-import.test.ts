import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { startStandIn, createTemporaryDirectory } from './control-plane.js'
import { startControl, startGateway } from './processes.js'

t.setTimeout(600_000)

const lines = 4_000
/** How long the datastore takes for a transaction, in milliseconds, one after the other: the import must last. */
const slowMs = 500

/** A slow FHIR server in this process, and its number of patients. */
async function startSlowServer (t: Test) {
  const sandbox = await startTestSandbox(t)
  let queue = Promise.resolve()
  const url = await startStandIn(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers as Record<string, string>
    if (request.method === 'POST' && request.url === '/') await (queue = queue.then(() => pause(slowMs)))
    const forwarded = await fetch(sandbox.url + request.url!.replace(/^\/$/, ''), {
      method: request.method!,
      headers,
      ...(body.length > 0 && { body })
    })
    response
      .writeHead(forwarded.status, { 'content-type': 'application/fhir+json' })
      .end(Buffer.from(await forwarded.arrayBuffer()))
  })
  const count = async () =>
    ((await (await fetch(`${sandbox.url}/Patient?_summary=count`)).json()) as { total: number }).total
  return { url, count }
}

/** Locks the index of an import as a gateway does during a write; a lock by the gateway itself serves as well. */
function lockIndex (t: Test, directory: string): Database.Database {
  const file = readdirSync(directory, { recursive: true }).map(String).find(name => name.endsWith('index.db'))!
  const index = new Database(join(directory, file), { timeout: 0 })
  t.after(() => index.close())
  try {
    index.exec('BEGIN IMMEDIATE')
  } catch (error) {
    t.match(error, { code: 'SQLITE_BUSY' }, 'it hangs in the middle of a write by itself')
  }
  return index
}

t.test(
  'an import of a gateway that hangs during a write continues at another one, and each line is stored once',
  async t => {
    const [control, server] = await Promise.all([startControl(t), startSlowServer(t)])
    const { secret } = await control.store.keys.create(
      { tenantId: control.tenantId, mode: 'test', name: 'a key' },
      'test'
    )
    const [directory, config] = [createTemporaryDirectory(t), join(createTemporaryDirectory(t), 'config.json')]
    writeFileSync(config, JSON.stringify({ bulk: { directory } }))
    const start = () =>
      startGateway(t, control, { FHIR_TEST_URL: server.url, FHIR_LIVE_URL: server.url, CLINIGATE_CONFIG: config })
    const headers = { 'x-api-key': secret }
    const [hung, other] = await Promise.all([start(), start()])
    for (const { url } of [hung, other]) {
      await waitUntil(async () => (await fetch(`${url}/v1/patients/none`, { headers })).status === 404)
    }

    const body = Array.from(
      { length: lines },
      (_, i) => `${JSON.stringify({ resourceType: 'Patient', id: `p${i}`, name: [{ family: `F${i}` }] })}\n`
    ).join('')
    const begun = await fetch(`${hung.url}/v1/bulk/import`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/fhir+ndjson' },
      body
    })
    const {
      data: { jobId }
    } = (await begun.json()) as { data: { jobId: string } }
    await waitUntil(async () => (await server.count()) >= 400)
    hung.child.kill('SIGSTOP')
    const lock = lockIndex(t, directory)
    t.ok((await server.count()) < lines, 'it hangs before the end')
    await waitUntil(() => /will be retried/.test(other.output.err))
    t.equal((await fetch(`${other.url}/v1/patients/none`, { headers })).status, 404, 'the other gateway serves')
    lock.close()
    hung.child.kill('SIGCONT')

    const fetchJob = async () =>
      ((await (await fetch(`${other.url}/v1/bulk/jobs/${jobId}`, { headers })).json()) as { data: { status: string } })
        .data
    await waitUntil(async () => {
      await pause(100)
      return !['pending', 'processing'].includes((await fetchJob()).status)
    }, 180)
    t.match(await fetchJob(), { status: 'completed', totalRecords: lines, processedRecords: lines, failedRecords: 0 })
    t.equal(await server.count(), lines)
    const results = (await (await fetch(`${other.url}/v1/bulk/jobs/${jobId}/results`, { headers })).text())
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { line: number; status: string; id: string })
    t.strictSame(
      results.map(({ line, status }) => `${line} ${status}`),
      Array.from({ length: lines }, (_, i) => `${i + 1} created`)
    )
    t.equal(new Set(results.map(({ id }) => id)).size, lines)
  }
)
