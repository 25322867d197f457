import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { isRefused, patchType, patient, sender } from '../passthrough/fixture.js'

// Any JSON type was read for any method, so a FHIRPath Patch was told that it is no list, and a patch could be sent to
// create.
t.test('a PATCH takes a JSON Patch by its media type, and nothing else does', async t => {
  const gateway = await startGateway(t)
  const send = sender(gateway, (await gateway.createKey()).secret)
  const { id } = (await send('POST', '/Patient', patient())).resource
  isRefused(t, await send('PATCH', `/Patient/${id}`, { resourceType: 'Parameters' }), 415, 'a resource as a patch')
  isRefused(t, await send('POST', '/Patient', patient(), patchType), 415, 'a patch as a resource')
  for (const headers of [patchType, { 'content-type': 'application/json' }]) {
    t.equal((await send('PATCH', `/Patient/${id}`, [{ op: 'add', path: '/active', value: true }], headers)).status, 200)
  }
})
