import t from 'tap'
import { parseStrict } from '../../src/json/json.js'

// A document of some megabytes in one text overflowed the stack of a regular expression.
t.test('a body with one long text is read', async t => {
  const data = 'QUJD'.repeat(4 * 1024 * 1024)
  const body = new TextEncoder().encode(`{"resourceType":"Binary","size":1.10,"data":"${data}"}`)
  const read = parseStrict(body) as { data: string }
  t.equal(read.data.length, data.length)
})
