import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { Failure } from '../../src/envelope/failures.js'
import { indexFile } from '../../src/jobs/import/import-job.js'
import type { JobHandler } from '../../src/jobs/job-context.js'
import type { Jobs } from '../../src/jobs/model/jobs.js'
import { JobRunner } from '../../src/jobs/runner.js'
import { Spool } from '../../src/jobs/storage/files.js'
import { Sweeper } from '../../src/jobs/storage/sweeper.js'
import { unlimitedPlans } from '../harness/client.js'
import { listDataFiles } from '../harness/data-files.js'
import { startGateway } from '../harness/gateway.js'
import { waitUntil } from '../harness/until.js'
import { createMemoryLog } from '../sync/control-plane.js'
import { createImporter } from './importing.js'
import { exportRequest, owner } from './job-fixtures.js'

const buildPatients = (count: number) => Array.from({ length: count }, () => ({ resourceType: 'Patient', gender: 'female' }))
const listInputs = (directory: string) => listDataFiles(directory).filter(({ name }) => /\/input(\.pieces)?$/.test(name))

// Records written since the last progress report were missing from the count of a cancelled job for good.
t.test('a cancelled import reports how many records it wrote, and deletes its input', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const client = createImporter(gateway, secret)
  const {
    body: {
      data: { jobId }
    }
  } = await client.send(
    buildPatients(20_000)
      .map(line => `${JSON.stringify(line)}\n`)
      .join('')
  )
  const fetchJob = async () => (await client.get(`/bulk/jobs/${jobId}`)).body.data
  while ((await fetchJob()).processedRecords === 0);
  await fetch(`${gateway.url}/v1/bulk/jobs/${jobId}`, { method: 'DELETE', headers: { 'x-api-key': secret } })
  await waitUntil(() => listInputs(gateway.dataDirectory).length === 0)
  const { status, processedRecords } = await fetchJob()
  const created = (await client.fetchResults(jobId)).filter(({ status }) => status === 'created').length
  t.match({ status, processedRecords }, { status: 'cancelled', processedRecords: created })
  t.ok(created > 0 && created < 20_000, `${created} were created`)
})

// The input was stored for a day after the last line was written, though only the results are read in that time.
t.test('the input of an import is deleted at its end, and its results stay', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { job, results } = await createImporter(gateway, secret).run(buildPatients(10))
  t.match(job, { status: 'completed', processedRecords: 10 })
  t.equal(results.length, 10)
  t.strictSame(listInputs(gateway.dataDirectory), [])
})

// The lines that had not been read when it was cancelled had no result, so that results and lines were no longer 1:1.
t.test('a cancelled import has a result for every line, and those that were not imported are pending', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const { send, get, waitForEnd, fetchResults } = createImporter(gateway, secret)
  const count = 20_000
  const { body: { data: { jobId } } } = await send('{"resourceType":"Patient","gender":"female"}\n'.repeat(count))
  while ((await get(`/bulk/jobs/${jobId}`)).body.data.processedRecords === 0);
  await fetch(`${gateway.url}/v1/bulk/jobs/${jobId}`, { method: 'DELETE', headers: { 'x-api-key': secret } })
  t.match(await waitForEnd(jobId), { status: 'cancelled', totalRecords: count })
  const lines = await fetchResults(jobId)
  t.strictSame(lines.map(({ line }) => line), Array.from({ length: count }, (_, at) => at + 1))
  t.match(lines[0], { status: 'created' })
  t.match(lines[count - 1], { line: count, status: 'pending' })
})

// The input of an import that failed, or that was cancelled before its turn, stayed on the disk until the job was
// deleted. The guide says that it is deleted at the end of the import.

async function startImporter (t: Test, bulk: Readonly<Record<string, unknown>> = {}) {
  const gateway = await startGateway(t, { plans: unlimitedPlans, config: { bulk } })
  const { secret } = await gateway.createKey()
  const client = createImporter(gateway, secret)
  const listFiles = (id: string) =>
    readdirSync(join(gateway.dataDirectory, 'bulk', id))
      .filter(name => !name.startsWith('.'))
      .toSorted()
  const send = async (lines: string): Promise<string> =>
    (await client.send(lines, '?resourceType=patients')).body.data.jobId
  const cancel = async (id: string) =>
    await fetch(`${gateway.url}/v1/bulk/jobs/${id}`, { method: 'DELETE', headers: { 'x-api-key': secret } })
  return { client, listFiles, send, cancel }
}

const lines = '{"lastName":"Byron"}\n'.repeat(20_000)

t.test(
  'the input of an import that is cancelled before its turn is deleted at once, and each line keeps its result',
  async t => {
    const { client, listFiles, send, cancel } = await startImporter(t, { maxConcurrentJobs: 1, jobsPerOrganization: 1 })
    const first = await send(lines)
    const waiting = await send('{"lastName":"Byron"}\n'.repeat(3))
    t.match(await client.get(`/bulk/jobs/${waiting}`), { body: { data: { status: 'pending' } } })
    t.strictSame(listFiles(waiting), ['input', 'input.pieces'])
    t.equal((await cancel(waiting)).status, 200)
    t.strictSame(listFiles(waiting), [])
    t.strictSame(
      await client.fetchResults(waiting),
      [1, 2, 3].map(line => ({ line, status: 'pending' }))
    )
    await cancel(first)
    await waitUntil(() => listFiles(first).every(name => name.startsWith('index.db')))
  }
)

t.test('the input of an import that fails is deleted with it, and its results stay', async t => {
  const { client, listFiles, send } = await startImporter(t, { organizationBytes: 2 ** 20 })
  const id = await send('0\n'.repeat(2 ** 18))
  t.match(await client.waitForEnd(id), { status: 'failed' })
  await waitUntil(() => listFiles(id).every(name => name.startsWith('index.db')))
  t.match((await client.fetchResults(id))[0], { line: 1, status: 'failed' })
})

// The gateway that works on a job deletes its files when it is cancelled. For a job that waits for its next try, or
// that is cancelled at a gateway without access to the files, no gateway did so: they stayed for a day.

async function startJobs (t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-cancelled-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const store = await openControlStore({ file: ':memory:', plans: ['pro'], now: () => new Date() })
  t.teardown(() => store.close())
  const spool = new Spool({ directory, reserveBytes: 0 })
  const { log, lines } = createMemoryLog()
  const create = async () => {
    const { files, ...made } = await spool.begin(owner)
    for (const name of ['Patient.ndjson', indexFile]) {
      const writer = await files.write(name)
      await writer.write(Buffer.from('{}\n'))
      await writer.close()
    }
    return (await store.jobs.create({ owner, request: exportRequest, ...made })).id
  }
  const startRunner = (doJob: JobHandler) => {
    const runner = new JobRunner({
      jobs: store.jobs,
      spool,
      doJob: { export: doJob, import: doJob },
      gateway: 'one',
      maxConcurrentJobs: 1,
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
  const listFileNames = (id: string) => readdirSync(join(directory, id)).filter(name => !name.startsWith('.')).toSorted()
  return { jobs: store.jobs, create, startRunner, sweep, listFileNames, lines }
}

const retained = [indexFile, `${indexFile}.pieces`]
const all = ['Patient.ndjson', 'Patient.ndjson.pieces', ...retained]

t.test(
  'the files of a job that is cancelled while it waits for its next try are deleted, but for the results; those of other jobs stay',
  async t => {
    const { jobs, create, startRunner, sweep, listFileNames, lines } = await startJobs(t)
    const id = await create()
    const runner = startRunner(async () => {
      throw new Failure('BACKEND_UNAVAILABLE')
    })
    await waitUntil(() => lines.some(line => line.includes('will be retried')) && runner.running === 0)
    await jobs.cancel(id, owner)
    t.strictSame(listFileNames(id), all)
    const other = await create()
    sweep()
    await waitUntil(() => listFileNames(id).length === retained.length)
    t.strictSame([listFileNames(id), listFileNames(other)], [retained, all])
  }
)

t.test('a control plane that cannot list the abandoned jobs prevents no other deletion', async t => {
  const { jobs, create, sweep } = await startJobs(t)
  const [cancelled, discarded] = [await create(), await create()]
  await jobs.cancel(cancelled, owner)
  await jobs.discard(discarded, owner)
  sweep({ abandoned: async () => { throw new Failure('BACKEND_UNAVAILABLE') } })
  await waitUntil(async () => (await jobs.existing([discarded])).length === 0)
  t.strictSame(await jobs.existing([cancelled]), [cancelled])
})
