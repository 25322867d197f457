import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { command } from '../cli/command.js'

// It said "file is not a database" or "no such table: waiting", or spoke of the data directory where another file was
// meant.
t.test('a ledger that is missing, no database or another database is told by its name, with what to do', async t => {
  const directory = t.testdir({ 'text.db': 'no database, but long enough to be taken for one'.repeat(50) })
  new Database(join(directory, 'other.db')).exec('CREATE TABLE x (y)').close()
  for (const name of ['missing.db', 'text.db', 'other.db']) {
    const file = join(directory, name)
    const { code, out, err } = await command(
      { CLINIGATE_DATA: directory },
      'usage',
      'recompute',
      '--month',
      '2030-01',
      '--ledger',
      file
    )
    t.strictSame([code, out], [1, ''])
    t.ok(err.startsWith(`clinigate: ${file} cannot be read as a ledger (SQLITE_`), err)
    t.match(err, '--ledger')
  }
  t.match(await command({ CLINIGATE_DATA: directory }, 'usage', 'recompute', '--month', '2030-01'), {
    code: 1,
    err: /usage\.db cannot be read as a ledger .* CLINIGATE_DATA/
  })
})
