import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { WriteBuffer } from '../../src/jobs/import/write-buffer.js'
import { indexFile } from '../../src/jobs/import/import-job.js'
import { IndexFile } from '../../src/jobs/import/index-file.js'
import { Spool } from '../../src/jobs/storage/files.js'
import { diskFull } from '../../src/jobs/storage/storage-errors.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { type NativeSceneSettings, startNativeScene } from './native-importing.js'

// Only files of the spool were limited by bulk.reserveBytes, not the index database.

const isWaiting = { code: 'BACKEND_UNAVAILABLE', message: /no disk space for bulk jobs/ }

const observation = {
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'weight' },
  subject: { reference: 'Patient/last' }
}
const outOfOrder = [...Array(1_500).fill(observation), { resourceType: 'Patient', id: 'last' }]

/** An import without disk space while `isFull` is true. */
async function startScene (t: Test, isFull: () => boolean, settings: Partial<NativeSceneSettings> = {}) {
  const sandbox = await startTestSandbox(t)
  return await startNativeScene(t, {
    fhirUrl: sandbox.url,
    isUsual: true,
    lines: outOfOrder,
    requireRoom: async () => {
      if (isFull()) throw diskFull(undefined)
    },
    ...settings
  })
}

t.test('a database may grow by as much as any file of the job', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const { files } = await new Spool({ directory, reserveBytes: 0 }).begin()
  await t.resolves(files.requireRoom())
  const { files: without } = await new Spool({ directory, reserveBytes: 2 ** 60 }).begin()
  await t.rejects(without.requireRoom(), isWaiting)
})

t.test('an import without disk space reads no more than a part, and goes on when there is space', async t => {
  let isFull = true
  const scene = await startScene(t, () => isFull)
  await t.rejects(scene.run(), isWaiting)
  t.equal(scene.readResults().length, 0)
  isFull = false
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
  t.equal(scene.written(), outOfOrder.length, 'each line once')
})

for (const step of ['link', 'order', 'orderAsRead'] as const) {
  t.test(
    `an import that runs out of disk space in a step of its order (${step}) does no further one, and goes on when there is space`,
    async t => {
      const before = IndexFile.prototype[step] as (...args: unknown[]) => unknown
      t.after(() => {
        Object.assign(IndexFile.prototype, { [step]: before })
      })
      let done = 0
      let isFull = false
      Object.assign(IndexFile.prototype, {
        [step]: function (this: IndexFile, ...args: unknown[]) {
          isFull = ++done === 1
          return before.apply(this, args)
        }
      })
      const lines =
        step === 'orderAsRead'
          ? [
              ...Array(1_500).fill({ resourceType: 'Patient' }),
              { resourceType: 'Observation', subject: { reference: 'Patient/nobody' } }
            ]
          : outOfOrder
      const scene = await startScene(t, () => isFull, { lines, dryRun: true })
      await t.rejects(scene.run(), isWaiting)
      t.equal(done, 1)
      isFull = false
      t.equal(await scene.run(), 'ended')
      t.ok(scene.readResults().every(({ status }, at) => status === 'valid' || lines[at] !== observation))
    }
  )
}

t.test('an import that runs out of disk space while it writes stops at its next progress report', async t => {
  let isFull = false
  const scene = await startScene(t, () => isFull, {
    lines: [{ resourceType: 'Patient' }, { resourceType: 'Patient' }],
    reading: async function * (chunks) {
      yield * chunks
      isFull = true
      // Longer than until the next progress report, however busy the machine is.
      for (let waited = 0; waited < 50; waited++) await pause(100)
    }
  })
  await t.rejects(scene.run(), isWaiting)
})

// The monthly quota of failed lines was never given back when they were read and their results not noted: each further
// try of an import that lacked disk space took it again, until the organization's requests were refused.

t.test('an import that is left before its failed lines are noted takes nothing of the monthly quota', async t => {
  const sandbox = await startTestSandbox(t)
  let isFull = true
  const lines = Array(1_500).fill({ resourceType: 'Patient', id: 7 })
  const scene = await startNativeScene(t, {
    fhirUrl: sandbox.url,
    isUsual: true,
    lines,
    requireRoom: async () => {
      if (isFull) throw diskFull(undefined)
    }
  })
  await t.rejects(scene.run(), { code: 'BACKEND_UNAVAILABLE' })
  t.equal(scene.held(), 0)
  isFull = false
  t.equal(await scene.run(), 'ended')
  t.equal(scene.held(), 0)
  t.equal(scene.counted.length, lines.length, 'each line counts once')
})

/** Writes to a database, and the reports on them: whether they reached the disk. */
function startWrites () {
  const db = new Database(':memory:')
  db.pragma('foreign_keys = ON')
  db.exec(
    'CREATE TABLE lines (line INTEGER PRIMARY KEY); CREATE TABLE links (line INTEGER REFERENCES lines (line) DEFERRABLE INITIALLY DEFERRED)'
  )
  t.after(() => db.close())
  const writes = new WriteBuffer(db)
  const reported: boolean[] = []
  const change = (sql: string): void => {
    writes.change(1, () => db.exec(sql))
    writes.onCommit(isWritten => reported.push(isWritten))
  }
  return { writes, change, reported }
}

t.test('changes that did not reach the disk are reported as such, once', async t => {
  const { writes, change, reported } = startWrites()
  change('INSERT INTO links VALUES (1)')
  t.throws(() => writes.commit(), /FOREIGN KEY/)
  t.strictSame(reported, [], 'it can still come on the disk')
  writes.end()
  writes.end()
  t.strictSame(reported, [false])
})

t.test('changes that the database rolled back by itself are not reported as written with later ones', async t => {
  const { writes, change, reported } = startWrites()
  change('INSERT INTO lines VALUES (1)')
  t.throws(() => change('INSERT OR ROLLBACK INTO lines VALUES (1)'), /UNIQUE/)
  change('INSERT INTO lines VALUES (2)')
  writes.commit()
  t.strictSame(reported, [false, true])
})

const lines = [...Array(1_000).keys()].map(at => ({
  resourceType: 'Patient',
  id: `p${at}`,
  name: [{ family: `N${at}` }]
}))

// Since lines are written while others are read, the check for a missing line ran next to the writing, and so too late.
t.test('an import that is resumed with an index that lacks a line writes nothing more', async t => {
  const sandbox = await startTestSandbox(t)
  const scene = await startNativeScene(t, { fhirUrl: sandbox.url, lines, isUsual: true })
  t.equal(await scene.run(4), 'broken off')
  const db = new Database(scene.files.path(indexFile))
  db.prepare('DELETE FROM lines WHERE line = 400').run()
  db.close()
  const before = scene.written()
  await t.rejects(scene.run(), {
    code: 'INTERNAL_ERROR',
    message: /^Something other than the gateway changed or truncated a file/
  })
  t.equal(scene.written(), before)
})

const mebibyte = 1024 * 1024

// Lines were put into the index two hundred at a time however long they were, and everything derived from them was in
// memory until then.
t.test('an import of long lines holds no more of them than go into one transaction', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const line = {
    resourceType: 'Patient',
    contact: Array.from({ length: 22_000 }, (_, at) => ({ name: { text: `Contact ${at}` } }))
  }
  let maxHeld = 0
  async function * measureHeld (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    collect()
    const before = process.memoryUsage().heapUsed
    let read = 0
    for await (const chunk of chunks) {
      yield chunk
      read += chunk.length
      if (read < mebibyte) continue
      read = 0
      collect()
      maxHeld = Math.max(maxHeld, process.memoryUsage().heapUsed - before)
    }
  }
  const sandbox = await startTestSandbox(t)
  const scene = await startNativeScene(t, {
    fhirUrl: sandbox.url,
    lines: Array(30).fill(line),
    isUsual: true,
    reading: measureHeld
  })
  t.equal(await scene.run(), 'ended')
  t.ok(scene.readResults().every(({ status }) => status === 'created'))
  t.ok(maxHeld > mebibyte, 'the measure sees what is held')
  t.ok(maxHeld < 40 * mebibyte, `held ${Math.round(maxHeld / mebibyte)} MiB`)
})

// SQLite prepared it again for each line, and the driver compiled a function each time.
t.test('the query for what a line refers to is prepared once, not for each line', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const index = new IndexFile(join(directory, indexFile))
  t.after(() => index.close())
  const ids = Array.from({ length: 20 }, (_, at) => String(at).padStart(32, '0'))
  index.add(ids.map((identity, at) => ({
    line: at + 1, at: at * 100, bytes: 100, type: 'Observation', identity, refersTo: at === 0 ? [] : [ids[0]!]
  })), new Map(), () => Buffer.alloc(0))
  const compile = globalThis.Function
  let compiled = 0
  globalThis.Function = new Proxy(compile, {
    apply: (target, self, given) => { compiled++; return Reflect.apply(target, self, given) }
  })
  t.after(() => { globalThis.Function = compile })
  const referred = ids.map((_, at) => index.referred(at + 1).map(({ line }) => line))
  t.same(referred, ids.map((_, at) => at === 0 ? [] : [1]))
  t.same(index.findReadyLines({ after: 0, maxBytes: 1_000, maxLines: 20 }).lines.map(({ line }) => line), [1])
  t.ok(compiled > 0 && compiled <= 4, `${compiled} functions were compiled for the rows of the queries`)
})
