import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { binaryContract } from './binary-contract.js'
import { openWorld } from './world.js'

await t.test('content on the sandbox', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  await binaryContract(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }), sandbox.url)
})
