import { gzipSync } from 'node:zlib'
import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { createImporter, toNdjson } from './importing.js'
import { testImports } from './import-contract.js'

testImports('the sandbox', undefined)

test('the number of lines is reported from the start', async t => {
  const gateway = await startGateway(t)
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  for (const [text, lines] of [
    ['{}', 1],
    ['{}\n', 1],
    ['\n{}\n\n', 1],
    ['{}\r\n{}', 2],
    [`${'{}\n'.repeat(70_000)}{}`, 70_001]
  ] as const) {
    const { body } = await client.send(text, '?resourceType=patients')
    t.equal((await client.get(`/bulk/jobs/${body.data.jobId}`)).body.data.totalRecords, lines)
    await fetch(`${gateway.url}/v1/bulk/jobs/${body.data.jobId}`, {
      method: 'DELETE',
      headers: { 'x-api-key': client.secret }
    })
  }
})

test('more records than fit into memory are stored as they were sent', async t => {
  const gateway = await startGateway(t)
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const lines = Array.from({ length: 60 }, (_, at) => ({
    resourceType: 'Patient',
    id: `p${at}`,
    name: [{ family: `N${at}`, text: 'x'.repeat(200_000) }],
    ...(at > 0 && { link: [{ other: { reference: `Patient/p${at - 1}` }, type: 'seealso' }] })
  }))
  const { results } = await client.run(lines)
  t.ok(results.every(({ status }) => status === 'created'))
  for (const at of [1, 30, 59]) {
    const { body } = await client.get(`/fhir/Patient/${results[at]!.id}`)
    t.equal(body.name[0].family, `N${at}`)
    t.equal(body.link[0].other.reference, `Patient/${results[at - 1]!.id}`)
  }
})

test('every line has one result, in order: valid, invalid, too long, with CRLF, and the last one without a newline; blank ones have none', async t => {
  const gateway = await startGateway(t, { config: { bulk: { lineBytes: 65_536 } } })
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const lines = Buffer.concat([
    Buffer.from('\uFEFF{"firstName":"Ada","lastName":"One"}\r\n'),
    Buffer.from('\r\n'),
    Buffer.from('{"firstName":"Ada","firstName":"Eve"}\n'),
    Buffer.from('{"firstName":"'),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}\n'),
    Buffer.from(`{"firstName":"${'x'.repeat(70_000)}"}\n`),
    Buffer.from('[]\n'),
    Buffer.from('{"resourceType":"CodeSystem","status":"active"}\n'),
    Buffer.from('{"firstName":"Ada","lastName":"Two","colour":"red"}\n'),
    Buffer.from('{"firstName":"Ada","lastName":"Three"}')
  ])
  const { job, results } = await client.run(lines, '?resourceType=patients')
  t.match(
    results.map(({ line, status, code }) => ({ line, status, code })),
    [
      { line: 1, status: 'created' },
      { line: 3, status: 'failed', code: 'INVALID_JSON' },
      { line: 4, status: 'failed', code: 'INVALID_JSON' },
      { line: 5, status: 'failed', code: 'PAYLOAD_TOO_LARGE' },
      { line: 6, status: 'failed', code: 'BAD_REQUEST' },
      { line: 7, status: 'failed', code: 'VALIDATION_ERROR' },
      { line: 8, status: 'failed', code: 'VALIDATION_ERROR' },
      { line: 9, status: 'created' }
    ]
  )
  t.equal(results.length, 8)
  t.equal(results[6]!.field, 'colour')
  t.match(job, { totalRecords: 8, processedRecords: 8, failedRecords: 6 })
  t.equal(job.errors.length, 6)
  t.notMatch(JSON.stringify(results), /red|Eve|xxx/, 'no value of a line is repeated')
})

test('blank lines, above all the last, are skipped, and the others keep the numbers of the file', async t => {
  const gateway = await startGateway(t)
  const line = '{"firstName":"Ada","lastName":"One"}'
  for (const end of ['\n\n', '\n \t', '\n\r\n', '\n']) {
    const client = createImporter(gateway, (await gateway.createKey()).secret)
    const { job, results } = await client.run(`\n  \n${line}\n\n{"colour":1}${end}`, '?resourceType=patients')
    t.strictSame(results.map(({ line, status }) => [line, status]), [[3, 'created'], [5, 'failed']], JSON.stringify(end))
    t.match(job, { status: 'completed', totalRecords: 2, processedRecords: 2, failedRecords: 1 })
  }
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  t.match(await client.send('\n \n', '?resourceType=patients'), {
    status: 400,
    body: { message: 'Send at least one line.' }
  })
})

test('a Bundle, a compressed file or a document is refused by name, and no import starts', async t => {
  const gateway = await startGateway(t)
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const bundle = { resourceType: 'Bundle', type: 'transaction', entry: [{ resource: { resourceType: 'Patient' } }] }
  const files: Array<[string | Buffer, RegExp]> = [
    [JSON.stringify(bundle), /it is a Bundle; send its resources/],
    [JSON.stringify(bundle, null, 2), /it is a Bundle; send its resources/],
    [JSON.stringify({ ...bundle, type: 'searchset' }), /it is a Bundle/],
    [JSON.stringify([{ lastName: 'One' }], null, 2), /one JSON value over several lines/],
    [JSON.stringify({ lastName: 'One', firstName: 'Ada' }, null, 2), /one JSON value over several lines/],
    [gzipSync('{"lastName":"One"}\n'), /compressed with gzip; .* Content-Encoding: gzip/],
    ['<Bundle xmlns="http://hl7.org/fhir"/>', /it is XML/]
  ]
  for (const [file, message] of files) {
    t.match(await client.send(file, '?resourceType=patients'), { status: 400, body: { code: 'BAD_REQUEST', message } })
  }
  const { results } = await client.run(`{"lastName":"One"}\n${JSON.stringify(bundle)}\n`, '?resourceType=patients')
  t.match(results, [{ status: 'created' }, { status: 'failed', message: /Bundle of other records/ }])
  const collection = JSON.stringify({ ...bundle, type: 'collection', entry: [{ resource: { resourceType: 'Patient', id: '1' } }] })
  t.match((await client.run(collection, '?resourceType=patients')).results, [
    { status: 'failed', message: /Bundle of other records/ }
  ], 'nor is a collection stored in place of the patients in it')
  t.match((await client.run(collection, '?resourceType=Bundle')).results, [{ status: 'created', resourceType: 'Bundle' }])
})

test('lines come as JSON text, as NDJSON and compressed; with anything else no import starts', async t => {
  const gateway = await startGateway(t)
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const line = '{"firstName":"Ada","lastName":"One"}'
  const text = await client.post('/bulk/import', { resourceType: 'Patient', data: line })
  t.match(text, { status: 202, body: { data: { status: 'pending' } } })
  t.match(await client.waitForEnd(text.body.data.jobId), { status: 'completed', processedRecords: 1, failedRecords: 0 })
  const zipped = await client.send(gzipSync(line), '?resourceType=Patient', { 'content-encoding': 'gzip' })
  t.match(await client.waitForEnd(zipped.body.data.jobId), { status: 'completed', processedRecords: 1, failedRecords: 0 })
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  t.match(await client.send(bomb, '', { 'content-encoding': 'gzip' }), { status: 413 })
  t.match(await client.send(gzipSync(line).subarray(0, 20), '', { 'content-encoding': 'gzip' }), { status: 400 })
  t.match(await client.send(line, '', { 'content-encoding': 'br' }), { status: 415 })
  t.match(await client.send(line, '?resourceType=dragons'), { status: 422 })
  t.match(await client.send(line, '?format=x'), { status: 400 })
  t.match(await client.post('/bulk/import', { data: line, sources: [] }), { status: 422 })
  t.match(await client.post('/bulk/import', { data: 7 }), { status: 422 })
  t.match(await client.post('/bulk/import', { data: '' }), { status: 400 })
  t.equal((await client.get('/bulk/jobs')).body.data.total, 2)
})

test('past the monthly allowance a line is not written, and each written line counts once', async t => {
  const plans = { small: { requestsPerMinute: null, requestsPerMonth: 30, overage: false } }
  for (const [mode, code] of [['test', 'SANDBOX_QUOTA_EXCEEDED'], ['live', 'MONTHLY_QUOTA_EXCEEDED']] as const) {
    const gateway = await startGateway(t, { plans })
    const { secret } = await gateway.createKey({ plan: 'small', mode })
    const client = createImporter(gateway, secret)
    const lines = [...Array(40).keys()].map(at => ({ firstName: 'Ada', lastName: `N${at}` }))
    const started = await client.send(toNdjson(lines), '?resourceType=patients')
    while (gateway.logged().every(({ msg }) => msg !== 'a bulk job completed')) {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    const { secret: other } = await gateway.createKey({ plan: 'small', mode })
    t.equal(
      (await fetch(`${gateway.url}/v1/bulk/jobs/${started.body.data.jobId}`, { headers: { 'x-api-key': other } }))
        .status,
      404
    )
    const response = await fetch(`${gateway.url}/v1/patients`, { headers: { 'x-api-key': secret } })
    t.match(await response.json(), { code }, 'the lines have used up the month')
    t.equal(response.headers.get('x-quota-used'), '30')
    t.match(
      (await client.get(`/bulk/jobs/${started.body.data.jobId}`)).body.data,
      { totalRecords: 40, failedRecords: 11 },
      'which of them were written can be read even so'
    )
  }
})
