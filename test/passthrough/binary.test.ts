import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testBinary } from './binary-contract.js'
import { openWorld } from './fixture.js'

await t.test('content on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testBinary(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }), sandbox.url)
})
