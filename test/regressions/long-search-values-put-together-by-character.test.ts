import { runInNewContext } from 'node:vm'
import { setFlagsFromString } from 'node:v8'
import t from 'tap'
import { splitUnescaped } from '../../src/fhir/search-escaping.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const megabytes = () => {
  gc()
  return process.memoryUsage().heapUsed / 2 ** 20
}

// Put together character by character, a value of 16 MiB in a form took half a gigabyte and stopped the gateway for
// four seconds.
t.test('a long value of a search is split without work or memory for each of its characters', async t => {
  const text = Buffer.alloc(8 * 2 ** 20, 'x').toString()
  const before = megabytes()
  const parts = splitUnescaped(text, ',')
  t.ok(megabytes() - before < 20, 'of the 8 MiB of the text itself')
  t.ok(parts.length === 1 && parts[0] === text)
})

t.test('values are split at separators that no backslash precedes', async t => {
  for (const [text, ...parts] of [
    ['', ''],
    [',', '', ''],
    ['a,b', 'a', 'b'],
    ['a\\,b,c', 'a\\,b', 'c'],
    ['a\\\\,b', 'a\\\\', 'b'],
    ['a,b\\', 'a', 'b\\'],
    ['\\,', '\\,'],
    [',\n,\u{1f600},', '', '\n', '\u{1f600}', '']
  ] as Array<[string, ...string[]]>) { t.same(splitUnescaped(text, ','), parts, JSON.stringify(text)) }
})
