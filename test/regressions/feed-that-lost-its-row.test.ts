import { join } from 'node:path'
import t from 'tap'
import { openSqlite } from '../../src/control-plane/store/database/sqlite.js'
import { until } from '../harness/until.js'

// A database that could not say what changed last was taken for one in which nothing changes, and nobody looked why.
t.test('while the control database can\'t say what changed last, listeners are told to look', async t => {
  const { db, changes } = await openSqlite(join(t.testdir(), 'control.db'))
  await db.deleteFrom('feed').execute()
  let told = 0
  changes.start(() => { told++ })
  await until(() => told >= 3)
  await changes.close()
  await db.destroy()
  t.pass('again and again')
})
