import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { bundle, entry, isRefused, openWorld, patient } from '../passthrough/fixture.js'

// If-Match was passed over where the record was named by criteria, so that a version nobody had seen was deleted.
t.test('a conditional delete of another version than If-Match names is not made', async t => {
  const sandbox = await startTestSandbox(t)
  const { send } = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const { id } = (await send('POST', '/Patient', patient({ identifier: [{ value: '1' }] }))).resource
  const [path, url] = ['/Patient?identifier=1', 'Patient?identifier=1']
  await send('PUT', `/Patient/${id}`, patient({ identifier: [{ value: '1' }], active: true }))
  isRefused(t, await send('DELETE', path, undefined, { 'if-match': 'W/"1"' }), 412, 'alone')
  isRefused(
    t,
    await send('POST', '', bundle('transaction', entry('DELETE', url, undefined, { ifMatch: 'W/"1"' }))),
    412,
    'in a transaction'
  )
  t.match(
    await send('POST', '', bundle('batch', entry('DELETE', url, undefined, { ifMatch: 'W/"1"' }))),
    { resource: { entry: [{ response: { status: /^412/ } }] } },
    'in a batch'
  )
  t.equal((await send('GET', `/Patient/${id}`)).status, 200)
  t.equal((await send('DELETE', path, undefined, { 'if-match': 'W/"2"' })).status, 204)
  isRefused(t, await send('DELETE', path, undefined, { 'if-match': 'W/"2"' }), 412, 'no version is there any more')
  t.equal((await send('DELETE', path)).status, 204, 'without a version that is no failure')
})
