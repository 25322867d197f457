import t from 'tap'
import { realBackend } from '../harness/backend.js'
import { bundle, entry, isRefused, openWorld, patchType, patient } from '../passthrough/fixture.js'

// HAPI answers with 500 over a version that is no number it can count to, and the gateway made 502 of it.
t.test('a version that the server could never give is just another version', async t => {
  const { send } = await (await openWorld(t, { url: realBackend().url, server: 'hapi' })).fhir()
  const { id } = (await send('POST', '/Patient', patient({ identifier: [{ system: 'urn:version', value: '1' }] })))
    .resource
  for (const version of ['x', '9'.repeat(19), '9'.repeat(64)]) {
    const ifMatch = `W/"${version}"`
    isRefused(t, await send('GET', `/Patient/${id}/_history/${version}`), 404, `vread ${version}`)
    isRefused(
      t,
      await send('PUT', `/Patient/${id}`, patient({ id }), { 'if-match': ifMatch }),
      412,
      `update ${version}`
    )
    isRefused(
      t,
      await send('PUT', '/Patient/no-such', patient(), { 'if-match': ifMatch }),
      404,
      `update of nothing ${version}`
    )
    isRefused(
      t,
      await send('PATCH', `/Patient/${id}`, [{ op: 'remove', path: '/name' }], { ...patchType, 'if-match': ifMatch }),
      412,
      `patch ${version}`
    )
    isRefused(t, await send('DELETE', `/Patient/${id}`, undefined, { 'if-match': ifMatch }), 412, `delete ${version}`)
    for (const url of [`Patient/${id}`, 'Patient?identifier=urn:version%7C1']) {
      isRefused(
        t,
        await send('POST', '', bundle('transaction', entry('PUT', url, patient(), { ifMatch }))),
        412,
        `transaction ${url} ${version}`
      )
    }
  }
})
