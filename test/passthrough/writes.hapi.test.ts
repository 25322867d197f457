import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { writesContract } from './writes-contract.js'
import { openWorld } from './fixture.js'

// The whole file, which the runner would else end after two minutes.
t.setTimeout(900_000)
await t.test('on the real FHIR server', async t =>
  writesContract(t, await openWorld(t, { url: realBackend().url, server: 'hapi' }))
)
