import t from 'tap'
import { importer } from '../jobs/importing.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { bundle, entry, openWorld, patient } from '../passthrough/fixture.js'

// HAPI takes it: all that `_elements` or `_summary` had left out was deleted, and the record kept the tag for good.
t.test('what was read by _elements or _summary can\'t be stored as the whole record', async t => {
  const sandbox = await startTestSandbox(t)
  const { send } = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const {
    resource: { id }
  } = await send(
    'POST',
    '/Patient',
    patient({ active: true, birthDate: '1990-03-14', identifier: [{ system: 'urn:x', value: '1' }] })
  )
  const { resource: part } = await send('GET', `/Patient/${id}?_elements=active`)
  const refused = { resource: { issue: [{ diagnostics: /SUBSETTED.* Read the whole record/ }] } }

  t.match(await send('PUT', `/Patient/${id}`, part), { status: 422, ...refused })
  t.match(await send('PUT', '/Patient?identifier=urn:x|1', part), { status: 422, ...refused })
  t.match(await send('POST', '/Patient', part), { status: 422, ...refused })
  t.match(await send('POST', '', bundle('transaction', entry('PUT', `Patient/${id}`, part))), {
    status: 422,
    ...refused
  })
  t.match(await send('POST', '', bundle('batch', entry('PUT', `Patient/${id}`, part))), {
    resource: { entry: [{ response: { status: /^422/ } }] }
  })
  t.match(await send('GET', `/Patient/${id}`), { resource: { meta: { versionId: '1' }, birthDate: '1990-03-14' } })

  t.match(
    await send('PUT', `/Patient/${id}`, { ...part, meta: { tag: [{ code: 'SUBSETTED' }, null] } }),
    { status: 422 },
    'a tag that is none is refused as before'
  )
  t.match(await send('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active: false }), { status: 200 })
})

t.test('nor by a line of an import, such as an export with _elements gives', async t => {
  const gateway = await startGateway(t)
  const client = importer(gateway, (await gateway.createKey()).secret)
  const tag = [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }]
  const { results } = await client.run([
    { resourceType: 'Patient', id: 'a', active: true, meta: { tag } },
    { resourceType: 'Patient', id: 'b', active: true }
  ])
  t.match(results, [
    { status: 'failed', code: 'VALIDATION_ERROR', field: 'meta.tag', message: /SUBSETTED/ },
    { status: 'created' }
  ])
})
