import t from 'tap'
import { clientOf } from '../harness/client.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { bundle, entry, isRefused, openWorld, patchEntry, patient, patchType } from '../passthrough/fixture.js'

// If-None-Match was looked at in reads alone, so that a PUT that was to be made only where nothing is replaced what was
// there.
t.test('a write with a condition that only reads have is refused and not made', async t => {
  const sandbox = await startTestSandbox(t)
  const world = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const fhir = await world.fhir()
  const { id } = (await fhir.send('POST', '/Patient', patient({ identifier: [{ value: '1' }] }))).resource
  const changed = patient({ identifier: [{ value: '1' }], active: false })
  const patch = [{ op: 'add', path: '/active', value: false }]
  const simple = await clientOf(world.gateway, { tenantId: fhir.tenantId })
  const conditions: ReadonlyArray<Readonly<Record<string, string>>> = [
    { 'if-none-match': '*' },
    { 'if-none-match': 'W/"9"' },
    { 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }
  ]
  for (const headers of conditions) {
    isRefused(t, await fhir.send('PUT', `/Patient/${id}`, { ...changed, id }, headers), 400, 'update')
    isRefused(t, await fhir.send('PUT', '/Patient?identifier=1', changed, headers), 400, 'conditional update')
    isRefused(t, await fhir.send('PATCH', `/Patient/${id}`, patch, { ...patchType, ...headers }), 400, 'patch')
    isRefused(t, await fhir.send('DELETE', `/Patient/${id}`, undefined, headers), 400, 'delete')
    isRefused(t, await fhir.send('POST', '/Patient', changed, headers), 400, 'create')
    t.match((await simple.send('PATCH', `patients/${id}`, { active: false }, headers)).body, { code: 'BAD_REQUEST' })
    t.match((await simple.send('DELETE', `patients/${id}`, undefined, headers)).body, { code: 'BAD_REQUEST' })
    t.match((await simple.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' }, headers)).body, {
      code: 'BAD_REQUEST'
    })
  }
  for (const ifNoneMatch of ['*', 'W/"9"']) {
    const writes = [
      entry('PUT', `Patient/${id}`, { ...changed, id }, { ifNoneMatch }),
      entry('DELETE', `Patient/${id}`, undefined, { ifNoneMatch }),
      patchEntry(`Patient/${id}`, patch, { ifNoneMatch }),
      entry('POST', 'Patient', changed, { ifNoneMatch })
    ]
    t.match(
      await fhir.send('POST', '', bundle('batch', ...writes)),
      { resource: { entry: writes.map(() => ({ response: { status: /^400/ } })) } },
      'in a batch'
    )
    for (const write of writes) {
      isRefused(t, await fhir.send('POST', '', bundle('transaction', write)), 400, 'in a transaction')
    }
  }
  t.match((await fhir.send('GET', '/Patient')).resource, {
    total: 1,
    entry: [{ resource: { meta: { versionId: '1' } } }]
  })
  t.match(
    await fhir.send('POST', '', bundle('batch', entry('GET', `Patient/${id}`, undefined, { ifNoneMatch: 'W/"9"' }))),
    { resource: { entry: [{ response: { status: /^200/ } }] } },
    'a read may have it'
  )
})
