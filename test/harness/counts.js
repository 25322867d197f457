/** Counts the tests of a run from its TAP, https://testanything.org/tap-version-14-specification.html */

const subtest = /^(?<indent>(?: {4})*)# Subtest: (?<title>.*)/
const point = /^(?<indent>(?: {4})*)(?<not>not )?ok \d+(?:.*? # (?<directive>SKIP|TODO)\b)?/

/**
 * How many tests passed, failed and were skipped, and the failed ones by name: the titles from the file inwards.
 * A test is what has a title: a subtest without subtests of its own.
 * A group or file that failed though each test in it passed counts as one failure: it died, or ran against its plan.
 * @param {string} tap
 * @returns {{ passed: number, failed: number, skipped: number, failures: string[] }}
 */
export function countTests (tap) {
  const counts = { passed: 0, failed: 0, skipped: 0, failures: [] }
  const open = [group('', '')]
  for (const line of withoutDiagnostics(tap)) {
    const begun = subtest.exec(line)
    if (begun) open.push(group(begun.groups.indent, begun.groups.title))
    const ended = point.exec(line)
    if (!ended) continue
    const { indent, not, directive } = ended.groups
    const outcome = directive ? 'skipped' : not ? 'failed' : 'passed'
    const testGroup = open.length > 1 && open.at(-1).indent === indent ? open.pop() : undefined
    const around = open.at(-1)
    if (testGroup) around.tests++
    else around[outcome === 'skipped' ? 'skips' : 'assertions']++
    if (!isTest(testGroup, outcome)) continue
    counts[outcome]++
    if (outcome !== 'failed') continue
    counts.failures.push([...open, testGroup].slice(1).map(({ title }) => title).join(' > '))
    for (const outer of open) outer.failures++
  }
  return counts
}

const maxFailures = 20
const maxFailureLines = 25

/**
 * What failed assertions, and files, say of themselves, in the order of the run: each with its diagnostic, the first
 * lines of it.
 * @param {string} tap
 * @returns {string[]}
 */
export function findFailures (tap) {
  const failures = []
  let failure
  let last = ''
  for (const line of tap.split('\n')) {
    if (failure !== undefined) {
      failure.push(line)
      if (line === last.replace(/\S.*/, '  ...')) failure = undefined
    } else if (line === last.replace(/\S.*/, '  ---') && isFailure(last)) failures.push(failure = [last, line])
    last = failure === undefined ? line : last
  }
  return failures.slice(0, maxFailures).map(lines => lines.slice(0, maxFailureLines).join('\n'))
}

/** A subtest fails because of a failure in it, which says more. */
function isFailure (line) {
  const { not, indent } = point.exec(line)?.groups ?? {}
  return not !== undefined && (indent === '' || !line.includes(' # time='))
}

function group (indent, title) {
  return { indent, title, tests: 0, assertions: 0, skips: 0, failures: 0 }
}

/** An assertion is no test, unless it stands for a skipped one. */
function isTest (testGroup, outcome) {
  if (!testGroup) return outcome === 'skipped'
  if (outcome === 'failed') return testGroup.failures === 0
  return testGroup.tests === 0 && (testGroup.skips === 0 || testGroup.assertions > 0)
}

/** Diagnostics quote sources, which may look like TAP. */
function * withoutDiagnostics (tap) {
  let end
  for (const line of tap.split('\n')) {
    if (end === undefined && /^ *---$/.test(line)) end = line.replace('---', '...')
    else if (line === end) end = undefined
    else if (end === undefined) yield line
  }
}
