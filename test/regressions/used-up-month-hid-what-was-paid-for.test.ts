import t from 'tap'
import { importer } from '../jobs/importing.js'
import { startGateway } from '../harness/gateway.js'

const plans = { pro: { requestsPerMinute: null, requestsPerMonth: 4, overage: false } }

const people = Array.from({ length: 5 }, (_, i) => ({ firstName: 'Ada', lastName: `Byron ${i}` }))

t.test(
  'who has used up its month still learns what became of the records that did it, and of its month, without using more',
  async t => {
    const gateway = await startGateway(t, { plans })
    const { secret } = await gateway.createKey()
    const { job, results } = await importer(gateway, secret).run(people, '?resourceType=patients')
    t.match(job, { status: 'completed', processedRecords: 5 })
    t.match(results.at(-1), { code: 'SANDBOX_QUOTA_EXCEEDED' })
    const ask = async (path: string, method: 'GET' | 'HEAD' | 'DELETE' = 'GET') =>
      await gateway.inject({ method, url: `/v1/${path}`, headers: { 'x-api-key': secret } })
    for (const path of [
      `bulk/jobs/${job.id}`,
      `bulk/jobs/${job.id}/results`,
      'bulk/jobs',
      'usage',
      `fhir/_import/${job.id}`
    ]) {
      for (const method of ['GET', 'HEAD'] as const) {
        const response = await ask(path, method)
        t.match(
          [response.statusCode, response.headers['x-quota-used'], response.headers['x-quota-overage']],
          [200, '4', undefined],
          `${method} ${path}`
        )
      }
    }
    t.match((await ask('usage')).json().data, { used: 4, remaining: 0, overage: 0 })
    t.equal((await ask(`bulk/jobs/${job.id}/files/Patient.ndjson`)).statusCode, 404, 'an import has no files')
    t.equal((await ask('patients')).statusCode, 429)
    t.equal((await ask('bulk/export')).statusCode, 429, 'what is not there is no way past the month')
    t.equal(
      (
        await gateway.inject({
          method: 'POST',
          url: '/v1/bulk/export',
          headers: { 'x-api-key': secret, 'content-type': 'application/json' },
          payload: '{}'
        })
      ).statusCode,
      429
    )
    t.equal((await ask(`bulk/jobs/${job.id}`, 'DELETE')).statusCode, 200)
  }
)

t.test('the requests of a minute hold for what is served past the month', async t => {
  const gateway = await startGateway(t, {
    plans: { pro: { requestsPerMinute: 3, requestsPerMonth: 1, overage: false } }
  })
  const { secret } = await gateway.createKey()
  const statuses: number[] = []
  for (let i = 0; i < 4; i++) {
    statuses.push((await gateway.inject({ url: '/v1/usage', headers: { 'x-api-key': secret } })).statusCode)
  }
  t.strictSame(statuses, [200, 200, 200, 429])
})
