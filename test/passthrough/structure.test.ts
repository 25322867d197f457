import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { structureContract } from './structure-contract.js'
import { openWorld } from './fixture.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startTestSandbox(t)
  await structureContract(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
