import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { resourcesContract } from './resources-contract.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(900_000)
await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await resourcesContract(t, sandbox.url)
})
