import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { actAtRandom } from './two-tenants.js'

t.test('two tenants acting at random on the sandbox see nothing of each other', async t => {
  const [test, live] = [await startTestSandbox(t), await startTestSandbox(t)]
  await actAtRandom(t, { testUrl: test.url, liveUrl: live.url }, { seconds: 10, seed: 4 })
})
