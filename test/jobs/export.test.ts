import t from 'tap'
import { onEachSandbox } from '../harness/sandbox.js'
import { testExports } from './export-contract.js'
import { openExportWorld } from './exporting.js'

t.setTimeout(240_000)
await onEachSandbox(
  t,
  async (t, url) => testExports(t, await openExportWorld(t, { url, server: 'sandbox' })),
  240_000
)
