import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { countTests } from '../harness/counts.js'
import { findFailedAssertions, type FailedAssertion } from './failed-assertions.js'
import type { KnownServer } from './servers.js'

/** The result of a suite on a server. */
export interface SuiteResult {
  readonly file: string
  /** Tests that passed, and those that failed for whatever reason. */
  readonly passed: number
  readonly failed: number
  /** Failed assertions that a known difference of the server explains, counted by the difference. */
  readonly explained: Readonly<Record<string, number>>
  /** All others: defects of the gateway, or differences that are not known yet. */
  readonly unexplained: readonly FailedAssertion[]
}

const root = join(import.meta.dirname, '..', '..')

/** Runs one test file against a FHIR server, in a process of its own, as `npm test` does against HAPI. */
export async function runSuite (
  file: string,
  { url, name, known }: { readonly url: string, readonly name: string, readonly known: KnownServer }
): Promise<SuiteResult> {
  const child = spawn(process.execPath, [join(root, 'test', 'harness', 'run-files.js'), file], {
    cwd: root,
    env: { ...process.env, TEST_FHIR_URL: url, TEST_FHIR_NAME: known.title, TEST_FHIR_SERVER: name },
    stdio: ['ignore', 'pipe', 'ignore']
  })
  const ended = once(child, 'close')
  const tap = await text(child.stdout)
  await ended
  const { passed, failed } = countTests(tap)
  const assertions = findFailedAssertions(tap)
  if (passed + failed === 0) assertions.push({ path: file, title: 'no test ran', shows: tap.slice(0, 2_000) })
  const explained: Record<string, number> = {}
  const unexplained = assertions.filter(assertion => {
    const difference = known.differences.find(({ explains }) =>
      explains.some(
        one =>
          one.file === file &&
          one.title.test(`${assertion.path} > ${assertion.title}`) &&
          one.shows.test(assertion.shows)
      )
    )
    if (difference === undefined) return true
    explained[difference.server] = (explained[difference.server] ?? 0) + 1
    return false
  })
  return { file, passed, failed, explained, unexplained }
}
