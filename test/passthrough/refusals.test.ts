import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testRejections } from './refusals-contract.js'
import { openWorld } from './fixture.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testRejections(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
