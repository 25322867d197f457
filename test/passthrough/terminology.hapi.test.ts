import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testTerminology, testTerminologyRejections } from './terminology-contract.js'
import { openWorld } from './fixture.js'

t.setTimeout(900_000)
await t.test('terminology operations on the real FHIR server', async t => {
  t.setTimeout(600_000)
  const world = await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })
  await testTerminology(t, world)
  await t.test("what names no canonical, or a resource of the client's, is refused", t => testTerminologyRejections(t, world))
})
