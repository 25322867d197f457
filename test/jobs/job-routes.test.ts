import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Job } from '../../src/jobs/model/job.js'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { importRequest, createJobMaker, type JobOptions } from './job-fixtures.js'

const lines = `${Array.from({ length: 400 }, (_, i) => JSON.stringify({ resourceType: 'Patient', id: `${i}`, note: randomBytes(40).toString('hex') })).join('\n')}\n`
const completed = {
  files: { 'Patient.ndjson': lines },
  progress: { total: 400, processed: 400, failed: 0 },
  end: { status: 'completed' }
} as const

async function startScene (t: Test, settings: GatewaySettings = {}) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, ...settings })
  const { tenantId, secret } = await gateway.createKey()
  const owner = { tenantId, mode: 'test' } as const
  const maker = createJobMaker(gateway.control, gateway.dataDirectory)
  const make = (request: Omit<JobOptions, 'owner'>) => maker({ owner, ...request })
  const createScopedKey = async (scopes: ReadonlyArray<'read' | 'write'>) =>
    (await gateway.createKey({ tenantId, scopes })).secret
  const sendRequest = (method: string, path: string, headers: Record<string, string> = {}) =>
    gateway.inject({
      method: method as 'GET',
      url: `/v1/bulk/jobs${path}`,
      headers: { 'x-api-key': secret, ...headers }
    })
  return { ...gateway, owner, secret, make, createScopedKey, sendRequest }
}

const toFilePath = ({ id }: Job) => `/${id}/files/Patient.ndjson`

t.test(
  'a job is shown in each state: pending, running with its speed, completed with its files, failed with the reason',
  async t => {
    const { make, sendRequest } = await startScene(t)
    const read = async (job: Job) => (await sendRequest('GET', `/${job.id}`)).json().data
    const pending = await read(await make({ isPending: true }))
    t.match(pending, {
      type: 'export',
      status: 'pending',
      processedRecords: 0,
      failedRecords: 0,
      files: [],
      errors: [],
      createdAt: String,
      expiresAt: String
    })
    for (const name of [
      'totalRecords',
      'startedAt',
      'completedAt',
      'recordsPerSecond',
      'secondsLeft',
      'downloadUrl',
      'failure',
      'owner',
      'storeId',
      'fileKey',
      'checkpoint'
    ]) { t.notOk(name in pending, name) }
    const running = await read(
      await make({
        progress: { total: 1_000, processed: 250, failed: 5 },
        files: { 'Patient.ndjson': lines },
        checkpoint: { secret: 1 }
      })
    )
    t.match(running, {
      status: 'processing',
      totalRecords: 1_000,
      processedRecords: 250,
      failedRecords: 5,
      startedAt: String
    })
    t.ok(running.recordsPerSecond > 0 && running.secondsLeft >= 0)
    t.strictSame(running.files, [], 'no file before all of it was checked')
    const job = await make(completed)
    t.match(await read(job), {
      status: 'completed',
      files: [
        { resourceType: 'Patient', count: 400, url: new RegExp(`^http://127.0.0.1:\\d+/v1/bulk/jobs${toFilePath(job)}$`) }
      ],
      downloadUrl: new RegExp(`${toFilePath(job)}$`),
      completedAt: String
    })
    const failed = await read(
      await make({ end: { status: 'failed', failure: { code: 'BACKEND_TIMEOUT', message: 'No.' } } })
    )
    t.match(failed, { status: 'failed', failure: { code: 'BACKEND_TIMEOUT', message: 'No.' }, completedAt: String })
    const imported = await read(
      await make({ request: importRequest, errors: [{ line: 3, code: 'VALIDATION_ERROR', message: 'x: is missing' }] })
    )
    t.match(imported, { type: 'import', errors: [{ line: 3, code: 'VALIDATION_ERROR' }], downloadUrl: /\/results$/ })
  }
)

t.test('jobs are listed newest first, a page at a time, each once', async t => {
  const { make, sendRequest } = await startScene(t)
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.unshift((await make({ isPending: true })).id)
  const seen: string[] = []
  let path = '?count=2'
  for (let pages = 1; ; pages++) {
    const { data } = (await sendRequest('GET', path)).json()
    t.equal(data.total, 5)
    seen.push(...data.data.map(({ id }: { id: string }) => id))
    t.equal(data.hasMore, data.cursor !== undefined)
    if (!data.hasMore) {
      t.equal(pages, 3)
      break
    }
    path = `?count=2&cursor=${data.cursor}`
  }
  t.strictSame(seen.toSorted(), ids.toSorted())
  t.match((await sendRequest('GET', '?count=101')).json(), { meta: { warnings: [{ expression: ['count'] }] } })
  for (const query of ['?count=0', '?count=x', '?count=1&count=1', '?status=pending', '?count=1.5']) {
    t.match((await sendRequest('GET', query)).json(), { code: 'BAD_REQUEST' }, query)
  }
  for (const query of [
    '?cursor=',
    '?cursor=x',
    `?cursor=${Buffer.from('2030-01-01T00:00:00.000Z job-x').toString('base64url')}`,
    `?cursor=${Buffer.from(`2030-13-01T00:00:00.000Z job-${'a'.repeat(26)}`).toString('base64url')}`
  ]) { t.match((await sendRequest('GET', query)).json(), { code: 'INVALID_CURSOR' }, query) }
})

t.test('a job is cancelled at each stage before its end; one that has ended stays unchanged', async t => {
  const { make, sendRequest, control } = await startScene(t)
  for (const [request, status] of [
    [{ isPending: true }, 'cancelled'],
    [{}, 'cancelled'],
    [completed, 'completed'],
    [{ end: { status: 'failed', failure: { code: 'X', message: '' } } }, 'failed']
  ] as const) {
    const job = await make(request)
    for (let i = 0; i < 2; i++) {
      const response = await sendRequest('DELETE', `/${job.id}`)
      t.match([response.statusCode, response.json().data], [200, { id: job.id, status }])
    }
    t.match(await control.jobs.find(job.id, job.owner), { status })
  }
})

t.test('a key that may start a job may cancel it: a read key an export, a write key both; reading a job needs read', async t => {
  const { make, sendRequest, createScopedKey, control } = await startScene(t)
  const [read, write] = [await createScopedKey(['read']), await createScopedKey(['write'])]
  const fetchStatus = async (method: string, path: string, key: string) =>
    (await sendRequest(method, path, { 'x-api-key': key })).statusCode
  const [one, other, third] = [
    await make({}),
    await make({ request: importRequest }),
    await make({ request: importRequest })
  ]
  t.equal(await fetchStatus('DELETE', `/${other.id}`, read), 403)
  t.match(await control.jobs.find(other.id, other.owner), { status: 'processing' }, 'nothing was done')
  t.equal(await fetchStatus('DELETE', `/${one.id}`, write), 403)
  t.strictSame([await fetchStatus('DELETE', `/${one.id}`, read), await fetchStatus('DELETE', `/${third.id}`, write)], [200, 200])
  const done = await make(completed)
  for (const path of ['', `/${done.id}`, toFilePath(done)]) {
    t.strictSame([await fetchStatus('GET', path, read), await fetchStatus('GET', path, write)], [200, 403], path)
  }
})

t.test(
  'a file is downloaded whole, compressed when accepted, and is never cached on the way nor taken for a page',
  async t => {
    const { make, sendRequest } = await startScene(t)
    const job = await make(completed)
    const plain = await sendRequest('GET', toFilePath(job), { 'accept-encoding': 'identity' })
    t.equal(plain.body, lines)
    t.match(plain.headers, {
      'content-type': 'application/fhir+ndjson',
      'content-length': String(lines.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-disposition': 'attachment; filename="Patient.ndjson"',
      'accept-ranges': 'bytes',
      vary: 'accept-encoding'
    })
    const zipped = await sendRequest('GET', toFilePath(job), { 'accept-encoding': 'gzip, deflate' })
    t.equal(zipped.headers['content-encoding'], 'gzip')
    t.ok(zipped.rawPayload.length < lines.length)
    t.equal(gunzipSync(zipped.rawPayload).toString(), lines)
    t.not(zipped.headers.etag, plain.headers.etag, 'other bytes')
    for (const accept of ['application/x-ndjson', 'application/ndjson', 'application/fhir+ndjson']) {
      t.match((await sendRequest('GET', toFilePath(job), { accept })).headers['content-type'], accept)
    }
    t.match((await sendRequest('GET', toFilePath(job), { accept: 'text/html' })).json(), { code: 'NOT_ACCEPTABLE' })
    t.match((await sendRequest('GET', `${toFilePath(job)}?x=1`)).json(), { code: 'BAD_REQUEST' })
  }
)

t.test('a range of a file has the bytes of the whole at that offset', async t => {
  const { make, sendRequest } = await startScene(t)
  const path = toFilePath(await make(completed))
  const { etag } = (await sendRequest('GET', path)).headers as { etag: string }
  const length = lines.length
  for (const [range, start, end] of [
    ['0-0', 0, 1],
    ['10-19', 10, 20],
    ['100-', 100, length],
    ['-7', length - 7, length],
    [`-${length + 5}`, 0, length],
    [`${length - 1}-${length + 50}`, length - 1, length]
  ] as const) {
    const response = await sendRequest('GET', path, { range: `bytes=${range}`, 'accept-encoding': 'gzip', 'if-range': etag })
    t.match(
      [response.statusCode, response.body, response.headers['content-range'], response.headers['content-length']],
      [206, lines.slice(start, end), `bytes ${start}-${end - 1}/${length}`, String(end - start)],
      range
    )
    t.notOk(response.headers['content-encoding'])
  }
  for (const range of [`bytes=${length}-`, 'bytes=-0', `bytes=${length + 5}-${length + 9}`]) {
    const response = await sendRequest('GET', path, { range })
    t.match(
      [response.statusCode, response.json(), response.headers['content-range']],
      [416, { code: 'RANGE_NOT_SATISFIABLE', data: null }, `bytes */${length}`],
      range
    )
  }
  for (const [range, condition] of [
    ['bytes=0-1,5-6', etag],
    ['lines=0-1', etag],
    ['bytes=5-2', etag],
    ['bytes=-', etag],
    ['bytes=0-1', '"another"'],
    ['bytes=0-1', new Date().toUTCString()]
  ] as const) {
    const response = await sendRequest('GET', path, { range, 'if-range': condition })
    t.match([response.statusCode, response.body.length], [200, length], `${range} ${condition}`)
  }
})

t.test('HEAD has the status and headers of GET, and a client that has a file already gets none of it', async t => {
  const { make, sendRequest } = await startScene(t)
  const path = toFilePath(await make(completed))
  for (const headers of [
    { 'accept-encoding': 'identity' },
    { 'accept-encoding': 'gzip' },
    { range: 'bytes=5-9' }
  ] as Array<Record<string, string>>) {
    const [get, head] = [await sendRequest('GET', path, headers), await sendRequest('HEAD', path, headers)]
    const toComparable = ({
      statusCode,
      headers: {
        date: _,
        'x-request-id': __,
        'x-timestamp': ___,
        'transfer-encoding': ____,
        connection: _____,
        ...rest
      }
    }: typeof get) => ({ statusCode, rest })
    t.strictSame(toComparable(head), toComparable(get))
    t.equal(head.body, '')
    const known = await sendRequest('GET', path, { ...headers, 'if-none-match': get.headers.etag as string })
    t.match([known.statusCode, known.body], [304, ''])
  }
})

t.test(
  'files of an export that has ended are deleted early through the URL that FHIR clients use',
  async t => {
    const { make, sendRequest, inject, secret } = await startScene(t)
    const job = await make(completed)
    t.equal(
      (await inject({ method: 'DELETE', url: `/v1/fhir/_export/${job.id}`, headers: { 'x-api-key': secret } }))
        .statusCode,
      202
    )
    for (const path of [`/${job.id}`, toFilePath(job)]) t.equal((await sendRequest('GET', path)).statusCode, 404, path)
  }
)

t.test('nothing but the files that a completed job lists is served', async t => {
  const { make, sendRequest } = await startScene(t)
  const [job, running] = [await make(completed), await make({ files: completed.files })]
  for (const path of [
    toFilePath(running),
    `/${job.id}/files/Group.ndjson`,
    `/${job.id}/files/Patient.ndjson.pieces`,
    `/${job.id}/files/store.id`,
    `/${job.id}/files/..%2Fstore.id`,
    `/${job.id}/files/patient.ndjson`,
    `/${job.id}/files/%00`
  ]) {
    t.match((await sendRequest('GET', path)).json(), { code: 'NOT_FOUND' }, path)
  }
})

t.test('files at another gateway are a 503 with Retry-After', async t => {
  const { make, sendRequest, control, owner } = await startScene(t)
  const job = await make({ isPending: true })
  const { lease } = (await control.jobs.claim({ gateway: 'x', storeId: job.storeId, perTenant: 9, leaseMs: 60_000 }))!
  await control.jobs.save(
    lease,
    { files: [{ name: 'Patient.ndjson', resourceType: 'Patient', count: 1, bytes: 3 }], end: { status: 'completed' } },
    60_000
  )
  t.match(await control.jobs.find(job.id, owner), { status: 'completed' })
  const response = await sendRequest('GET', toFilePath(job))
  t.match(
    [response.statusCode, response.json(), response.headers['retry-after']],
    [503, { code: 'BACKEND_UNAVAILABLE', message: /bulk\.directory/ }, '1']
  )
})

t.test(
  'a file that was changed on the disk is an error, or breaks off, and is never taken for a complete one',
  async t => {
    const { make, secret, url, dataDirectory, logged } = await startScene(t)
    const content = `${randomBytes(99).toString('hex')}\n`.repeat(1_500)
    const job = await make({ ...completed, files: { 'Patient.ndjson': content } })
    const path = join(dataDirectory, 'bulk', job.id, 'Patient.ndjson')
    const raw = readFileSync(path)
    const get = async (headers: Record<string, string>) =>
      await fetch(`${url}/v1/bulk/jobs${toFilePath(job)}`, { headers: { 'x-api-key': secret, ...headers } })
    const requestHeaders: ReadonlyArray<Record<string, string>> = [
      { 'accept-encoding': 'identity' },
      { 'accept-encoding': 'gzip' },
      { range: 'bytes=10-250000' }
    ]
    for (const headers of requestHeaders) {
      t.equal((await (await get(headers)).text()).length, 'range' in headers ? 249_991 : content.length)
    }
    raw[200_000]! ^= 1
    writeFileSync(path, raw)
    for (const headers of requestHeaders) {
      await t.rejects(async () => await (await get(headers)).text(), JSON.stringify(headers))
    }
    t.equal(
      await (await get({ range: 'bytes=100-199' })).text(),
      content.slice(100, 200),
      'what was not changed is there'
    )
    raw[20]! ^= 1
    writeFileSync(path, raw)
    for (const headers of requestHeaders) {
      const response = await get(headers)
      t.strictSame(
        [
          response.status,
          response.headers.get('etag'),
          response.headers.get('content-encoding'),
          response.headers.get('content-range')
        ],
        [500, null, null, null]
      )
      t.match(await response.json(), { code: 'INTERNAL_ERROR' })
    }
    t.equal(
      logged().filter(line => JSON.stringify(line).includes('a frame of a file is missing or was changed')).length,
      6,
      'the operator learns of each'
    )
  }
)

t.test(
  'a download takes no more memory than its client reads, and a client that disconnects releases the file',
  async t => {
    const { make, secret, url, logged } = await startScene(t)
    const big = `${'x'.repeat(999)}\n`.repeat(60_000)
    const path = toFilePath(await make({ ...completed, files: { 'Patient.ndjson': big } }))
    const before = process.memoryUsage()
    const responses = await Promise.all(
      Array.from(
        { length: 4 },
        () =>
          new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
            httpRequest(
              `${url}/v1/bulk/jobs${path}`,
              { headers: { 'x-api-key': secret, 'accept-encoding': 'identity' } },
              resolve
            )
              .on('error', reject)
              .end()
          })
      )
    )
    for (const response of responses) response.pause()
    await new Promise(resolve => setTimeout(resolve, 500))
    const grown = process.memoryUsage().arrayBuffers - before.arrayBuffers
    t.ok(grown < 60e6, `${grown} bytes for four times 60 MB that nobody reads`)
    for (const response of responses) response.destroy()
    await new Promise(resolve => setTimeout(resolve, 100))
    t.notOk(
      logged().some(({ level }) => Number(level) >= 50),
      "that is nobody's error"
    )
  }
)

t.test('requests for jobs are counted by route', async t => {
  const { make, sendRequest, control, owner } = await startScene(t)
  const job = await make(completed)
  for (const [method, path] of [
    ['GET', ''],
    ['GET', `/${job.id}`],
    ['GET', toFilePath(job)],
    ['DELETE', `/${job.id}`]
  ] as const) { t.equal((await sendRequest(method, path)).statusCode, 200) }
  const fetchTotals = async () =>
    (
      await control.usage.sumUsage({
        tenantId: owner.tenantId,
        from: new Date(Date.now() - 7_200_000),
        to: new Date(Date.now() + 3_600_000),
        per: 'interaction'
      })
    ).totals
  await waitUntil(async () => (await fetchTotals()).length === 3)
  t.strictSame((await fetchTotals()).map(({ of, requests }) => [of, requests]).toSorted(), [
    ['delete', 1],
    ['read', 2],
    ['search', 1]
  ])
})

t.test('what the clients of jobs get is in their own organization\'s name alone', async t => {
  const gateway = await startGateway(t)
  const [one, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const make = createJobMaker(gateway.control, gateway.dataDirectory)
  const job = await make({ owner: { tenantId: one.tenantId, mode: 'test' }, ...completed })
  t.strictSame(
    [(await one.send('GET', 'bulk/jobs')).data.total, (await other.send('GET', 'bulk/jobs')).data.total],
    [1, 0]
  )
  t.equal((await other.send('GET', `bulk/jobs/${job.id}`)).status, 404)
})

t.test('an import is refused for a wrong dryRun in the query, also where the body has a dryRun', async t => {
  const { inject, secret } = await startScene(t)
  const send = (query: string, payload: object) => inject({
    method: 'POST',
    url: `/v1/bulk/import?resourceType=Patient&${query}`,
    headers: { 'x-api-key': secret, 'content-type': 'application/json' },
    payload
  })
  const data = '{"resourceType":"Patient"}'
  for (const body of [{ data }, { data, dryRun: true }]) {
    const refused = await send('dryRun=-2158', body)
    t.equal(refused.statusCode, 422)
    t.match(refused.json().message, /dryRun: expected true or false/)
  }
  t.equal((await send('dryRun=false', { data, dryRun: true })).statusCode, 202)
})
