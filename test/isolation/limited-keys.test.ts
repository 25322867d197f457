import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { attackByLimitedKeys } from './limited-keys.js'

t.setTimeout(300_000)
t.test('a key with limits sees, counts and changes nothing else, whatever it sends', async t => {
  t.setTimeout(300_000)
  const { url } = await startTestSandbox(t)
  await attackByLimitedKeys(t, { url, server: 'sandbox' }, 5)
})
