import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Spool } from '../../src/jobs/storage/files.js'
import { JobRunner, type RunnerParts } from '../../src/jobs/runner.js'
import { createJobStarter, RunningJob } from '../../src/jobs/running-job.js'
import { PermanentFailure, JobInterrupted, type JobHandler, type JobContext } from '../../src/jobs/job-context.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { Failure } from '../../src/envelope/failures.js'
import type { JobDraft } from '../../src/jobs/model/job.js'
import type { Jobs } from '../../src/jobs/model/jobs.js'
import { waitUntil } from '../harness/until.js'
import { createMemoryLog } from '../sync/control-plane.js'
import { exportRequest, owner } from './job-fixtures.js'

/** Longer than a busy machine stalls. */
const usualLeaseMs = 600_000

/** A control store, a spool and any number of gateways that work on its jobs. */
async function createScene (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-runner-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const startedAt = Date.now()
  const clock = { aheadMs: 0, standsStill: false }
  const store = await openControlStore({
    file: ':memory:',
    plans: ['pro'],
    now: () => new Date((clock.standsStill ? startedAt : Date.now()) + clock.aheadMs)
  })
  t.teardown(() => store.close())
  const jobs: Jobs = store.jobs
  const spool = new Spool({ directory, reserveBytes: 0 })
  const { log, lines } = createMemoryLog()
  const run = (doJob: JobHandler, parts: Partial<RunnerParts> = {}) => {
    const runner = new JobRunner({
      jobs,
      spool,
      doJob: { export: doJob, import: doJob },
      gateway: 'one',
      maxConcurrentJobs: 4,
      jobsPerOrganization: 4,
      isRevoked: () => false,
      log,
      leaseMs: usualLeaseMs,
      lookMs: 50,
      ...parts
    })
    t.teardown(() => runner.close())
    return runner
  }
  const create = async (draft: Partial<JobDraft> = {}) => {
    const { files, ...made } = await spool.begin()
    return { ...await jobs.create({ owner, request: exportRequest, ...made, ...draft }), files }
  }
  const readStatus = async (id: string) => (await jobs.find(id, owner))?.status
  return { directory, clock, jobs, spool, lines, run, create, readStatus }
}

/** The same jobs, but for what the test changes. */
const withChanges = (jobs: Jobs, changes: Partial<Jobs>): Pick<Jobs, 'claim' | 'save' | 'release'> => ({
  claim: worker => jobs.claim(worker),
  save: (...args) => jobs.save(...args),
  release: (...args) => jobs.release(...args),
  ...changes
})

/** Work that goes on until it is aborted. */
const runUntilAborted: JobHandler = ({ signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

t.test('a job is done and completed, with what was saved on the way', async t => {
  const { run, create, jobs, readStatus } = await createScene(t)
  const { id } = await create()
  run(async ({ files, save }) => {
    const writer = await files.write('Patient.ndjson')
    await writer.write(Buffer.from('{}\n'))
    await writer.close()
    await save({
      progress: { total: 1, processed: 1, failed: 0 },
      files: [{ name: 'Patient.ndjson', resourceType: 'Patient', count: 1, bytes: 3 }]
    })
  })
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.match(await jobs.find(id, owner), { progress: { processed: 1 }, files: [{ count: 1 }] })
})

t.test('a runner that is woken for a new job starts it at once, without waiting for its next poll', async t => {
  const { run, create, readStatus } = await createScene(t)
  const runner = run(async () => {}, { lookMs: 3_600_000 })
  await pause(100)
  const { id } = await create()
  runner.wake()
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.pass('it did not take an hour')
})

t.test(
  'a gateway runs no more jobs at a time than its maximum, nor more of one organization, and takes the next when one ends',
  async t => {
    const { run, create, jobs } = await createScene(t)
    const ids = (
      await Promise.all(Array.from({ length: 7 }, (_, i) => create({ owner: { ...owner, tenantId: `org-${i % 2}` } })))
    ).map(({ id }) => id)
    const now = { all: 0, most: 0, byTenant: new Map<string, number>(), maxOfOne: 0 }
    let begun = 0
    const held: Array<() => void> = []
    let areHeld = true
    const runner = run(
      async ({ job }) => {
        const { tenantId } = job.owner
        const count = (by: number) => {
          now.all += by
          now.byTenant.set(tenantId, (now.byTenant.get(tenantId) ?? 0) + by)
        }
        begun++
        count(1)
        now.most = Math.max(now.most, now.all)
        now.maxOfOne = Math.max(now.maxOfOne, ...now.byTenant.values())
        if (areHeld) {
          await new Promise<void>(resolve => {
            held.push(resolve)
          })
        }
        await pause(10)
        count(-1)
      },
      { maxConcurrentJobs: 3, jobsPerOrganization: 2 }
    )
    await waitUntil(() => begun === 3)
    await pause(200)
    t.equal(begun, 3, 'no more begin while none has ended')
    held.shift()!()
    await waitUntil(() => begun === 4)
    areHeld = false
    for (const letGo of held) letGo()
    await waitUntil(async () =>
      (await Promise.all(ids.map((id, i) => jobs.find(id, { tenantId: `org-${i % 2}`, mode: 'test' })))).every(
        job => job?.status === 'completed'
      )
    )
    t.strictSame([now.most, now.maxOfOne], [3, 2])
    await waitUntil(() => runner.running === 0)
  }
)

t.test(
  "a failure of the client's ends the job with its code and message; so does a permanent failure",
  async t => {
    for (const failure of [
      new Failure('INSUFFICIENT_SCOPE', { message: 'No.', cause: 'hidden' }),
      new PermanentFailure('BACKEND_ERROR', { message: 'No.', cause: 'hidden' })
    ]) {
      const { run, create, jobs, readStatus } = await createScene(t)
      const { id } = await create()
      run(async () => {
        throw failure
      })
      await waitUntil(async () => (await readStatus(id)) === 'failed')
      t.match(await jobs.find(id, owner), { failure: { code: failure.code, message: 'No.' } })
      t.notMatch(JSON.stringify(await jobs.find(id, owner)), 'hidden')
    }
  }
)

t.test(
  'a job whose files were changed by anything but the gateway fails for good, and both client and operator learn why',
  async t => {
    const { run, create, jobs, readStatus, lines, directory } = await createScene(t)
    const { id, files } = await create()
    const writer = await files.write('input')
    await writer.write(Buffer.from('{}\n'))
    await writer.close()
    appendFileSync(join(directory, id, 'input'), 'x')
    run(async ({ files }) => {
      await text(files.read('input'))
    })
    await waitUntil(async () => (await readStatus(id)) === 'failed')
    t.match(await jobs.find(id, owner), {
      failure: { code: 'INTERNAL_ERROR', message: /changed or truncated.*bulk\.directory/ }
    })
    t.match(lines.join(''), /a frame of a file/)
  }
)

t.test('after a failure of a datastore the job is retried, after growing pauses, from its checkpoint', async t => {
  const { run, create, jobs, clock, readStatus, lines } = await createScene(t)
  clock.standsStill = true
  const { id } = await create()
  const begun: unknown[] = []
  let released = 0
  run(async ({ job, save }) => {
    begun.push(job.checkpoint)
    if (begun.length === 1) await save({ checkpoint: { at: 5 } })
    if (begun.length < 4) throw new Failure('BACKEND_TIMEOUT')
  }, {
    jobs: withChanges(jobs, {
      release: async (...args) => {
        await jobs.release(...args)
        released++
      }
    })
  })
  for (const [count, pauseMs] of [[1, 5_000], [2, 10_000], [3, 20_000]] as const) {
    await waitUntil(() => released === count)
    clock.aheadMs += pauseMs - 1
    await pause(200)
    t.equal(begun.length, count, 'not before its time')
    clock.aheadMs += 1
  }
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.strictSame(begun, [undefined, { at: 5 }, { at: 5 }, { at: 5 }])
  t.match(lines.join(''), /will be retried/)
  t.match(await jobs.find(id, owner), { status: 'completed' })
})

t.test(
  'a job that fails at each try fails in the end, with the code of the failure; an unexpected error is not disclosed',
  async t => {
    for (const [error, code] of [
      [new Failure('BACKEND_UNAVAILABLE'), 'BACKEND_UNAVAILABLE'],
      [new Error('secret'), 'INTERNAL_ERROR']
    ] as const) {
      const { run, create, jobs, clock, readStatus } = await createScene(t)
      const { id } = await create()
      clock.standsStill = true
      let begun = 0
      const runner = run(
        async () => {
          begun++
          throw error
        },
        { lookMs: 5 }
      )
      await waitUntil(async () => {
        // Never while a gateway works on it, whose lease would be over.
        if (runner.running === 0) clock.aheadMs += 600_000
        return (await readStatus(id)) === 'failed'
      })
      t.equal(begun, 20)
      t.match((await jobs.find(id, owner))?.failure, { code })
      t.notMatch(JSON.stringify(await jobs.find(id, owner)), 'secret')
    }
  }
)

t.test('a job that kills its process each time is not started for ever', async t => {
  const { run, create, jobs, spool, clock, readStatus } = await createScene(t)
  const { id } = await create()
  for (let i = 0; i <= 20; i++) {
    await jobs.claim({ gateway: 'dies', storeId: spool.storeId, perTenant: 1, leaseMs: 1_000 })
    clock.aheadMs += 1_001
  }
  let isBegun = false
  run(async () => { isBegun = true })
  await waitUntil(async () => await readStatus(id) === 'failed')
  t.equal(isBegun, false)
})

t.test('a cancelled job is stopped at once, and its slot is free at once', async t => {
  const { run, create, jobs, readStatus } = await createScene(t)
  let reason: unknown
  const runner = run(async work => {
    try {
      await runUntilAborted(work)
    } catch (error) {
      reason = error
      throw error
    }
  }, { leaseMs: 600_000, jobsPerOrganization: 1 })
  const { id } = await create()
  await waitUntil(() => runner.running === 1)
  const next = await create()
  await jobs.cancel(id, owner)
  runner.checkForCancellation(id)
  await waitUntil(async () => await readStatus(next.id) === 'processing')
  t.ok(reason instanceof JobInterrupted && reason.why === 'cancelled')
  t.equal(await readStatus(id), 'cancelled')
})

t.test('a job that is cancelled elsewhere is stopped at the next save or renewal', async t => {
  for (const isSaving of [true, false]) {
    const { run, create, jobs, readStatus } = await createScene(t)
    const runner = run(async work => {
      if (!isSaving) return await runUntilAborted(work)
      for (let processed = 0; ; processed++) {
        await work.save({ progress: { processed, failed: 0 } })
        await pause(20)
      }
    }, { leaseMs: isSaving ? 600_000 : 600 })
    const { id } = await create()
    await waitUntil(() => runner.running === 1)
    await jobs.cancel(id, owner)
    await waitUntil(() => runner.running === 0)
    t.equal(await readStatus(id), 'cancelled')
  }
})

t.test('a gateway that stops leaves its jobs to others at once, with their checkpoints', async t => {
  const { run, create, readStatus } = await createScene(t)
  const { id } = await create()
  let isSaved = false
  const stops = run(async work => {
    await work.save({ checkpoint: 7 })
    isSaved = true
    await runUntilAborted(work)
  }, { leaseMs: 3_600_000 })
  await waitUntil(() => isSaved)
  await stops.close()
  t.equal(stops.running, 0)
  let checkpoint: unknown
  run(async ({ job }) => { checkpoint = job.checkpoint })
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.equal(checkpoint, 7, 'though its lease would have lasted for an hour')
})

t.test("work that does not stop does not hold up the gateway's shutdown for ever", { timeout: 120_000 }, async t => {
  const { run, create } = await createScene(t)
  await create()
  const runner = run(() => new Promise(() => {}), { leaseMs: 60_000 })
  await waitUntil(() => runner.running === 1)
  await runner.close()
  t.pass('it ended')
})

t.test('a lease is renewed for as long as the work takes, and no other gateway begins', async t => {
  const { run, create, jobs, clock, readStatus } = await createScene(t)
  clock.standsStill = true
  const { id } = await create()
  const leaseMs = 6_000
  let [begun, renewals] = [0, 0]
  // The store's time goes on with renewals alone, by nearly a lease each, so that no pause of a busy machine is longer
  // than one.
  const renewed = withChanges(jobs, {
    save: async (...args) => {
      const saved = await jobs.save(...args)
      clock.aheadMs += leaseMs - 1
      renewals++
      return saved
    }
  })
  const waitForRenewals: JobHandler = async () => {
    begun++
    await waitUntil(() => renewals > 2)
  }
  run(waitForRenewals, { jobs: renewed, leaseMs })
  run(waitForRenewals, { jobs: renewed, leaseMs, gateway: 'two' })
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.equal(begun, 1)
})

t.test(
  'a gateway that cannot reach the control plane stops the job before its lease runs out, and writes no more',
  async t => {
    const { run, create, jobs, clock, readStatus } = await createScene(t)
    // Else, on a busy machine, the store's lease runs out too, and the job is begun again before the test has looked.
    clock.standsStill = true
    const { id } = await create()
    const state: { isCut: boolean; work?: JobContext; reason?: unknown } = { isCut: false }
    const cut = withChanges(jobs, {
      save: async (...args: Parameters<Jobs['save']>) => {
        if (state.isCut) throw new Failure('BACKEND_UNAVAILABLE')
        return await jobs.save(...args)
      },
      release: async () => {
        throw new Failure('BACKEND_UNAVAILABLE')
      }
    })
    const lost = run(
      async work => {
        state.work = work
        const writer = await work.files.write('a')
        await writer.write(Buffer.from('first'))
        await writer.flush()
        state.isCut = true
        const saved = work.save({ checkpoint: 'never' }).catch(error => {
          state.reason = error
        })
        await runUntilAborted(work).catch(() => {})
        await saved
        await writer.write(Buffer.from('second'))
        await writer.close()
      },
      { jobs: cut, leaseMs: 4_000 }
    )
    await waitUntil(() => lost.running === 1)
    await waitUntil(() => lost.running === 0)
    t.ok(state.reason instanceof JobInterrupted && state.reason.why === 'lost')
    t.equal(await state.work!.files.size('a'), 5, 'what came after the lease is not written')
    await t.rejects(state.work!.files.write('b'))
    await lost.close()
    clock.aheadMs += 4_000
    run(async ({ job }) => {
      t.equal(job.checkpoint, undefined)
    })
    await waitUntil(async () => (await readStatus(id)) === 'completed')
  }
)

t.test('a short outage of the control plane loses no work', async t => {
  const { run, create, jobs, readStatus } = await createScene(t)
  const { id } = await create()
  let [calls, begun] = [0, 0]
  const shaky = withChanges(jobs, {
    save: async (...args: Parameters<Jobs['save']>) => {
      if (++calls % 3 !== 0) throw new Failure('BACKEND_UNAVAILABLE')
      return await jobs.save(...args)
    }
  })
  run(async ({ save }) => {
    begun++
    await save({ checkpoint: 1 })
  }, { jobs: shaky, leaseMs: 30_000 })
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.equal(begun, 1)
})

t.test('a job whose key is revoked is stopped, before its start or in the middle, with that reason', async t => {
  for (const isBefore of [true, false]) {
    const { run, create, jobs, readStatus } = await createScene(t)
    const { id } = await create()
    let [isRevoked, begun] = [isBefore, 0]
    const runner = run(async work => {
      begun++
      await runUntilAborted(work)
    }, { isRevoked: keyId => isRevoked && keyId === owner.keyId, leaseMs: 6_000 })
    if (!isBefore) await waitUntil(() => runner.running === 1)
    isRevoked = true
    await waitUntil(async () => await readStatus(id) === 'failed')
    t.match((await jobs.find(id, owner))?.failure, { code: 'KEY_REVOKED', message: /was revoked/ })
    t.equal(begun, isBefore ? 0 : 1)
  }
})

t.test('an unreachable control plane is logged once, and requested again', async t => {
  const { run, create, jobs, readStatus, lines } = await createScene(t)
  const { id } = await create()
  let request = 0
  const absent = withChanges(jobs, {
    claim: async (...args: Parameters<Jobs['claim']>) => {
      if (++request < 4) throw new Failure('BACKEND_UNAVAILABLE')
      return await jobs.claim(...args)
    }
  })
  const runner = run(async () => {}, { jobs: absent, lookMs: 10 })
  await waitUntil(async () => await readStatus(id) === 'completed')
  t.equal(lines.filter(line => line.includes('the job queue cannot be reached')).length, 1)
  t.match(lines.join(''), /can be reached again/)
  t.equal(runner.failures, 0)
})

t.test('the failure of a job, which is read at any time, names neither a header nor a number of seconds', async t => {
  const saved: unknown[] = []
  const running = new RunningJob(
    { job: { id: 'job-x', owner: { keyId: 'key-x' } }, lease: { jobId: 'job-x', number: 1 }, failures: 0 } as never,
    {
      jobs: {
        save: async (_: unknown, change: unknown) => {
          saved.push(change)
          return 'ok'
        },
        release: async () => {}
      },
      spool: { getJobFiles: () => ({}) },
      doJob: async () => {
        throw new PermanentFailure('BACKEND_UNAVAILABLE', { message: 'It is full.', retryAfterSeconds: 20 })
      },
      isRevoked: () => false,
      leaseMs: 30_000,
      log: { child: () => ({ warn () {}, info () {} }) }
    } as never,
    performance.now()
  )
  await running.done
  t.match(saved.at(-1), {
    end: { status: 'failed', failure: { code: 'BACKEND_UNAVAILABLE', message: 'It is full. Try again later.' } }
  })
})

// An import that had lost its lease and was claimed again took its own lines for duplicates, and lost their drafts.
t.test('a job that is claimed again begins when its earlier run in this process has ended', async t => {
  const began: number[] = []
  const ends: Array<() => void> = []
  const startJob = createJobStarter({
    jobs: { save: async () => 'ok', release: async () => {} },
    spool: { getJobFiles: () => ({}), deleteExcept: async () => {} },
    doJob: { import: async () => { await new Promise<void>(resolve => { began.push(ends.push(resolve)) }) } },
    isRevoked: () => false,
    leaseMs: 30_000,
    log: { child: () => ({ warn () {}, info () {} }) }
  } as never)
  const claim = (id: string, number: number) => startJob(
    { job: { id, owner: { keyId: 'k' }, request: { kind: 'import' } }, lease: { jobId: id, number }, failures: 0 } as never,
    performance.now()
  )
  const first = claim('job-x', 1)
  await waitUntil(() => began.length === 1)
  const again = claim('job-x', 2)
  const other = claim('job-y', 1)
  await waitUntil(() => began.length === 2)
  await pause(20)
  t.equal(began.length, 2, 'only the other job')
  ends[0]!()
  await first.done
  await waitUntil(() => began.length === 3)
  for (const end of ends) end()
  await Promise.all([again.done, other.done])
})
