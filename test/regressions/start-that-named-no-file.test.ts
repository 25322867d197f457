import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { startProcess } from '../../src/bootstrap/process.js'

const start = (environment: Record<string, string>) =>
  startProcess({}, { environment: { PORT: '0', LOG_LEVEL: 'silent', ...environment }, out: () => {} })

// "file is not a database" could be any of four, of which one may be moved away and another holds all keys and bills.
t.test('a start with a damaged file says which one it is', async t => {
  for (const name of ['control.db', 'idempotency.db', 'sandbox-test.db']) {
    const CLINIGATE_DATA = t.testdir()
    writeFileSync(join(CLINIGATE_DATA, name), 'this is no database, but a text that is long enough for one'.repeat(100))
    await t.rejects(
      start({ CLINIGATE_DATA }),
      { message: new RegExp(`^${name} in the data directory is damaged or not a database; .*Back up`) },
      name
    )
  }
})

t.test('a start on a control database of a newer version says so', async t => {
  const CLINIGATE_DATA = t.testdir()
  const file = join(CLINIGATE_DATA, 'control.db')
  await (await openControlStore({ file, plans: ['pro'], plansWithoutOverage: [], now: () => new Date() })).close()
  const database = new Database(file)
  database.exec('INSERT INTO kysely_migration VALUES (\'099-what-comes\', \'2030-01-01T00:00:00.000Z\')')
  database.close()
  await t.rejects(start({ CLINIGATE_DATA }), { message: /^a newer version of clinigate .* restore the backup/ })
})

t.test('a start that meets a file for a directory, or an address that is not there, says what to change', async t => {
  const directory = t.testdir({ file: 'x' })
  await t.rejects(start({ CLINIGATE_DATA: join(directory, 'file') }), {
    message: /file must be a directory, .*CLINIGATE_DATA$/
  })
  await t.rejects(start({ CLINIGATE_DATA: join(directory, 'data'), HOST: '203.0.113.1' }), {
    message: /address.* HOST$/
  })
})
