import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { testResources } from './resources-contract.js'

// The whole file, which the runner would otherwise end after two minutes.
t.setTimeout(900_000)
await t.test('on the real FHIR server', async t => {
  const { url, server, refusedTypes } = requireRealBackend()
  await testResources(t, url, {
    lacksParameters: server !== 'hapi',
    refusedTypes,
    // RESOURCE_GROUPS=patients,claims tests these alone.
    groups: process.env.RESOURCE_GROUPS?.split(',')
  })
})
