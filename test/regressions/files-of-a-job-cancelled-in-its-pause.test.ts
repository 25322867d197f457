import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { indexFile } from '../../src/jobs/import/import-job.js'
import { JobRunner } from '../../src/jobs/runner.js'
import { Spool } from '../../src/jobs/storage/files.js'
import { Sweeper } from '../../src/jobs/storage/sweeper.js'
import type { JobHandler } from '../../src/jobs/job-context.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { Failure } from '../../src/envelope/failures.js'
import type { JobOwner, Jobs } from '../../src/jobs/model/job.js'
import { exportRequest } from '../jobs/job-fixtures.js'
import { until } from '../harness/until.js'
import { keptLog } from '../sync/control-plane.js'

// Whoever works on a job deletes its files when it is cancelled. One that waits for its next try, or that is cancelled
// at a gateway which does not reach the files, had nobody who did: they stayed for a day.

const owner: JobOwner = {
  tenantId: 'org-a',
  mode: 'test',
  keyId: 'key-a',
  keyName: 'a key',
  plan: 'pro',
  overage: true
}

async function place (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-cancelled-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const store = await openControlStore({ file: ':memory:', plans: ['pro'], now: () => new Date() })
  t.teardown(() => store.close())
  const spool = new Spool({ directory, reserveBytes: 0 })
  const { log, lines } = keptLog()
  const create = async () => {
    const { files, ...made } = await spool.begin(owner)
    for (const name of ['Patient.ndjson', indexFile]) {
      const writer = await files.write(name)
      await writer.write(Buffer.from('{}\n'))
      await writer.close()
    }
    return (await store.jobs.create({ owner, request: exportRequest, ...made })).id
  }
  const work = (doJob: JobHandler) => {
    const runner = new JobRunner({
      jobs: store.jobs,
      spool,
      doJob: { export: doJob, import: doJob },
      gateway: 'one',
      jobsAtOnce: 1,
      jobsPerOrganization: 1,
      isRevoked: () => false,
      log,
      lookMs: 20
    })
    t.teardown(() => runner.close())
    return runner
  }
  const sweep = (changes: Partial<Jobs> = {}) => {
    const { jobs } = store
    const sweeper = new Sweeper({
      jobs: {
        expired: storeId => jobs.expired(storeId),
        existing: ids => jobs.existing(ids),
        abandoned: ids => jobs.abandoned(ids),
        forget: ids => jobs.forget(ids),
        ...changes
      },
      spool,
      now: () => new Date(),
      log,
      everyMs: 20
    })
    t.teardown(() => sweeper.close())
  }
  const namesOf = (id: string) => readdirSync(join(directory, id)).filter(name => !name.startsWith('.')).toSorted()
  return { jobs: store.jobs, create, work, sweep, namesOf, lines }
}

const kept = [indexFile, `${indexFile}.pieces`]
const all = ['Patient.ndjson', 'Patient.ndjson.pieces', ...kept]

t.test(
  'the files of a job that is cancelled while it waits for its next try are deleted, but for the results; those of other jobs stay',
  async t => {
    const { jobs, create, work, sweep, namesOf, lines } = await place(t)
    const id = await create()
    const runner = work(async () => {
      throw new Failure('BACKEND_UNAVAILABLE')
    })
    await until(() => lines.some(line => line.includes('will be retried')) && runner.running === 0)
    await jobs.cancel(id, owner)
    t.strictSame(namesOf(id), all)
    const other = await create()
    sweep()
    await until(() => namesOf(id).length === kept.length)
    t.strictSame([namesOf(id), namesOf(other)], [kept, all])
  }
)

t.test('a control plane that can not tell which jobs those are keeps nothing else from being deleted', async t => {
  const { jobs, create, sweep } = await place(t)
  const [cancelled, discarded] = [await create(), await create()]
  await jobs.cancel(cancelled, owner)
  await jobs.discard(discarded, owner)
  sweep({ abandoned: async () => { throw new Failure('BACKEND_UNAVAILABLE') } })
  await until(async () => (await jobs.existing([discarded])).length === 0)
  t.strictSame(await jobs.existing([cancelled]), [cancelled])
})
