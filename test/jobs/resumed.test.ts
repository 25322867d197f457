import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testResumedExports } from './resumed-contract.js'

t.setTimeout(240_000)
await t.test('on the sandbox', { timeout: 240_000 }, async t => {
  const sandbox = await startTestSandbox(t)
  await testResumedExports(t, sandbox.url)
})
