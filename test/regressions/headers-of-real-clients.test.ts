import t from 'tap'
import { startGateway } from '../harness/gateway.js'
import { isRefused, patient, sender } from '../passthrough/fixture.js'

// fhirpy refreshes a record with the version without quotes, and HAPI's client sends a tag twice where it is also given
// by hand: both got 400.
t.test('a version is understood as clients send it', async t => {
  const gateway = await startGateway(t)
  const send = sender(gateway, (await gateway.createKey()).secret)
  const { id } = (await send('POST', '/Patient', patient())).resource
  t.equal((await send('GET', `/Patient/${id}`, undefined, { 'if-none-match': '1' })).status, 304)
  t.equal((await send('GET', `/Patient/${id}`, undefined, { 'if-none-match': '2' })).status, 200)
  t.match(await send('PUT', `/Patient/${id}`, patient({ id, active: true }), { 'if-match': 'W/"1", W/"1"' }), {
    status: 200,
    headers: { etag: 'W/"2"' }
  })
  isRefused(
    t,
    await send('PUT', `/Patient/${id}`, patient({ id }), { 'if-match': 'W/"1", "1"' }),
    412,
    'an old one, twice'
  )
  isRefused(
    t,
    await send('PUT', `/Patient/${id}`, patient({ id }), { 'if-match': 'W/"1", W/"2"' }),
    400,
    'two versions cannot be demanded of a datastore'
  )
  isRefused(t, await send('PUT', `/Patient/${id}`, patient({ id }), { 'if-match': '2' }), 400, 'a demand must be clear')
})

// HAPI's client had no id of what it updated, since it takes it from there.
t.test('an answer that shows a record says which version of which one it is', async t => {
  const gateway = await startGateway(t)
  const send = sender(gateway, (await gateway.createKey()).secret)
  const created = await send('POST', '/Patient', patient())
  const { id } = created.resource
  t.equal(created.headers['content-location'], created.headers.location)
  const updated = await send('PUT', `/Patient/${id}`, patient({ id, active: true }))
  const read = await send('GET', `/Patient/${id}`)
  for (const { headers } of [updated, read]) {
    t.equal(headers['content-location'], created.headers.location!.replace(/1$/, '2'))
  }
})
