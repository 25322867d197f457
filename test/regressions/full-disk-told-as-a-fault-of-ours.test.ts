import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import t from 'tap'
import { openSqlite } from '../../src/control-plane/store/database/sqlite.js'

// Whoever began a bulk job then was answered with 500.
t.test('a control database without room says to try again, and works again once there is room', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-full-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const { db } = await openSqlite(join(folder, 'control.db'))
  t.teardown(() => db.destroy())
  await sql`CREATE TABLE large (content BLOB)`.execute(db)
  const write = () => db.transaction().execute(trx => sql`INSERT INTO large VALUES (zeroblob(100000))`.execute(trx))
  // SQLite itself raises it to what the file has by now, and fails as on a disk that is full.
  await sql`PRAGMA max_page_count = 1`.execute(db)
  await t.rejects(write(), {
    name: 'DatabaseUnavailable',
    code: 'BACKEND_UNAVAILABLE',
    status: 503,
    headers: { 'retry-after': '5' },
    remedy: /full.*SQLITE_FULL/
  })
  await sql`PRAGMA max_page_count = 1000000`.execute(db)
  await t.resolves(write())
})
