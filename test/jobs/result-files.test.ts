import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { Spool } from '../../src/jobs/storage/files.js'
import { DiskQuota, hashOwner } from '../../src/jobs/storage/holdings.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { createImporter } from './importing.js'

// Only the number of an organization's jobs was bounded: its uploads and exports filled the disk that all organizations
// share.

const maxBytes = 2 ** 20
const line = '{"lastName":"Byron"}\n'
const buildLines = (bytes: number): string => line.repeat(Math.floor(bytes / line.length))

async function startUploads (t: Test) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { bulk: { organizationBytes: maxBytes } } })
  const { secret, tenantId } = await gateway.createKey()
  const spool = join(gateway.dataDirectory, 'bulk')
  const listFolders = () => readdirSync(spool).filter(name => name.startsWith('job-'))
  /** Another job of a tenant, as another gateway at the same directory may have it. */
  const hold = async (bytes: number, of = tenantId) => {
    const { id, files } = await new Spool({ directory: spool, reserveBytes: 0 }).begin({ tenantId: of, mode: 'test' })
    const writer = await files.write('Patient.ndjson')
    await writer.write(Buffer.alloc(bytes))
    await writer.close()
    return id
  }
  return { gateway, client: createImporter(gateway, secret), listFolders, hold }
}

t.test(
  'an upload beyond the quota of an organization is refused while it comes, or before, and nothing of it stays',
  async t => {
    const { client, listFolders } = await startUploads(t)
    const refused = { status: 413, body: { code: 'PAYLOAD_TOO_LARGE', message: /Import or export less at once/ } }
    t.match(await client.send(buildLines(maxBytes * 2), '?resourceType=patients'), refused, 'as its length says')
    t.match(
      await client.send(gzipSync(buildLines(maxBytes * 2)), '?resourceType=patients', { 'content-encoding': 'gzip' }),
      refused,
      'when it is more than its length says'
    )
    t.strictSame(listFolders(), [])
  }
)

t.test('an upload of unknown length is refused before it has ended', async t => {
  const { gateway, client, listFolders } = await startUploads(t)
  const status = await new Promise(resolve => {
    const sending = request(
      `${gateway.url}/v1/bulk/import?resourceType=patients`,
      { method: 'POST', headers: { 'x-api-key': client.secret, 'content-type': 'application/x-ndjson' } },
      response => {
        resolve(response.statusCode)
        sending.destroy()
      }
    )
    sending.on('error', () => {})
    sending.setTimeout(60_000, () => resolve('no answer'))
    sending.write(buildLines(maxBytes * 2))
  })
  t.equal(status, 413)
  await waitUntil(() => listFolders().length === 0)
  t.match(await client.get('/bulk/jobs'), { body: { data: { total: 0 } } })
})

t.test(
  "files of the organization's other jobs count, whichever gateway wrote them; those of other organizations do not",
  async t => {
    const { gateway, client, listFolders, hold } = await startUploads(t)
    await hold(maxBytes, (await gateway.createKey()).tenantId)
    await hold(maxBytes / 2)
    const refused = await client.send(buildLines(maxBytes * 0.75), '?resourceType=patients')
    t.match(refused, { status: 429, body: { code: 'RATE_LIMITED', message: /DELETE \/v1\/bulk\/jobs\/<jobId>/ } })
    t.equal(listFolders().length, 2)
    t.match(await client.send(line, '?resourceType=patients'), { status: 202 })
  }
)

t.test('an export that would exceed the quota fails with that reason', async t => {
  const { client, hold } = await startUploads(t)
  // Not by an import, whose files would count as well.
  for (let at = 0; at < 200; at++) {
    const { status } = await client.post('/patients', { lastName: 'Byron', firstName: 'Augusta'.repeat(250) })
    t.equal(status, 201)
  }
  await hold(maxBytes * 0.75)
  const { body } = await client.post('/bulk/export', { resourceTypes: ['patients'] })
  t.match(await client.waitForEnd(body.data.jobId), {
    status: 'failed',
    failure: { code: 'RATE_LIMITED', message: /would take up more than 1048576 bytes/ }
  })
})

t.test('an import whose results would exceed the quota fails with that reason', async t => {
  const { client } = await startUploads(t)
  const started = await client.send('0\n'.repeat(maxBytes / 4), '?resourceType=patients')
  t.equal(started.status, 202)
  const job = await client.waitForEnd(started.body.data.jobId)
  t.match(job, { status: 'failed', failure: { code: 'RATE_LIMITED' } })
})

const owner = { tenantId: 'org-a', mode: 'test' } as const

async function startSpool (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-deleted-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const spool = new Spool({ directory, reserveBytes: 0, organizationBytes: maxBytes })
  // So many folders that it takes a while to scan them, which is not done again soon.
  await Promise.all(Array.from({ length: 500 }, () => spool.begin({ tenantId: 'org-b', mode: 'test' })))
  /** Writes a file of a new job piece by piece, and deletes it when it is refused, as for an upload. */
  const upload = async (bytes: number) => {
    const { id, files } = await spool.begin(owner)
    const writer = await files.write('input')
    try {
      for (let at = 0; at < bytes; at += 65_536) await writer.write(Buffer.alloc(65_536))
      await writer.close()
      return id
    } catch (error) {
      await writer.close().catch(() => {})
      await spool.delete(id)
      throw error
    }
  }
  return { directory, spool, upload }
}

t.test('files that were deleted do not count from then on', async t => {
  const { spool, upload } = await startSpool(t)
  for (let tries = 0; tries < 5; tries++) {
    const id = await upload(maxBytes * 0.9)
    await t.rejects(upload(maxBytes * 0.5), { code: 'RATE_LIMITED' }, 'there is no space next to it')
    await spool.delete(id)
  }
})

t.test('an upload beyond the maximum of all uploads is refused as such, also right after another one', async t => {
  const { upload } = await startSpool(t)
  for (let tries = 0; tries < 3; tries++) await t.rejects(upload(maxBytes * 2), { code: 'PAYLOAD_TOO_LARGE' })
})

t.test('a job that is deleted during the scan does not count', async t => {
  const { directory, spool, upload } = await startSpool(t)
  const id = await upload(maxBytes * 0.9)
  const holdings = new DiskQuota({ directory, max: maxBytes })
  const looking = holdings.require(hashOwner(owner), 0)
  // The scan has found it or has not by now.
  await spool.delete(id)
  holdings.forget(id)
  await looking
  await holdings.require(hashOwner(owner), maxBytes)
})

t.test('where the results of an import can\'t be read, a client that takes gzip can read the error', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job } = await createImporter(gateway, secret).run([{ resourceType: 'Patient' }])
  const index = new SQLite(join(gateway.dataDirectory, 'bulk', job.id, 'index.db'))
  index.exec('UPDATE lines SET result = x\'00\'')
  index.close()
  for (const encoding of ['identity', 'gzip']) {
    const response = await fetch(`${gateway.url}/v1/bulk/jobs/${job.id}/results`, {
      headers: { 'x-api-key': secret, 'accept-encoding': encoding }
    })
    t.strictSame(
      [response.status, response.headers.get('content-encoding'), response.headers.get('content-disposition')],
      [500, null, null],
      encoding
    )
    t.match(await response.json(), { code: 'INTERNAL_ERROR' })
  }
})

t.test('HEAD has the headers of GET for the results of an import, without them', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job } = await createImporter(gateway, secret).run([{ resourceType: 'Patient' }])
  const sendRequest = (method: 'GET' | 'HEAD', encoding: string) =>
    gateway.inject({
      method,
      url: `/v1/bulk/jobs/${job.id}/results`,
      headers: { 'x-api-key': secret, 'accept-encoding': encoding }
    })
  for (const encoding of ['identity', 'gzip']) {
    const [get, head] = [await sendRequest('GET', encoding), await sendRequest('HEAD', encoding)]
    t.equal(head.statusCode, 200)
    t.equal(head.body, '')
    for (const name of ['content-type', 'content-encoding', 'content-disposition', 'vary']) {
      t.equal(head.headers[name], get.headers[name], name)
    }
  }
})

async function runImport (t: Test, lines: number) {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job } = await createImporter(gateway, secret).run(
    Array.from({ length: lines }, () => ({ resourceType: 'Patient', gender: 'female' })),
    '?dryRun=true'
  )
  const fetchResults = async () =>
    await gateway.inject({ url: `/v1/bulk/jobs/${job.id}/results`, headers: { 'x-api-key': secret } })
  return { fetchResults, index: join(gateway.dataDirectory, 'bulk', job.id, 'index.db') }
}

// All results were read in one turn of the event loop as fast as the client took them, and every other request waited.
t.test('other requests have their turn while the results of an import are read', async t => {
  const { fetchResults } = await runImport(t, 3_000)
  let turns = 0
  const turn = () => { turns++; next = setImmediate(turn) }
  let next = setImmediate(turn)
  const { statusCode, body } = await fetchResults()
  clearImmediate(next)
  t.equal(statusCode, 200)
  t.equal(body.split('\n').length - 1, 3_000)
  t.ok(turns >= 15, `${turns} turns`)
})

// SQLite waited for the end of a write that could only end on the same thread: two seconds in which nothing else was
// done, and then the results were cut off.
t.test('results are complete though the import is being written, and the process is not blocked', async t => {
  const { fetchResults, index } = await runImport(t, 1_000)
  const writer = new SQLite(index)
  writer.exec('BEGIN EXCLUSIVE')
  setTimeout(() => { writer.exec('COMMIT'); writer.close() }, 200)
  const { statusCode, body } = await fetchResults()
  t.equal(statusCode, 200)
  t.equal(body.split('\n').length - 1, 1_000)
  t.notOk(writer.open, 'the writer ended first')
})
