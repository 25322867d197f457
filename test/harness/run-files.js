/**
 * `node run-files.js FILES...`: runs each test file in a process of its own, as many at a time as TEST_FILES_AT_ONCE
 * says, and where that is more than one, one more next to them: first those that mostly wait. It writes TAP to the
 * standard output and the name of each finished file to the standard error. It does what the command `tap` does, by
 * tap's own means, but for what that loads into each process, and into each that this one starts: coverage and mocks of
 * modules. No test uses either, and a run of all tests starts a thousand processes and threads.
 */
import { join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { orderFiles } from './order.js'

const root = join(import.meta.dirname, '..', '..')
const filesAtOnce = Number(process.env.TEST_FILES_AT_ONCE ?? 2)
/** For a file that doesn't say how long it may take. */
const limitSeconds = Number(process.env.TEST_FILE_SECONDS ?? 600)

const options = [`--import=${pathToFileURL(join(import.meta.dirname, 'typescript.js'))}`, '--enable-source-maps']
const environment = [
  // In place of the options for Node.js that tap would set.
  `NODE_OPTIONS=${process.env.NODE_OPTIONS ?? ''}`,
  `TAP_TIMEOUT=${limitSeconds}`,
  // For the gateways and commands that tests start, which load what all others did.
  `NODE_COMPILE_CACHE=${process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules', '.cache', 'compiled')}`
]

const files = process.argv.slice(2).map(file => relative(root, resolve(root, file)))
const { busy, waiting } = orderFiles(files)
t.jobs = filesAtOnce + 1
// The whole run has no limit.
t.setTimeout(0)
t.plan(files.length)
t.on('subtestEnd', ({ name, time, results }) =>
  console.error(`${results?.ok ? 'passed' : 'FAILED'} ${name} (${Math.ceil(time / 1000)} s)`)
)
await Promise.all([
  ...Array.from({ length: filesAtOnce }, () => run(busy).then(() => run(waiting))),
  ...filesAtOnce > 1 ? [run(waiting).then(() => run(busy))] : []
])

/** Runs one file after the other until none is left. */
async function run (left) {
  for (let name; (name = left.shift()) !== undefined;) {
    await t.spawn('env', [...environment, process.execPath, ...options, name], {
      name,
      cwd: root,
      buffered: true,
      timeout: limitSeconds * 1000,
      at: null,
      stack: ''
    })
  }
}
