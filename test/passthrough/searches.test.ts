import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { searchesContract } from './searches-contract.js'
import { openWorld } from './world.js'

await t.test('on the sandbox', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  await searchesContract(t, await openWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
