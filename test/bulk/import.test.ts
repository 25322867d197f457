import { test } from 'tap'
import { startGateway } from '../harness/gateway.js'
import { importer } from './importing.js'

test('lines that refer to each other in any order are all stored, and their references lead to each other', async t => {
  const gateway = await startGateway(t)
  const client = importer(gateway, (await gateway.createKey()).secret)
  const { job, results } = await client.run([
    { resourceType: 'Observation', status: 'final', code: { text: 'weight' }, subject: { reference: 'Patient/p1' } },
    { resourceType: 'Patient', id: 'p1', name: [{ family: 'Ilse' }] }
  ])
  t.match(job, { status: 'completed', totalRecords: 2, processedRecords: 2, failedRecords: 0, errors: [] })
  t.match(results, [{ line: 1, status: 'created', resourceType: 'Observation' }, { line: 2, status: 'created', resourceType: 'Patient' }])
  const { body } = await client.get(`/fhir/Observation/${results[0]!.id}`)
  t.equal(body.subject.reference, `Patient/${results[1]!.id}`)
})
