import { test } from 'tap'
import { importer } from '../jobs/importing.js'
import { startGateway } from '../harness/gateway.js'

// The lines that had not been read when it was cancelled had no result, so that results and lines were no longer 1:1.
test('a cancelled import has a result for every line, and those that were not imported are pending', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { send, get, ended, results } = importer(gateway, secret)
  const count = 20_000
  const { body: { data: { jobId } } } = await send('{"resourceType":"Patient","gender":"female"}\n'.repeat(count))
  while ((await get(`/bulk/jobs/${jobId}`)).body.data.processedRecords === 0);
  await fetch(`${gateway.url}/v1/bulk/jobs/${jobId}`, { method: 'DELETE', headers: { 'x-api-key': secret } })
  t.match(await ended(jobId), { status: 'cancelled', totalRecords: count })
  const lines = await results(jobId)
  t.strictSame(lines.map(({ line }) => line), Array.from({ length: count }, (_, at) => at + 1))
  t.match(lines[0], { status: 'created' })
  t.match(lines[count - 1], { line: count, status: 'pending' })
})
