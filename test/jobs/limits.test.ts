import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { createRemoteLink } from '../../src/control-plane/sync/remote.js'
import type { Worker } from '../../src/jobs/model/job.js'
import { maxUnfinishedJobs } from '../../src/jobs/model/unfinished-jobs.js'
import { makeFileDatabase } from '../control-store/databases.js'
import { buildDraft } from '../control-store/jobs-contract.js'
import { unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { startStandIn, startControlPlane } from '../sync/control-plane.js'
import { createJobMaker } from './job-fixtures.js'

// One organization could start jobs without end: each waited for its turn, with its input on the shared disk.

t.test(
  'an organization with a hundred waiting jobs starts no other until one of them ends, and other organizations are not held up',
  async t => {
    const gateway = await startGateway(t, { plans: unlimitedPlans })
    const [mine, others] = [await gateway.createKey(), await gateway.createKey()]
    const make = createJobMaker(gateway.control, gateway.dataDirectory)
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

// Each start counted the jobs before any other one had created its job.

t.test(
  'concurrent starts never exceed the maximum of jobs of an organization, and the input of rejected ones is deleted',
  async t => {
    const gateway = await startGateway(t, { plans: unlimitedPlans })
    const { secret, tenantId } = await gateway.createKey()
    const make = createJobMaker(gateway.control, gateway.dataDirectory)
    const pendingJobs = await Promise.all(
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
      pendingJobs.length + 1
    )
  }
)

// The control plane reported an organization's maximum of jobs by an empty response, so that no other reason was
// possible.

/** The request of this version and that of an older one. */
const [question, older] = ['jobs/create?reasons=true', 'jobs/create']
const reason = { refused: 'too many unfinished jobs' }
const tooMany = { code: 'RATE_LIMITED', status: 429, message: /bulk jobs that have not ended/ }

t.test(
  'the control plane gives a gateway that accepts reasons the reason why it creates no job, and an older one none',
  async t => {
    const { app, control, token } = await startControlPlane(t)
    const sendRequest = async (path: string) => {
      const response = await app.inject({
        method: 'POST',
        url: `/control/v1/link/${path}`,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        payload: JSON.stringify([buildDraft()])
      })
      return [response.statusCode, response.json()]
    }
    t.match(await sendRequest(question), [200, { response: { status: 'pending' } }])
    t.match(await sendRequest(older), [200, { response: { status: 'pending' } }])
    for (let made = 2; made < maxUnfinishedJobs; made++) await control.jobs.create(buildDraft())
    t.strictSame(await sendRequest(question), [200, reason])
    t.strictSame(await sendRequest(older), [200, {}])
  }
)

t.test(
  'a gateway accepts a reason, no reason from an older control plane, and no reason that it does not know',
  async t => {
    const requested: string[] = []
    const responses = [reason, {}, { refused: 'another reason' }]
    const url = await startStandIn(t, (request, response) => {
      requested.push(request.url!)
      request.resume().once('end', () => response.end(JSON.stringify(responses[requested.length - 1])))
    })
    const link = createRemoteLink({ url, token: 'cg_gateway_never-to-be-seen' })
    t.after(() => link.close())
    for (const refusal of [tooMany, tooMany, { code: 'BACKEND_UNAVAILABLE', status: 503 }]) {
      await t.rejects(link.jobs.create(buildDraft()), refusal)
    }
    t.strictSame([...new Set(requested)], [`/control/v1/link/${question}`])
  }
)

const worker: Worker = { gateway: 'one', storeId: 'store-1', perTenant: 1, leaseMs: 30_000 }

async function createScene (t: Test) {
  const clock = { ms: Date.parse('2030-01-01T12:00:00Z') }
  const store = await openControlStore({ ...await makeFileDatabase(t), plans: ['pro'], now: () => new Date(clock.ms) })
  t.teardown(() => store.close())
  await store.jobs.create(buildDraft())
  return { jobs: store.jobs, clock }
}

// It waited for as long as the clock had been set back.
t.test('the job of a dead gateway is taken over a lease after the clock was set back, and not sooner', async t => {
  const { jobs, clock } = await createScene(t)
  const dead = (await jobs.claim(worker))!
  clock.ms -= 3 * 3_600_000
  t.equal(await jobs.claim(worker), undefined)
  clock.ms += 29_999
  t.equal(await jobs.claim(worker), undefined, 'its gateway may work until then')
  clock.ms += 1
  t.match(await jobs.claim(worker), { job: { id: dead.job.id }, failures: 1 })
})

t.test('a running gateway keeps its job when the clock is set back', async t => {
  const { jobs, clock } = await createScene(t)
  const { lease } = (await jobs.claim(worker))!
  clock.ms -= 3 * 3_600_000
  for (let i = 0; i < 20; i++) {
    t.equal(await jobs.claim({ ...worker, gateway: 'two' }), undefined)
    clock.ms += 10_000
    t.equal(await jobs.save(lease, {}, 30_000), 'ok')
  }
})

t.test('a failing job is retried after the clock was set back', async t => {
  const { jobs, clock } = await createScene(t)
  await jobs.release((await jobs.claim(worker))!.lease, { afterMs: 600_000 })
  t.equal(await jobs.claim(worker), undefined, 'its pause lasts')
  clock.ms -= 3 * 3_600_000
  t.ok(await jobs.claim(worker))
})
