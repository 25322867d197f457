/** The guarantees of the control store for bulk jobs, tested on the given database. */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import type { ClaimedJob, ExportRequest, JobDraft, JobOwner, Worker } from '../../src/jobs/model/job.js'
import type { Jobs } from '../../src/jobs/model/jobs.js'
import { maxUnfinishedJobs } from '../../src/jobs/model/unfinished-jobs.js'
import { base32, randomString } from '../../src/keys/random-text.js'
import { owner } from '../jobs/job-fixtures.js'
import type { MakeDatabase } from './databases.js'

const secondMs = 1_000
const hourMs = 3_600_000

const request: ExportRequest = {
  kind: 'export',
  types: ['Patient'],
  format: 'fhir',
  level: 'system',
  url: 'https://api.example.org/v1/bulk/export',
  filters: { Patient: [[['family', 'x']]] }
}
const worker: Worker = { gateway: 'one', storeId: 'store-1', perTenant: 10, leaseMs: 30 * secondMs }

/** A draft with an id of its own. */
export function buildDraft (what: Partial<JobDraft> = {}): JobDraft {
  return {
    id: `job-${randomString(base32, 26)}`,
    owner,
    request,
    storeId: 'store-1',
    fileKey: randomBytes(32).toString('base64'),
    ...what
  }
}

/** How the store is reached: directly by default. */
type Via = (t: Test, jobs: Jobs) => Promise<Jobs>

/** Opens stores over one empty database, on SQLite always the same one, with a clock that the test sets. */
async function openJobStores (t: Test, makeDatabase: MakeDatabase, via: Via) {
  const where = await makeDatabase(t)
  const clock = { ms: Date.parse('2030-01-01T00:00:00Z') }
  const open = async () => {
    const store = await openControlStore({ ...where, plans: ['pro'], now: () => new Date(clock.ms) })
    t.teardown(() => store.close())
    return await via(t, store.jobs)
  }
  const first = await open()
  return { jobs: first, other: where.url === undefined ? first : await open(), clock }
}

/** Runs the whole contract. */
export async function testJobs (
  t: Test,
  makeDatabase: MakeDatabase,
  via: Via = async (_, jobs) => jobs
): Promise<void> {
  const openStores = (t: Test) => openJobStores(t, makeDatabase, via)

  await t.test('a job has the fields of its draft, and stores nothing of its caller but the owner', async t => {
    const { jobs } = await openStores(t)
    const draft = buildDraft({
      owner: { ...owner, scopes: ['*'] } as JobOwner,
      progress: { total: 3, processed: 0, failed: 0 }
    })
    const made = await jobs.create(draft)
    t.strictSame(made, {
      ...draft,
      owner,
      status: 'pending',
      progress: { total: 3, processed: 0, failed: 0 },
      files: [],
      errors: [],
      createdAt: '2030-01-01T00:00:00.000Z',
      expiresAt: '2030-01-08T00:00:00.000Z'
    })
    t.strictSame(await jobs.find(draft.id, owner), made)
    t.strictSame(await jobs.create({ ...draft, storeId: 'store-2' }), made, 'sent twice it is one job')
  })

  await t.test(
    'jobs created concurrently never exceed the maximum of an organization, and one that is sent twice is not rejected',
    async t => {
      const { jobs, other } = await openStores(t)
      for (let made = 0; made < maxUnfinishedJobs - 2; made++) await jobs.create(buildDraft())
      const drafts = Array.from({ length: 12 }, () => buildDraft())
      const made = await Promise.allSettled(drafts.map((draft, at) => (at % 2 === 0 ? jobs : other).create(draft)))
      t.equal(made.filter(({ status }) => status === 'fulfilled').length, 2)
      for (const each of made) {
        if (each.status === 'rejected') t.match(each.reason, { code: 'RATE_LIMITED', message: /have not ended/ })
      }
      t.match(await jobs.list(owner, { count: 1 }), { total: maxUnfinishedJobs, unfinished: maxUnfinishedJobs })
      const [taken] = drafts.filter((_, at) => made[at]!.status === 'fulfilled')
      t.match(await jobs.create(taken!), { id: taken!.id }, 'an answer that was lost is given again')
      await jobs.create(buildDraft({ owner: { ...owner, mode: 'live' } }))
      await jobs.cancel(taken!.id, owner)
      await jobs.create(buildDraft())
    }
  )

  await t.test(
    "another organization's job, and that of the other mode, is missing: to find, to list and to cancel",
    async t => {
      const { jobs } = await openStores(t)
      const { id } = await jobs.create(buildDraft())
      for (const scope of [
        { tenantId: 'org-b', mode: 'test' },
        { tenantId: 'org-a', mode: 'live' }
      ] as const) {
        t.equal(await jobs.find(id, scope), undefined)
        t.equal(await jobs.cancel(id, scope), undefined)
        t.strictSame(await jobs.list(scope, { count: 10 }), { jobs: [], total: 0, unfinished: 0 })
      }
      t.match(await jobs.find(id, owner), { status: 'pending' })
      await t.rejects(jobs.create(buildDraft({ id, owner: { ...owner, tenantId: 'org-b' } })))
      t.match(await jobs.find(id, owner), { owner })
    }
  )

  await t.test('jobs are listed newest first, page by page, each once', async t => {
    const { jobs, clock } = await openStores(t)
    const ids: string[] = []
    for (let i = 0; i < 7; i++) {
      if (i % 3 === 0) clock.ms += secondMs
      ids.push((await jobs.create(buildDraft())).id)
      await jobs.create(buildDraft({ owner: { ...owner, tenantId: 'org-b' } }))
    }
    const seen: string[] = []
    for (
      let page = await jobs.list(owner, { count: 2 });
      page.jobs.length > 0;
      page = await jobs.list(owner, { count: 2, before: page.jobs.at(-1)! })
    ) {
      t.equal(page.total, 7)
      seen.push(...page.jobs.map(({ id }) => id))
    }
    t.strictSame(seen.toSorted(), ids.toSorted())
    await jobs.cancel(ids[0]!, owner)
    await jobs.claim(worker)
    t.match(
      await jobs.list(owner, { count: 1 }),
      { total: 7, unfinished: 6 },
      'a cancelled one has ended, one that somebody works on has not'
    )
    t.strictSame(
      [seen[0], ...seen.slice(1, 4).toSorted(), ...seen.slice(4).toSorted()],
      [ids[6], ...ids.slice(3, 6).toSorted(), ...ids.slice(0, 3).toSorted()]
    )
  })

  await t.test('the oldest job is claimed first, once, by workers of its store alone', async t => {
    const { jobs, clock } = await openStores(t)
    const first = await jobs.create(buildDraft())
    clock.ms += secondMs
    const second = await jobs.create(buildDraft())
    t.equal(await jobs.claim({ ...worker, storeId: 'store-2' }), undefined)
    const claimed = await jobs.claim(worker)
    t.match(claimed, {
      job: { id: first.id, status: 'processing', startedAt: '2030-01-01T00:00:01.000Z' },
      lease: { jobId: first.id, number: 1 },
      failures: 0
    })
    t.match(await jobs.claim(worker), { job: { id: second.id } })
    t.equal(await jobs.claim(worker), undefined)
  })

  await t.test('concurrent claims get each job once', async t => {
    const { jobs, other } = await openStores(t)
    const ids = (await Promise.all(Array.from({ length: 12 }, () => jobs.create(buildDraft())))).map(({ id }) => id)
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? jobs : other).claim({ ...worker, perTenant: 100 }))
    )
    t.strictSame(claims.flatMap(claimed => claimed?.job.id ?? []).toSorted(), ids.toSorted())
  })

  await t.test(
    'no organization has more running jobs than it may, however many workers claim at once; others are not delayed',
    async t => {
      const { jobs, other, clock } = await openStores(t)
      for (let i = 0; i < 6; i++) await jobs.create(buildDraft())
      clock.ms += secondMs
      await jobs.create(buildDraft({ owner: { ...owner, tenantId: 'org-b' } }))
      const claim = (i: number) => (i % 2 === 0 ? jobs : other).claim({ ...worker, perTenant: 2 })
      const claims = (await Promise.all(Array.from({ length: 16 }, (_, i) => claim(i)))).filter(
        claimed => claimed !== undefined
      )
      t.strictSame(claims.map(({ job }) => job.owner.tenantId).toSorted(), ['org-a', 'org-a', 'org-b'])
      const [one, two] = claims.filter(({ job }) => job.owner.tenantId === 'org-a') as [ClaimedJob, ClaimedJob]
      await jobs.save(one.lease, { end: { status: 'completed' } }, 0)
      t.ok(await claim(0), 'one that ended makes room')
      t.equal(await claim(1), undefined)
      await jobs.cancel(two.job.id, owner)
      t.equal(await claim(0), undefined, 'a cancelled one counts until its worker has left it')
      await jobs.release(two.lease)
      t.ok(await claim(1))
      t.equal(await claim(0), undefined)
    }
  )

  await t.test('saved state is there for the next worker, and absent members stay unchanged', async t => {
    const { jobs } = await openStores(t)
    await jobs.create(buildDraft())
    const { lease, job } = (await jobs.claim(worker))!
    const checkpoint = { at: 1.5, big: 123_456_789_012, text: 'ü', list: [1, null] }
    const files = [
      { name: 'Patient.ndjson', resourceType: 'Patient', count: 3, bytes: 5_000_000_000, mark: 'hPF7Zz0' }
    ]
    const errors = [{ line: 7, code: 'VALIDATION_ERROR', message: 'birthDate: expected a date' }]
    t.equal(await jobs.save(lease, { checkpoint, progress: { total: 9, processed: 3, failed: 1 } }, 1), 'ok')
    t.equal(await jobs.save(lease, { files, errors }, 30_000), 'ok')
    t.equal(await jobs.save(lease, {}, 30_000), 'ok')
    t.match(await jobs.find(job.id, owner), {
      status: 'processing',
      checkpoint,
      files,
      errors,
      progress: { total: 9, processed: 3, failed: 1 }
    })
    await jobs.release(lease)
    const next = (await jobs.claim(worker))!
    t.strictSame([next.job.checkpoint, next.lease.number, next.job.startedAt], [checkpoint, 2, job.startedAt])
    await t.rejects(jobs.save(next.lease, { checkpoint: 'x'.repeat(70_000) }, 30_000))
    t.notOk((await jobs.list(owner, { count: 1 })).jobs[0]!.checkpoint, 'a list is without it')
  })

  await t.test(
    "a dead worker's job goes to another when its lease has expired, and the dead worker finds it lost",
    async t => {
      const { jobs, other, clock } = await openStores(t)
      await jobs.create(buildDraft())
      const dead = (await jobs.claim(worker))!
      clock.ms += 29 * secondMs
      t.equal(await other.claim(worker), undefined)
      t.equal(await jobs.save(dead.lease, {}, 30 * secondMs), 'ok')
      clock.ms += 29 * secondMs
      t.equal(await other.claim(worker), undefined, 'a save keeps it')
      clock.ms += secondMs
      const next = (await other.claim(worker))!
      t.match(next, { lease: { number: 2 }, failures: 1 })
      for (const change of [
        {},
        { progress: { processed: 99, failed: 0 } },
        { end: { status: 'completed' } as const }
      ]) {
        t.equal(await jobs.save(dead.lease, change, 30_000), 'lost')
      }
      await jobs.release(dead.lease)
      t.equal(await other.claim(worker), undefined, "nor can it let go of another's")
      t.match(await jobs.find(dead.job.id, owner), { status: 'processing', progress: { processed: 0 } })
      t.equal(await other.save(next.lease, {}, 30_000), 'ok')
    }
  )

  await t.test('an expired lease is still valid as long as no other worker has claimed the job', async t => {
    const { jobs, clock } = await openStores(t)
    await jobs.create(buildDraft())
    const { lease } = (await jobs.claim(worker))!
    clock.ms += hourMs
    t.equal(await jobs.save(lease, {}, 30_000), 'ok')
    t.equal(await jobs.claim(worker), undefined)
  })

  await t.test(
    'a job that was released after a failure is not claimed before its delay, and its failures count until it makes progress',
    async t => {
      const { jobs, clock } = await openStores(t)
      await jobs.create(buildDraft())
      for (const failures of [0, 1, 2]) {
        const claimed = (await jobs.claim(worker))!
        t.equal(claimed.failures, failures)
        await jobs.release(claimed.lease, { afterMs: 5_000 })
        t.equal(await jobs.claim(worker), undefined)
        clock.ms += 5_000
      }
      const { lease } = (await jobs.claim(worker))!
      await jobs.save(lease, {}, 30_000)
      await jobs.release(lease)
      const reclaimed = (await jobs.claim(worker))!
      t.equal(reclaimed.failures, 3, 'a lease that is only renewed is no coming on')
      await jobs.save(reclaimed.lease, { progress: { processed: 1, failed: 0 } }, 30_000)
      await jobs.release(reclaimed.lease)
      t.equal((await jobs.claim(worker))!.failures, 0)
    }
  )

  await t.test('a cancelled job stays cancelled, whatever its worker saves later', async t => {
    const { jobs, other } = await openStores(t)
    const pending = await jobs.create(buildDraft())
    t.match(await jobs.cancel(pending.id, owner), {
      status: 'cancelled',
      completedAt: '2030-01-01T00:00:00.000Z',
      expiresAt: '2030-01-02T00:00:00.000Z'
    })
    t.equal(await jobs.claim(worker), undefined)
    const { id } = await jobs.create(buildDraft())
    const { lease } = (await jobs.claim(worker))!
    const [cancelled] = await Promise.all([
      other.cancel(id, owner),
      jobs.save(lease, { progress: { processed: 1, failed: 0 } }, 30_000)
    ])
    t.match(cancelled, { status: 'cancelled' })
    for (const change of [
      {},
      { end: { status: 'completed' } as const },
      { end: { status: 'failed', failure: { code: 'X', message: '' } } as const }
    ]) {
      t.equal(await jobs.save(lease, change, 30_000), 'cancelled')
    }
    t.match(await jobs.find(id, owner), { status: 'cancelled' })
  })

  await t.test('of a concurrent cancel and end one wins, and both callers get the same outcome', async t => {
    const { jobs, other } = await openStores(t)
    for (let i = 0; i < 20; i++) {
      const { id } = await jobs.create(buildDraft())
      const { lease } = (await jobs.claim(worker))!
      const [saved, cancelled] = await Promise.all([
        jobs.save(lease, { end: { status: 'completed' } }, 0),
        other.cancel(id, owner)
      ])
      const { status } = (await jobs.find(id, owner))!
      t.strictSame(
        [saved, cancelled?.status],
        status === 'cancelled' ? ['cancelled', 'cancelled'] : ['ok', 'completed']
      )
      await jobs.release(lease)
    }
  })

  await t.test('a job that ended is final: it is not claimed, not cancelled, and stays in its end state', async t => {
    const { jobs, clock } = await openStores(t)
    const { id } = await jobs.create(buildDraft())
    const { lease } = (await jobs.claim(worker))!
    const end = { status: 'failed', failure: { code: 'BAD_REQUEST', message: 'No.' } } as const
    t.equal(await jobs.save(lease, { end }, 0), 'ok')
    t.equal(await jobs.save(lease, { end }, 0), 'ok', 'the same end, whose answer was lost')
    t.equal(await jobs.save(lease, { end: { status: 'completed' } }, 0), 'lost')
    clock.ms += hourMs
    t.match(await jobs.cancel(id, owner), {
      status: 'failed',
      failure: end.failure,
      completedAt: '2030-01-01T00:00:00.000Z',
      expiresAt: '2030-01-02T00:00:00.000Z'
    })
    t.equal(await jobs.claim(worker), undefined)
  })

  await t.test(
    'a discarded job is missing at once, its worker is notified, and its store may delete it once no worker has it',
    async t => {
      const { jobs } = await openStores(t)
      const pending = await jobs.create(buildDraft())
      await jobs.discard(pending.id, { ...owner, tenantId: 'another' })
      t.match(await jobs.find(pending.id, owner), { status: 'pending' })
      const {
        job: { id },
        lease
      } = (await jobs.claim(worker))!
      await jobs.discard(id, owner)
      t.equal(await jobs.find(id, owner), undefined)
      t.strictSame(await jobs.expired('store-1'), [])
      t.equal(await jobs.save(lease, {}, 30_000), 'cancelled')
      await jobs.release(lease)
      t.strictSame(await jobs.expired('store-1'), [id])
      const ended = await jobs.create(buildDraft())
      await jobs.save((await jobs.claim(worker))!.lease, { end: { status: 'completed' } }, 0)
      await jobs.discard(ended.id, owner)
      t.strictSame(
        [await jobs.find(ended.id, owner), await jobs.list(owner, { count: 10 })],
        [undefined, { jobs: [], total: 0, unfinished: 0 }]
      )
    }
  )

  await t.test(
    'a day after its end, or a week after its start, a job is missing for clients, and its store is to delete it',
    async t => {
      const { jobs, clock } = await openStores(t)
      const ended = await jobs.create(buildDraft())
      await jobs.cancel(ended.id, owner)
      const unfinished = await jobs.create(buildDraft())
      const { lease } = (await jobs.claim(worker))!
      t.strictSame(await jobs.expired('store-1'), [])
      clock.ms += 24 * hourMs
      t.equal(await jobs.find(ended.id, owner), undefined)
      t.strictSame(await jobs.expired('store-1'), [ended.id])
      t.strictSame(await jobs.expired('store-2'), [])
      await jobs.forget([ended.id])
      t.strictSame(await jobs.expired('store-1'), [])
      t.strictSame(await jobs.existing([ended.id, unfinished.id, 'job-x']), [unfinished.id])
      await jobs.save(lease, {}, 30_000)
      clock.ms += 6 * 24 * hourMs - 1
      t.equal(await jobs.save(lease, {}, 30_000), 'ok')
      clock.ms += 1
      t.strictSame(await jobs.expired('store-1'), [], 'not while somebody has it')
      t.equal(await jobs.save(lease, {}, 30_000), 'lost')
      await jobs.release(lease)
      t.equal(await jobs.claim(worker), undefined)
      t.strictSame(
        [await jobs.find(unfinished.id, owner), (await jobs.list(owner, { count: 5 })).total],
        [undefined, 0]
      )
      t.strictSame(await jobs.expired('store-1'), [unfinished.id])
    }
  )

  await t.test('a job that failed or was cancelled is abandoned once no worker has it', async t => {
    const { jobs, clock } = await openStores(t)
    const [failed, cancelled, lost, completed, going] = [
      await jobs.create(buildDraft()),
      await jobs.create(buildDraft()),
      await jobs.create(buildDraft()),
      await jobs.create(buildDraft()),
      await jobs.create(buildDraft())
    ]
    const listAbandoned = async () =>
      (await jobs.abandoned([failed, cancelled, lost, completed, going].map(({ id }) => id))).toSorted()
    const leases = new Map<string, ClaimedJob['lease']>()
    for (let claimed; (claimed = await jobs.claim(worker)) !== undefined;) leases.set(claimed.job.id, claimed.lease)
    await jobs.save(
      leases.get(failed.id)!,
      { end: { status: 'failed', failure: { code: 'BAD_REQUEST', message: 'No.' } } },
      30_000
    )
    await jobs.save(leases.get(completed.id)!, { end: { status: 'completed' } }, 30_000)
    for (const { id } of [cancelled, lost]) await jobs.cancel(id, owner)
    t.strictSame(await listAbandoned(), [failed.id], 'others are worked on')
    await jobs.release(leases.get(cancelled.id)!)
    t.strictSame(await listAbandoned(), [failed.id, cancelled.id].toSorted())
    clock.ms += worker.leaseMs
    t.strictSame(await listAbandoned(), [failed.id, cancelled.id, lost.id].toSorted(), 'their gateway is gone')
    t.strictSame(await jobs.abandoned(['job-x']), [])
  })

  await t.test('a job that no gateway deletes is forgotten after two weeks, with the key of its files', async t => {
    const { jobs, clock } = await openStores(t)
    const { id } = await jobs.create(buildDraft({ storeId: 'store-gone' }))
    clock.ms += 14 * 24 * hourMs
    await jobs.expired('store-1')
    t.strictSame(await jobs.existing([id]), [id])
    clock.ms += 1
    await jobs.expired('store-1')
    t.strictSame(await jobs.existing([id]), [])
  })

  await t.test('thousands of ids are looked up and forgotten at once', async t => {
    const { jobs } = await openStores(t)
    const { id } = await jobs.create(buildDraft())
    const ids = [...Array.from({ length: 3_000 }, (_, i) => `job-${i}`), id]
    t.strictSame(await jobs.existing(ids), [id])
    await jobs.forget(ids)
    t.strictSame(await jobs.existing([id]), [])
    t.strictSame(await jobs.existing([]), [])
  })

  await t.test(
    'the identity of imports is created once for each organization and mode, also concurrently, and never changes',
    async t => {
      const { jobs, other } = await openStores(t)
      const requested = await Promise.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? jobs : other).identityKey(owner))
      )
      t.equal(new Set(requested).size, 1)
      t.equal(Buffer.from(requested[0]!, 'base64').length, 32)
      const others = [
        await jobs.identityKey({ tenantId: 'org-a', mode: 'live' }),
        await jobs.identityKey({ tenantId: 'org-b', mode: 'test' })
      ]
      t.equal(new Set([requested[0], ...others]).size, 3)
      t.equal(await other.identityKey(owner), requested[0])
    }
  )
}
