import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { buildMain } from '../harness/built.js'

const cli = join(dirname(buildMain()), 'operator', 'cli', 'index.js')

// It ended with the stack of an uncaught error and the code by which an audit tells of findings.
t.test('a command whose output finds no room says so, and that what it did is done', async t => {
  const full = openSync('/dev/full', 'w')
  t.teardown(() => closeSync(full))
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [cli, 'tokens', 'create', '--role', 'operator', '--name', 'x'], {
    env: { PATH, CLINIGATE_DATA: t.testdir() },
    stdio: ['ignore', full, 'pipe']
  })
  let err = ''
  child.stderr!.on('data', chunk => { err += chunk })
  t.strictSame(await once(child, 'close'), [2, null])
  t.equal(
    err,
    'clinigate: the output cannot be written (ENOSPC). Changes that the command made stay; revoke a key or token whose secret was not written\n'
  )
})
