import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { requireOpenFiles } from '../../src/bootstrap/open-files.js'
import { buildMain } from '../harness/built.js'

const built = dirname(buildMain())

/** What a program of Node writes to standard error when it may have so many files open. */
async function limited (files: number, args: readonly string[], env: Record<string, string>): Promise<string> {
  const { PATH = '' } = process.env
  return await promisify(execFile)('sh', ['-c', `ulimit -n ${files}; exec "$0" "$@"`, process.execPath, ...args], {
    env: { PATH, ...env },
    timeout: 60_000
  }).then(
    ({ stderr }) => stderr,
    ({ stderr }: { stderr: string }) => stderr
  )
}

// Node said with its stack that a package or a file cannot be found, or that too many files are open.
t.test('a start or a command that may open too few files says so', async t => {
  const env = { CLINIGATE_DATA: t.testdir(), PORT: '1' }
  for (const files of [100, 200, 300]) {
    for (const args of [['main.js'], ['operator/cli/index.js', 'orgs', 'list']]) {
      t.equal(
        await limited(files, [join(built, args[0]!), ...args.slice(1)], env),
        `clinigate: this process may have only ${files} files open, and needs at least 512; raise its limit (ulimit -n, LimitNOFILE)\n`,
        `${args[0]} with ${files}`
      )
    }
  }
})

t.test('a process that may open enough files, or any number, goes on', async t => {
  for (const files of [512, Infinity]) t.doesNotThrow(() => requireOpenFiles(files))
  t.throws(() => requireOpenFiles(511), { message: /only 511 files/ })
})
