import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testConditionals } from './conditionals-contract.js'
import { openWorld } from './fixture.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testConditionals(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
