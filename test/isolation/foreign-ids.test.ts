import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { probeForeignIds } from './foreign-ids.js'

t.setTimeout(600_000)
t.test('ids of others on the sandbox', async t => {
  const [test, live] = [await startSandbox({ file: ':memory:', now: () => new Date() }), await startSandbox({ file: ':memory:', now: () => new Date() })]
  t.after(() => Promise.all([test.close(), live.close()]))
  await probeForeignIds(t, { testUrl: test.url, liveUrl: live.url })
})
