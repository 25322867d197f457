import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { callsContract } from './calls-contract.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  await callsContract(t, { url: sandbox.url, server: 'sandbox' })
})
