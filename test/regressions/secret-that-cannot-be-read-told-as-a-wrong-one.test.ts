import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cursorSecret } from '../../src/config/cursor-secret.js'
import { loadConfig } from '../../src/config/load.js'

// Whoever believed it deleted a good secret for the sake of a file's rights.
t.test('a start that can\'t read the secret of the cursors says so, and not that the secret is wrong', async t => {
  const directory = t.testdir()
  const file = join(directory, 'cursor.secret')
  // What no user can read, root neither.
  symlinkSync(file, file)
  t.throws(() => cursorSecret(loadConfig({ CLINIGATE_DATA: directory })), { code: 'ELOOP' })
})
