import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testBackendCalls } from './calls-contract.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testBackendCalls(t, { url: sandbox.url, server: 'sandbox' })
})
