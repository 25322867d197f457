import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { compartmentsContract, tooManyContract } from './compartments-contract.js'
import { openWorld } from './fixture.js'

t.setTimeout(900_000)
await t.test('compartments on the real FHIR server', async t => {
  t.setTimeout(600_000)
  const world = await openWorld(t, { url: realBackend().url, server: 'hapi' })
  await compartmentsContract(t, world)
  await t.test('a compartment of more records than can be named is refused with what to do', t =>
    tooManyContract(t, world)
  )
})
