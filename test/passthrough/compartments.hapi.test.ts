import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testCompartments, testTooManyRecords } from './compartments-contract.js'
import { openWorld } from './fixture.js'

t.setTimeout(900_000)
await t.test('compartments on the real FHIR server', async t => {
  t.setTimeout(600_000)
  const world = await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })
  await testCompartments(t, world)
  await t.test('a compartment of more records than a search can name is refused with what to do', t =>
    testTooManyRecords(t, world)
  )
})
