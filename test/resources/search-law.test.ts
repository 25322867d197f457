import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testSearchLaw } from './search-law-contract.js'

t.setTimeout(900_000)
await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testSearchLaw(t, sandbox.url)
})
