import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { exportContract } from './export-contract.js'
import { openExportWorld } from './exporting.js'

t.setTimeout(240_000)
await t.test('on the sandbox', async t => {
  t.setTimeout(240_000)
  const sandbox = await startTestSandbox(t)
  await exportContract(t, await openExportWorld(t, { url: sandbox.url, server: 'sandbox' }))
})
