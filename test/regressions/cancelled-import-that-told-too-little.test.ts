import { test } from 'tap'
import { importer } from '../jobs/importing.js'
import { dataFiles } from '../harness/data-files.js'
import { startGateway } from '../harness/gateway.js'
import { until } from '../harness/until.js'

const patients = (count: number) => Array.from({ length: count }, () => ({ resourceType: 'Patient', gender: 'female' }))
const inputsIn = (directory: string) => dataFiles(directory).filter(({ name }) => /\/input(\.pieces)?$/.test(name))

// What was written since the job was last told of stayed out of it for good once the job was cancelled.
test('a cancelled import says how many records it wrote, and lets go of its input', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const client = importer(gateway, secret)
  const {
    body: {
      data: { jobId }
    }
  } = await client.send(
    patients(20_000)
      .map(line => `${JSON.stringify(line)}\n`)
      .join('')
  )
  const job = async () => (await client.get(`/bulk/jobs/${jobId}`)).body.data
  while ((await job()).processedRecords === 0);
  await fetch(`${gateway.url}/v1/bulk/jobs/${jobId}`, { method: 'DELETE', headers: { 'x-api-key': secret } })
  await until(() => inputsIn(gateway.dataDirectory).length === 0)
  const { status, processedRecords } = await job()
  const created = (await client.results(jobId)).filter(({ status }) => status === 'created').length
  t.match({ status, processedRecords }, { status: 'cancelled', processedRecords: created })
  t.ok(created > 0 && created < 20_000, `${created} were created`)
})

// It was kept for a day after the last line was written, and only the results are read in that time.
test('the input of an import goes with its end, and its results stay', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job, results } = await importer(gateway, secret).run(patients(10))
  t.match(job, { status: 'completed', processedRecords: 10 })
  t.equal(results.length, 10)
  t.strictSame(inputsIn(gateway.dataDirectory), [])
})
