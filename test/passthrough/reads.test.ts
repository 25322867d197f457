import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { testReads } from './reads-contract.js'
import { openWorld } from './fixture.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await testReads(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
