import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { compareForeignMatches } from './foreign-matches.js'

t.setTimeout(900_000)
await t.test('a page that held records of another organization is the same as one that held none', async t =>
  compareForeignMatches(t, requireRealBackend().url)
)
