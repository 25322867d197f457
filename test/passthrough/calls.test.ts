import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { callsContract } from './calls-contract.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await callsContract(t, { url: sandbox.url, server: 'sandbox' })
})
