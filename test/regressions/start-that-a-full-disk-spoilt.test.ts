import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import t from 'tap'
import { loadConfig } from '../../src/config/load.js'
import { openControlStore } from '../../src/control-plane/store/store.js'
import { firstStart } from '../../src/bootstrap/first-start.js'
import { buildMain } from '../harness/built.js'

const built = dirname(buildMain())

/** Runs a program of Node that can write no file beyond a number of blocks of 512 bytes. */
async function limited (blocks: number, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { PATH = '' } = process.env
  return await promisify(execFile)('sh', ['-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, ...args], {
    env: { PATH, ...env }
  }).then(
    ({ stdout }) => stdout,
    ({ stderr }: { stderr: string }) => stderr
  )
}

// It said "cannot rollback - no transaction is active" or "disk I/O error".
t.test('a start that finds no room for its databases says so', async t => {
  const CLINIGATE_DATA = t.testdir()
  for (const blocks of [0, 16, 64, 128]) {
    t.match(
      await limited(blocks, [join(built, 'main.js')], { CLINIGATE_DATA, PORT: '0', LOG_LEVEL: 'silent' }),
      /^clinigate: the disk .*full.*make room/i,
      `${blocks} blocks`
    )
  }
})

// It left an empty file, with which no later start was possible.
t.test('a secret of the cursors that found no room on the disk is made by the next start', async t => {
  const directory = t.testdir()
  const program = `const { cursorSecret } = await import(${JSON.stringify(join(built, 'config', 'cursor-secret.js'))})
    console.log(cursorSecret({ cursor: {}, dataDirectory: ${JSON.stringify(directory)} }).length)`
  const start = async (blocks: number) => await limited(blocks, ['--input-type=module', '--eval', program])
  t.match(await start(0), 'EFBIG')
  t.strictSame(readdirSync(directory), [])
  t.equal(await start(1_000), '32\n')
  t.strictSame(readdirSync(directory), ['cursor.secret'])
})

// The operator was made first, with a password that nobody ever saw.
t.test(
  'a first start that breaks off before it shows anything leaves nobody out: the next one makes an operator',
  async t => {
    const file = join(t.testdir(), 'control.db')
    const control = await openControlStore({ file, plans: ['pro'], plansWithoutOverage: [], now: () => new Date() })
    t.teardown(() => control.close())
    const database = new Database(file)
    t.teardown(() => database.close())
    const config = loadConfig({})
    database.exec("CREATE TRIGGER no_room BEFORE INSERT ON keys BEGIN SELECT RAISE(ABORT, 'no room'); END")
    await t.rejects(firstStart(control, config), { message: 'no room' })
    database.exec('DROP TRIGGER no_room')
    t.match((await firstStart(control, config)).operator, { email: 'operator@clinigate.local', password: /\S{10}/ })
    t.equal((await firstStart(control, config)).operator, undefined)
  }
)
