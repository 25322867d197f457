import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { probeForeignIds } from './foreign-ids.js'

t.setTimeout(600_000)
t.test('ids of others on the sandbox', async t => {
  const [test, live] = [await startTestSandbox(t), await startTestSandbox(t)]
  await probeForeignIds(t, { testUrl: test.url, liveUrl: live.url })
})
