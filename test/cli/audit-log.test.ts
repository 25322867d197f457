import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from './command.js'

const hash = 'a'.repeat(64)

// It alarmed with "shortened" and the exit code of a log that was tampered with.
t.test(
  'a malformed known line is a usage error, not a line that is missing from the log',
  async t => {
    const file = join(t.testdir(), 'access.log')
    writeFileSync(file, '')
    for (const known of [
      'nonsense',
      '41893',
      `1:${hash.slice(1)}`,
      `1:${hash} `,
      `:${hash}`,
      `1:${hash.toUpperCase()}`
    ]) {
      t.match(
        await runCommand({}, 'audit-log', 'verify', file, '--known', known),
        { code: 2, out: '', err: /a line number, a colon and a hash of 64 characters/ },
        known
      )
    }
    t.match(await runCommand({}, 'audit-log', 'verify', file, '--known', `1:${hash}`), {
      code: 1,
      out: /"status":"shortened"/
    })
  }
)

t.test('a directory as the log file is reported with a message', async t => {
  t.match(await runCommand({}, 'audit-log', 'verify', t.testdir()), {
    code: 1,
    out: '',
    err: 'clinigate: it is a directory; use the path of the file, as in auditLog.file\n'
  })
})
