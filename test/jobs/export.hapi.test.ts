import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testExports } from './export-contract.js'
import { openExportWorld } from './exporting.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(600_000)
await t.test('on the real FHIR server', async t => {
  t.setTimeout(600_000)
  await testExports(t, await openExportWorld(t, { url: requireRealBackend().url, server: 'hapi' }))
})
