import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testBinary } from './binary-contract.js'
import { openWorld } from './fixture.js'

t.setTimeout(900_000)
await t.test('content on the real FHIR server', async t => {
  t.setTimeout(600_000)
  const { url } = requireRealBackend()
  await testBinary(t, await openWorld(t, { url, server: 'hapi' }), url)
})
