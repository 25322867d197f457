import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { storedBundlesContract } from './stored-bundles-contract.js'
import { openWorld } from './world.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  await storedBundlesContract(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
