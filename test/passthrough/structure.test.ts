import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testStructure } from './structure-contract.js'
import { openWorld } from './fixture.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testStructure(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
