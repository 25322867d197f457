import { test } from 'tap'
import { countTests as count, findFailures } from './counts.js'

function countTests (tap: string) {
  const { failures, ...counts } = count(tap)
  return counts
}

const point = (line: string, depth = 1) => ' '.repeat(4 * depth) + line

/** TAP of one file, as tap writes it. */
function buildTap (ok: boolean, ...lines: string[]) {
  return [
    'TAP version 14',
    '1..1',
    '# Subtest: test/a.test.ts',
    ...lines,
    `${ok ? '' : 'not '}ok 1 - test/a.test.ts # time=3ms`
  ].join('\n')
}

function buildTitledTest (title: string, outcome = 'ok', depth = 1) {
  return [
    point(`# Subtest: ${title}`, depth),
    point(`${outcome} 1 - should be equal`, depth + 1),
    point(`${outcome} 1 - ${title} # time=1ms`, depth)
  ]
}

test('each titled test counts once, however many assertions it makes and however deep it stands', async t => {
  const many = [
    point('# Subtest: many'),
    point('ok 1 - a', 2),
    point('ok 2 - b', 2),
    point('1..2', 2),
    point('ok 1 - many')
  ]
  const group = [
    point('# Subtest: group'),
    ...buildTitledTest('inner', 'ok', 2),
    ...buildTitledTest('other', 'ok', 2),
    point('ok 2 - group')
  ]
  t.same(countTests(buildTap(true, ...many, ...group)), { passed: 3, failed: 0, skipped: 0 })
})

test('a file that only asserts, without a titled test, counts as one test', async t => {
  t.same(countTests(buildTap(true, point('ok 1 - a'), point('ok 2 - b'), point('1..2'))), {
    passed: 1,
    failed: 0,
    skipped: 0
  })
})

test('a failed test counts once and not again for the groups around it', async t => {
  t.same(countTests(buildTap(false, ...buildTitledTest('good'), ...buildTitledTest('bad', 'not ok'))), { passed: 1, failed: 1, skipped: 0 })
})

test('a failed test is named by its file, the groups around it and its title', async t => {
  const inner = [
    point('# Subtest: group'),
    ...buildTitledTest('good', 'ok', 2),
    ...buildTitledTest('bad', 'not ok', 2),
    point('not ok 1 - group')
  ]
  t.same(count(buildTap(false, ...inner)).failures, ['test/a.test.ts > group > bad'])
  t.same(count(buildTap(false, ...buildTitledTest('good'))).failures, ['test/a.test.ts'])
})

test('a file that dies after its tests passed, or before the first one, is a failure', async t => {
  t.same(countTests(buildTap(false, ...buildTitledTest('good'))), { passed: 1, failed: 1, skipped: 0 })
  t.same(countTests(buildTap(false, point('1..0 # no tests found'))), { passed: 0, failed: 1, skipped: 0 })
})

test('what was skipped or postponed never counts as passed', async t => {
  const skipped = ['ok 1 - later # SKIP why', 'ok 2 - some day # TODO'].map(line => point(line))
  t.same(countTests(buildTap(true, ...skipped)), { passed: 0, failed: 0, skipped: 2 })
  t.same(countTests('TAP version 14\nok 1 - test/empty.test.ts # SKIP no tests found'), {
    passed: 0,
    failed: 0,
    skipped: 1
  })
})

test('a diagnostic that quotes TAP is not counted', async t => {
  const quoted = [
    point('  ---'),
    point('  source: |'),
    point('    not ok 1 - quoted'),
    point('not ok 2 - quoted'),
    point('  ...')
  ]
  t.same(countTests(buildTap(false, ...buildTitledTest('bad', 'not ok'), ...quoted)), { passed: 0, failed: 1, skipped: 0 })
})

test('the message of a failed assertion is reported at any depth, and nothing of those that passed', async t => {
  const failed = [
    point('# Subtest: bad'),
    point('ok 1 - a', 2),
    point('not ok 2 - it was there', 2),
    point('  ---', 2),
    point('  found: 1', 2),
    point('  ...', 2),
    point('not ok 1 - bad')
  ]
  t.same(findFailures(buildTap(false, ...failed, ...buildTitledTest('good'))), [
    [point('not ok 2 - it was there', 2), point('  ---', 2), point('  found: 1', 2), point('  ...', 2)].join('\n')
  ])
  t.same(
    findFailures(
      buildTap(
        true,
        point('ok 1 - a'),
        point('  ---'),
        point('  source: |'),
        point('    not ok 1 - quoted'),
        point('  ...')
      )
    ),
    []
  )
})
