import Database from 'better-sqlite3'
import t from 'tap'
import { WriteBuffer } from '../../src/jobs/import/gathered-writes.js'
import { diskFull } from '../../src/jobs/storage/storage-errors.js'
import { startNativeScene } from '../jobs/native-importing.js'
import { startTestSandbox } from '../harness/sandbox.js'

// What failed lines had taken of the month was given back by nobody when they were read and their results never noted:
// each further try of an import that lacked room on the disk took it again, until the organization's requests were
// refused.

t.test('an import that is left before its failed lines are noted takes nothing of the month', async t => {
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

/** Writes to a database, and what was told of them: whether they came on the disk. */
function startWrites () {
  const db = new Database(':memory:')
  db.pragma('foreign_keys = ON')
  db.exec(
    'CREATE TABLE lines (line INTEGER PRIMARY KEY); CREATE TABLE links (line INTEGER REFERENCES lines (line) DEFERRABLE INITIALLY DEFERRED)'
  )
  t.after(() => db.close())
  const writes = new WriteBuffer(db)
  const told: boolean[] = []
  const change = (sql: string): void => {
    writes.change(1, () => db.exec(sql))
    writes.afterwards(isWritten => told.push(isWritten))
  }
  return { writes, change, told }
}

t.test('what the disk did not take is told as that, once', async t => {
  const { writes, change, told } = startWrites()
  change('INSERT INTO links VALUES (1)')
  t.throws(() => writes.commit(), /FOREIGN KEY/)
  t.strictSame(told, [], 'it can still come on the disk')
  writes.end()
  writes.end()
  t.strictSame(told, [false])
})

t.test('what the database took back by itself is not told as written with what comes later', async t => {
  const { writes, change, told } = startWrites()
  change('INSERT INTO lines VALUES (1)')
  t.throws(() => change('INSERT OR ROLLBACK INTO lines VALUES (1)'), /UNIQUE/)
  change('INSERT INTO lines VALUES (2)')
  writes.commit()
  t.strictSame(told, [false, true])
})
