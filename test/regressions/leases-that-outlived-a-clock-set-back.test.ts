import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import type { Worker } from '../../src/jobs/model/job.js'
import { inFile } from '../control-store/databases.js'
import { draftOf } from '../control-store/jobs-contract.js'

const worker: Worker = { gateway: 'one', storeId: 'store-1', perTenant: 1, leaseMs: 30_000 }

async function place (t: Test) {
  const clock = { ms: Date.parse('2030-01-01T12:00:00Z') }
  const store = await openControlStore({ ...await inFile(t), plans: ['pro'], now: () => new Date(clock.ms) })
  t.teardown(() => store.close())
  await store.jobs.create(draftOf())
  return { jobs: store.jobs, clock }
}

// It waited for as long as the clock had been set back.
t.test('the job of a dead gateway is taken over a lease after the clock was set back, and not sooner', async t => {
  const { jobs, clock } = await place(t)
  const dead = (await jobs.claim(worker))!
  clock.ms -= 3 * 3_600_000
  t.equal(await jobs.claim(worker), undefined)
  clock.ms += 29_999
  t.equal(await jobs.claim(worker), undefined, 'whoever had it may work until then')
  clock.ms += 1
  t.match(await jobs.claim(worker), { job: { id: dead.job.id }, failures: 1 })
})

t.test('a gateway that lives keeps its job when the clock is set back', async t => {
  const { jobs, clock } = await place(t)
  const { lease } = (await jobs.claim(worker))!
  clock.ms -= 3 * 3_600_000
  for (let i = 0; i < 20; i++) {
    t.equal(await jobs.claim({ ...worker, gateway: 'two' }), undefined)
    clock.ms += 10_000
    t.equal(await jobs.save(lease, {}, 30_000), 'going on')
  }
})

t.test('a job in trouble is taken up again after the clock was set back', async t => {
  const { jobs, clock } = await place(t)
  await jobs.release((await jobs.claim(worker))!.lease, { afterMs: 600_000 })
  t.equal(await jobs.claim(worker), undefined, 'its pause lasts')
  clock.ms -= 3 * 3_600_000
  t.ok(await jobs.claim(worker))
})
