import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { resumedContract } from './resumed-contract.js'

t.setTimeout(240_000)
await t.test('on the sandbox', { timeout: 240_000 }, async t => {
  const sandbox = await startTestSandbox(t)
  await resumedContract(t, sandbox.url)
})
