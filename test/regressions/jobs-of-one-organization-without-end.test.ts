import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { maxUnfinishedJobs } from '../../src/jobs/model/unfinished-jobs.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { jobMaker } from '../jobs/job-fixtures.js'

// One organization could start jobs without end: each waited for its turn, and kept its input on the disk of all.

t.test(
  'an organization with a hundred jobs that wait starts no other one until one of them ends, and nobody else is held up',
  async t => {
    const gateway = await startGateway(t, { plans: unlimitedPlans })
    const [mine, others] = [await gateway.createKey(), await gateway.createKey()]
    const make = jobMaker(gateway.control, gateway.dataDirectory)
    const waiting: string[] = []
    const post = (secret: string, type: string) => async (url: string, payload: string) =>
      await gateway.inject({ method: 'POST', url, headers: { 'x-api-key': secret, 'content-type': type }, payload })
    const starts = (secret: string) => [
      () => post(secret, 'application/x-ndjson')('/v1/bulk/import?resourceType=patients', '{"lastName":"Byron"}\n'),
      () => post(secret, 'application/json')('/v1/bulk/export', '{"resourceTypes":["patients"]}')
    ]
    while (waiting.length < maxUnfinishedJobs) {
      waiting.push((await make({ owner: { tenantId: mine.tenantId, mode: 'test' }, isPending: true })).id)
    }

    for (const start of starts(mine.secret)) {
      const refused = await start()
      t.match(refused.json(), { code: 'RATE_LIMITED', message: /bulk jobs that have not ended.*cancel/ })
      t.equal(refused.headers['retry-after'], '60')
    }
    for (const start of starts(others.secret)) t.equal((await start()).statusCode, 202)
    for (const start of starts(mine.secret)) {
      t.equal(
        (
          await gateway.inject({
            method: 'DELETE',
            url: `/v1/bulk/jobs/${waiting.pop()}`,
            headers: { 'x-api-key': mine.secret }
          })
        ).statusCode,
        200
      )
      const {
        data: { jobId }
      } = (await start()).json()
      waiting.push(jobId)
    }
  }
)

// Each start counted before any other one had made its job.

t.test(
  'jobs that are started at the same moment are never more than an organization may have, and what those sent that are refused is not kept',
  async t => {
    const gateway = await startGateway(t, { plans: unlimitedPlans })
    const { secret, tenantId } = await gateway.createKey()
    const make = jobMaker(gateway.control, gateway.dataDirectory)
    const kept = await Promise.all(
      Array.from({ length: maxUnfinishedJobs - 1 }, () => make({ owner: { tenantId, mode: 'test' }, isPending: true }))
    )
    const starts = await Promise.all(
      Array.from({ length: 6 }, () =>
        gateway.inject({
          method: 'POST',
          url: '/v1/bulk/import?resourceType=patients',
          headers: { 'x-api-key': secret, 'content-type': 'application/x-ndjson' },
          payload: '{"lastName":"Byron"}\n'
        })
      )
    )
    t.strictSame(starts.map(({ statusCode }) => statusCode).toSorted(), [202, 429, 429, 429, 429, 429])
    t.equal(
      readdirSync(join(gateway.dataDirectory, 'bulk')).filter(name => name.startsWith('job-')).length,
      kept.length + 1
    )
  }
)
