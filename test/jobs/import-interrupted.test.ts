import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { test, type Test } from 'tap'
import { HttpBackend } from '../../src/backends/http-backend.js'
import { Spool } from '../../src/jobs/storage/files.js'
import { draftsFile } from '../../src/jobs/import/import-context.js'
import { createImportHandler, indexFile } from '../../src/jobs/import/import-job.js'
import { IndexFile } from '../../src/jobs/import/index-file.js'
import { ResultCipher } from '../../src/jobs/import/result.js'
import type { Job } from '../../src/jobs/model/job.js'
import type { RecordUse } from '../../src/limits/record-quota.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { TenantContext } from '../../src/tenant-guard/tenant-context.js'
import { createImportStore, type ImportStore } from '../../src/tenant-guard/import/import-store.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'
import { startTestSandbox } from '../harness/sandbox.js'

const died = new Error('the process died')

const owner = {
  tenantId: 't-broken-off',
  mode: 'test',
  keyId: 'k',
  keyName: 'k',
  plan: 'pro',
  overage: false
} as const

async function startScene (t: Test, lines: readonly unknown[]) {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  const sandbox = await startTestSandbox(t)
  const backend = new HttpBackend({ name: 'sandbox', baseUrl: sandbox.url })
  t.after(async () => {
    await backend.close()
    rmSync(directory, { recursive: true, force: true })
  })
  const spool = new Spool({ directory, reserveBytes: 0 })
  const { files, ...made } = await spool.begin()
  const writer = await files.write('input')
  await writer.write(Buffer.from(lines.map(line => `${JSON.stringify(line)}\n`).join('')))
  await writer.close()
  let job: Job = {
    ...made,
    checkpoint: { input: { bytes: writer.bytes, mark: writer.mark, lines: lines.length } },
    owner,
    status: 'processing',
    request: { kind: 'import', dryRun: false, url: 'http://gateway.test' },
    progress: { processed: 0, failed: 0 },
    files: [],
    errors: [],
    createdAt: '2030-01-01T00:00:00.000Z',
    expiresAt: '2030-01-02T00:00:00.000Z'
  }
  const counted: RecordUse[] = []
  const identityKey = randomBytes(32).toString('base64')
  const createContext = (): TenantContext => ({
    backend,
    tenant: { id: owner.tenantId, system: 'urn:clinigate:tenant' },
    mode: 'test',
    ownership: createOwnershipCache(),
    cursors: createCursors({ key: randomBytes(32), now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    onIncident: () => {},
    onError: () => {}
  })

  const listDatabases = () =>
    [indexFile, draftsFile].flatMap(name => [spool.getJobFiles(job).path(name), `${spool.getJobFiles(job).path(name)}-journal`])
  const copy = (from: (file: string) => string, to: (file: string) => string): void => {
    for (const file of listDatabases()) {
      rmSync(to(file), { force: true })
      if (existsSync(from(file))) copyFileSync(from(file), to(file))
    }
  }
  const toSnapshotPath = (file: string): string => `${file}.as-it-was`

  /**
   * Works on the job until it ends, or until so many steps are done: then the process dies, and index and drafts are as
   * the disk has them.
   */
  const run = async (breaksAt: number): Promise<'ended' | 'broken off'> => {
    let left = breaksAt
    const step = (): void => {
      if (--left >= 0) return
      if (left === -1) copy(file => file, toSnapshotPath)
      throw died
    }
    const store = createImportStore(createContext())
    const breaking: ImportStore = {
      ...store,
      fetchStored: async request => { step(); return await store.fetchStored(request) },
      write: async records => {
        step()
        const together = await store.write(records)
        step()
        return together
      }
    }
    const createQuota = () => ({
      take: () => {
        step()
        return { at: '2030-01-01T00:00:00.000Z', isOverage: false, refund: () => {} }
      },
      count: (uses: readonly RecordUse[]) => {
        if (left >= 0) counted.push(...uses.filter(({ status }) => status < 500))
      }
    })
    const doJob = createImportHandler({
      importHosts: [],
      storeFor: () => breaking,
      jobs: { identityKey: async () => identityKey },
      quotaFor: createQuota,
      lineBytes: 1_000_000
    })
    try {
      await doJob({
        job,
        files: spool.getJobFiles(job),
        signal: new AbortController().signal,
        save: async change => {
          if (left >= 0) job = { ...job, ...change }
        },
        log: pino({ level: 'silent' })
      })
      return 'ended'
    } catch (error) {
      if (left >= 0) throw error
      copy(toSnapshotPath, file => file)
      return 'broken off'
    }
  }
  const readResults = () => {
    const index = new IndexFile(spool.getJobFiles(job).path(indexFile))
    const seal = new ResultCipher(job.fileKey)
    const rows = index
      .listResultRows(0, 10_000)
      .map(({ line, result }) => ({ line, ...(result === null ? { status: 'pending' } : seal.open(line, result)) }))
    index.close()
    return rows
  }
  return {
    run,
    readResults,
    counted,
    total: async (type: string) =>
      JSON.parse((await backend.send({ method: 'GET', path: `${type}?_summary=count` })).body).total as number
  }
}

/** Most lines refer to later lines, or to lines that do. */
const mixed = [...Array(900).keys()].map(at => {
  if (at % 90 === 5) return { resourceType: 'Patient', id: 7 }
  if (at % 90 === 6) {
    return {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      subject: { reference: 'Patient/nobody' }
    }
  }
  if (at % 3 === 0) {
    return {
      resourceType: 'Patient',
      id: `p${at}`,
      name: [{ family: `N${at}` }],
      link: [{ other: { reference: `Patient/p${at % 6 === 0 ? at + 3 : at - 3}` }, type: 'seealso' }]
    }
  }
  return {
    resourceType: 'Observation',
    ...(at % 2 === 0 && { id: `o${at}` }),
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: `Patient/p${at - (at % 3)}` }
  }
})

/** Most lines refer to earlier lines, so that they are written while others are still read. */
const inOrder = [...Array(1_800).keys()].map(at => {
  if (at % 300 === 30) {
    return { resourceType: 'Patient', id: `p${at}`, managingOrganization: { reference: 'Organization/nobody' } }
  }
  if (at % 3 === 0) return { resourceType: 'Patient', id: `p${at}`, name: [{ family: `N${at}` }] }
  const subject = at % 100 === 50 ? at + 601 : at - at % 3
  return {
    resourceType: 'Observation',
    id: `o${at}`,
    status: 'final',
    code: { text: 'weight' },
    subject: { reference: `Patient/p${subject - (subject % 3)}` }
  }
})

const files = {
  mixed: { lines: mixed, failed: 70, strides: [7, 60, 333, 700] },
  'in order': { lines: inOrder, failed: 22, strides: [40, 700] }
}

for (const [name, { lines, failed, strides }] of Object.entries(files)) {
  test(`an import of lines ${name} that is interrupted anywhere and resumed ends as one without interruption: same results, each line stored and counted once`, async t => {
    const uninterrupted = await startScene(t, lines)
    t.equal(await uninterrupted.run(Infinity), 'ended')
    const expected = uninterrupted.readResults()
    t.equal(expected.filter(({ status }) => status === 'failed').length, failed)
    for (const stride of strides) {
      const scene = await startScene(t, lines)
      let breaks = 0
      let steps = stride
      while ((await scene.run(steps)) === 'broken off') {
        breaks++
        steps += stride
      }
      t.ok(breaks > 0, `broken off ${breaks} times`)
      t.same(
        scene.readResults().map(({ line, status }) => ({ line, status })),
        expected.map(({ line, status }) => ({ line, status }))
      )
      t.equal(scene.counted.length, lines.length, 'each line counts once')
      for (const type of ['Patient', 'Observation']) t.equal(await scene.total(type), await uninterrupted.total(type))
    }
  })
}

// It ended as failed with INTERNAL_ERROR: the drafts of its lines were deleted, although their results were lost.
test('an import whose last results find no room on the disk is completed by its next run', async t => {
  const lines = inOrder.slice(0, 30)
  const scene = await startScene(t, lines)
  const { commit } = IndexFile.prototype
  let isFull = true
  t.after(() => { IndexFile.prototype.commit = commit })
  IndexFile.prototype.commit = function (this: any) {
    if (!isFull || this.counts.processed < lines.length) return commit.call(this)
    isFull = false
    // As SQLite does by itself.
    if (this.db.inTransaction) this.db.exec('ROLLBACK')
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  }
  await t.rejects(scene.run(Infinity), { code: 'SQLITE_FULL' })
  t.equal(await scene.run(Infinity), 'ended')
  t.strictSame(scene.readResults().map(({ status }) => status), lines.map(() => 'created'))
})
