import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testReads } from './reads-contract.js'
import { openWorld } from './fixture.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(900_000)
await t.test('on the real FHIR server', async t =>
  testReads(t, await openWorld(t, { url: requireRealBackend().url, server: 'hapi' }))
)
