import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findFailedAssertions } from './failed-assertions.js'
import { formatServers } from './servers.js'

t.test('the documentation describes how each server differs, and what the gateway does about it', async t => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'how-to', 'datastores.md'), 'utf8')
  t.ok(page.includes(formatServers()), formatServers())
})

t.test('each failed assertion of a run is found once with its titles, and text in diagnostics is none', async t => {
  const tap = [
    '# Subtest: test/a.test.ts',
    '    # Subtest: a guarantee',
    '        ok 1 - it holds',
    '        not ok 2 - it does not # time=3ms',
    '          ---',
    '          not ok 3 - quoted',
    '          ...',
    '    not ok 1 - a guarantee # time=4ms',
    '    # Subtest: another one, which died',
    '    not ok 2 - another one, which died # time=4ms',
    'not ok 1 - test/a.test.ts # time=5ms'
  ].join('\n')
  t.strictSame(findFailedAssertions(tap).map(({ path, title }) => `${path} > ${title}`), [
    'test/a.test.ts > a guarantee > it does not',
    'test/a.test.ts > another one, which died'
  ])
})
