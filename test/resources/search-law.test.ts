import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { searchLawContract } from './search-law-contract.js'

t.setTimeout(900_000)
await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await searchLawContract(t, sandbox.url)
})
