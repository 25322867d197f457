import { existsSync, mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Spool } from '../../src/jobs/storage/files.js'
import { Sweeper } from '../../src/jobs/storage/sweeper.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import type { Jobs } from '../../src/jobs/model/jobs.js'
import { waitUntil } from '../harness/until.js'
import { createMemoryLog } from '../sync/control-plane.js'
import { exportRequest, owner } from './job-fixtures.js'

async function createScene (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-sweeper-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const clock = { aheadMs: 0 }
  const store = await openControlStore({
    file: ':memory:',
    plans: ['pro'],
    now: () => new Date(Date.now() + clock.aheadMs)
  })
  t.teardown(() => store.close())
  const spool = new Spool({ directory, reserveBytes: 0 })
  const { log, lines } = createMemoryLog()
  const create = async () => {
    const { files, ...made } = await spool.begin()
    const writer = await files.write('Patient.ndjson')
    await writer.write(Buffer.from('x'))
    await writer.close()
    return await store.jobs.create({ owner, request: exportRequest, ...made })
  }
  const sweep = (jobs: Pick<Jobs, 'expired' | 'existing' | 'abandoned' | 'forget'> = store.jobs) => {
    const sweeper = new Sweeper({ jobs, spool, now: () => new Date(), log, everyMs: 20 })
    t.teardown(() => sweeper.close())
  }
  const isThere = (id: string) => existsSync(join(directory, id))
  return { directory, clock, jobs: store.jobs, spool, lines, create, sweep, isThere }
}

t.test('files of a job are deleted when it expires, and not before; then the job is forgotten', async t => {
  const { clock, jobs, create, sweep, isThere } = await createScene(t)
  const [ended, going] = [await create(), await create()]
  await jobs.cancel(ended.id, owner)
  sweep()
  clock.aheadMs = 24 * 3_600_000 - 60_000
  await new Promise(resolve => setTimeout(resolve, 100))
  t.ok(isThere(ended.id))
  clock.aheadMs += 60_001
  await waitUntil(async () => (await jobs.existing([ended.id])).length === 0)
  t.strictSame([isThere(ended.id), isThere(going.id)], [false, true])
})

t.test(
  "a folder that belongs to no job is deleted a day after its last change; a job's folder of the same age stays",
  async t => {
    const { directory, spool, create, sweep, isThere } = await createScene(t)
    const [job, orphan, upload] = [await create(), await spool.begin(), await spool.begin()]
    const writer = await upload.files.write('input')
    await writer.close()
    const old = new Date(Date.now() - 25 * 3_600_000)
    for (const path of [
      job.id,
      join(job.id, 'Patient.ndjson'),
      join(job.id, 'Patient.ndjson.pieces'),
      orphan.id,
      upload.id
    ]) { utimesSync(join(directory, path), old, old) }
    sweep()
    await waitUntil(() => !isThere(orphan.id))
    t.strictSame([isThere(job.id), isThere(upload.id)], [true, true], 'nor one that is being written')
  }
)

t.test('while existing jobs cannot be listed nothing is deleted, which is logged once', async t => {
  const { directory, spool, jobs, sweep, isThere, lines } = await createScene(t)
  const orphan = await spool.begin()
  const old = new Date(Date.now() - 25 * 3_600_000)
  utimesSync(join(directory, orphan.id), old, old)
  let request = 0
  sweep({
    expired: storeId => jobs.expired(storeId),
    abandoned: ids => jobs.abandoned(ids),
    forget: ids => jobs.forget(ids),
    existing: async ids => {
      if (++request < 4) throw new Error('not now')
      t.ok(isThere(orphan.id))
      return await jobs.existing(ids)
    }
  })
  await waitUntil(() => !isThere(orphan.id))
  t.equal(lines.filter(line => line.includes('cannot be deleted')).length, 1)
})
