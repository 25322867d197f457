import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { ensureDirectory } from '../../src/files/ensure-directory.js'
import { buildMain } from '../harness/built.js'

const main = buildMain()

// In a process of its own, since Node's way of making directories held it for good.
function start (CLINIGATE_DATA: string, file = main, ...args: string[]) {
  const { PATH = '' } = process.env
  const { status, signal, stderr } = spawnSync(process.execPath, [file, ...args], {
    env: { PATH, CLINIGATE_DATA, PORT: '0', LOG_LEVEL: 'silent' },
    timeout: 60_000,
    killSignal: 'SIGKILL',
    encoding: 'utf8'
  })
  return { status, signal, stderr }
}

t.test('a data directory that cannot be made ends the start at once, and what to do is told', async t => {
  const directory = t.testdir()
  symlinkSync(join(directory, 'nowhere', 'else'), join(directory, 'link'))
  symlinkSync(join(directory, 'loop'), join(directory, 'loop'))
  const places = [
    join(directory, 'link'),
    join(directory, 'loop', 'x'),
    join(directory, 'a'.repeat(300)),
    ...(existsSync('/proc/self') ? ['/proc/x', '/proc/x/y'] : [])
  ]
  for (const place of places) {
    t.match(
      start(place),
      {
        status: 1,
        signal: null,
        stderr: /^clinigate: \/.* (?:must be|cannot be made) a directory.* CLINIGATE_DATA\n$/
      },
      place.slice(0, 100)
    )
  }
  if (existsSync('/proc/self')) {
    t.match(start('/proc/x', join(dirname(main), 'operator', 'cli', 'index.js'), 'orgs', 'list'), {
      status: 1,
      signal: null,
      stderr: /^clinigate: \/proc\/x cannot be made/
    })
  }
})

t.test('a directory is made with those above it, once, and for this user alone', async t => {
  const path = join(t.testdir(), 'a', 'b', 'c')
  ensureDirectory(path)
  ensureDirectory(path)
  for (const made of [path, dirname(path), dirname(dirname(path))]) t.equal(statSync(made).mode & 0o777, 0o700)
  mkdirSync(join(path, 'open'), { mode: 0o755 })
  ensureDirectory(join(path, 'open'))
  t.equal(statSync(join(path, 'open')).mode & 0o077, 0o055, 'and what is there already stays as it is')
})
