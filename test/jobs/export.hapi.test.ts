import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { exportContract } from './export-contract.js'
import { openExportWorld } from './exporting.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(600_000)
await t.test('on the real FHIR server', async t => {
  t.setTimeout(600_000)
  await exportContract(t, await openExportWorld(t, { url: realBackend().url, server: 'hapi' }))
})
