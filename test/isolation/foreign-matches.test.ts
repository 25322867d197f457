import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { unlikeHapi } from '../harness/non-hapi-server.js'
import { compareForeignMatches } from './foreign-matches.js'

t.test('a page that held records of another organization is the same as one that held none', async t =>
  compareForeignMatches(t, (await startTestSandbox(t)).url)
)
t.test('the same on a server unlike HAPI', async t =>
  compareForeignMatches(t, (await startTestSandbox(t, unlikeHapi)).url)
)
