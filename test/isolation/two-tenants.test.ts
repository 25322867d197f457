import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { actAtRandom } from './two-tenants.js'

t.test('two tenants acting at random on the sandbox see nothing of each other', async t => {
  const [test, live] = [await startSandbox({ file: ':memory:', now: () => new Date() }), await startSandbox({ file: ':memory:', now: () => new Date() })]
  t.after(() => Promise.all([test.close(), live.close()]))
  await actAtRandom(t, { testUrl: test.url, liveUrl: live.url }, { seconds: 10, seed: 4 })
})
