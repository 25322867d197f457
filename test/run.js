/**
 * `npm test [-- files]`: every test, with a real FHIR server for those named `*.hapi.test.ts`.
 * `--fast` leaves out those, `*.sekmet.test.ts`, `*.postgres.test.ts`, `*.redis.test.ts`, `*.browser.test.ts` and
 * `*.fuzz.test.ts`.
 * `--also 22` runs fast tests once more on Node 22, which npm fetches: all of them after `--fast`, otherwise those of
 * the folders that depend most on Node and its SQLite driver. It may be repeated. The last line counts all runs: `N
 * passed, N failed`, after what failed assertions say and the names of the tests that failed. What the FHIR server
 * itself says goes to test/hapi/target/hapi.log.
 */
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { countTests, findFailures } from './harness/counts.js'
import { findBackend } from './harness/find-backend.js'
import { makeMemoryFolder } from './harness/memory-folder.js'
import { installNode } from './harness/other-node.js'
import { installPython } from './harness/python.js'

const root = join(import.meta.dirname, '..')
const {
  values: { fast, also },
  positionals
} = parseArgs({
  options: { fast: { type: 'boolean', default: false }, also: { type: 'string', multiple: true, default: [] } },
  allowPositionals: true
})
const needsMore = /\.(hapi|sekmet|postgres|redis|browser|fuzz)\.test\.ts$/
const dependsOnNode = /^test\/(backends|bootstrap|client|control-store|envelope|idempotency|keys|limits|sandbox)\/|^test\/http\/connection-draining\./

const stopping = new AbortController()
for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => stopping.abort(name))

const files = chooseFiles()
// What test/harness/built.ts builds once for all runs; below the root, where the packages are found.
mkdirSync(join(root, '.tap'), { recursive: true })
const built = mkdtempSync(join(root, '.tap', 'built-'))
const counts = { passed: 0, failed: 0, skipped: 0, failures: [] }
const problems = []
try {
  process.exitCode = await runAll()
  for (const version of also) {
    if (stopping.signal.aborted) break
    const again = files.filter(
      file => !needsMore.test(file) && (fast || positionals.length > 0 || dependsOnNode.test(file))
    )
    const code = await runTap({ node: await installNode(version), files: again })
    process.exitCode ||= code
  }
} catch (error) {
  console.error(`The tests did not run: ${error.message}`)
  process.exitCode = 1
} finally {
  rmSync(built, { recursive: true, force: true })
}
if (stopping.signal.aborted) process.exitCode = 128 + constants.signals[stopping.signal.reason]
for (const problem of problems) console.log(problem)
for (const failure of counts.failures) console.log(`Failed: ${failure}`)
console.log(`\n${formatTotals()}`)

async function runAll () {
  if (files.length === 0) throw new Error('no test file was chosen')
  const missing = files.filter(file => !existsSync(resolve(root, file)))
  if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')}`)
  // Once, before two test files do it at a time.
  if (files.some(file => /\.fuzz\.|fhirpy|generated-python|webhooks\/receivers/.test(file))) await installPython({ log: console.log })
  if (files.some(file => file.includes('test/servers/'))) {
    await installPython({ log: console.log, environment: 'sekmet' })
  }
  if (!files.some(file => file.endsWith('.hapi.test.ts'))) return runTap({ files })
  const backend = await findBackend({ given: process.env.FHIR_TEST_URL, log: console.log, signal: stopping.signal })
  console.log(`Backend: ${backend.name}`)
  try {
    return await runTap({ backend, files })
  } finally {
    await backend.stop()
  }
}

function chooseFiles () {
  const listAll = () => readdirSync(import.meta.dirname, { recursive: true })
    .filter(file => file.endsWith('.test.ts'))
    .map(file => relative(root, join(import.meta.dirname, file)))
    .sort()
  const chosen = positionals.length > 0 ? positionals : listAll()
  return fast ? chosen.filter(file => !needsMore.test(file)) : chosen
}

/** Runs the files and adds up what is written down. @returns the exit code; a run without any test is a failure */
async function runTap ({ backend, files, node = process.execPath }) {
  console.log(`Running ${files.length} test files on ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`)
  const folder = mkdtempSync(join(tmpdir(), 'clinigate-test-'))
  const output = join(folder, 'run.tap')
  // A directory for temporary files that the environment names is used.
  const memory = process.env.TMPDIR === undefined ? makeMemoryFolder() : undefined
  try {
    const code = await runFiles(
      { output, files, node },
      { ...testEnvironment(backend), TEST_BUILT: built, ...(memory && { TMPDIR: memory }) }
    )
    const text = readFileSync(output, 'utf8')
    const counted = countTests(text)
    for (const key of ['passed', 'failed', 'skipped']) counts[key] += counted[key]
    counts.failures.push(...counted.failures.map(name => node === process.execPath ? name : `${name} (${node})`))
    problems.push(...findFailures(text))
    if (counted.passed + counted.failed === 0) throw new Error('no file holds a test')
    return code === 0 && counted.failed > 0 ? 1 : code
  } finally {
    for (const made of [folder, ...memory ? [memory] : []]) rmSync(made, { recursive: true, force: true })
  }
}

/** The gateway reads FHIR_TEST_URL and FHIR_LIVE_URL as its configuration; a test gives it its own. */
function testEnvironment (backend) {
  const { FHIR_TEST_URL, FHIR_LIVE_URL, TEST_FHIR_URL, TEST_FHIR_NAME, ...environment } = process.env
  return backend ? { ...environment, TEST_FHIR_URL: backend.url, TEST_FHIR_NAME: backend.name } : environment
}

function runFiles ({ output, files, node }, env) {
  const file = openSync(output, 'w')
  // A process group of its own, since tap passes no signal on to the test files.
  const child = spawn(node, [join(root, 'test', 'harness', 'run-files.js'), ...files], {
    cwd: root, stdio: ['ignore', file, 'inherit'], env, detached: true
  })
  closeSync(file)
  const passOn = () => process.kill(-child.pid, stopping.signal.reason)
  stopping.signal.addEventListener('abort', passOn)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => {
      stopping.signal.removeEventListener('abort', passOn)
      resolve(code ?? 1)
    })
  })
}

function formatTotals () {
  const { passed, failed, skipped } = counts
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
