import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import { bundle, entry, isRefused, openWorld, patchEntry, patchType, patient } from '../passthrough/fixture.js'

// A patch whose test fails was 422 where a record met the criteria and 404 where none did: a search for who may not
// read.
t.test('a key that only writes gets one answer to writes by criteria, whatever is stored', async t => {
  const sandbox = await startTestSandbox(t)
  const { fhir } = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const all = await fhir()
  const writer = await fhir({ tenantId: all.tenantId, scopes: ['write'] })
  await all.send('POST', '/Patient', patient())
  const test = [{ op: 'test', path: '/active', value: true }]
  for (const family of ['Byron', 'Nobody']) {
    const url = `Patient?family=${family}`
    isRefused(t, await writer.send('PATCH', `/${url}`, test, patchType), { status: 403, code: 'forbidden' }, 'patch')
    isRefused(
      t,
      await writer.send('PUT', `/${url}`, patient(), { 'if-match': 'W/"9"' }),
      { status: 403, code: 'forbidden' },
      'update'
    )
    isRefused(
      t,
      await writer.send('DELETE', `/${url}`, undefined, { 'if-match': 'W/"9"' }),
      { status: 403, code: 'forbidden' },
      'delete'
    )
    isRefused(
      t,
      await writer.send('POST', '', bundle('transaction', patchEntry(url, test))),
      { status: 403, code: 'forbidden' },
      'transaction'
    )
    t.match(
      (await writer.send('POST', '', bundle('batch', patchEntry(url, test), entry('DELETE', url)))).resource,
      { entry: [{ response: { status: /^403/ } }, { response: { status: /^403/ } }] },
      'batch'
    )
  }
  isRefused(
    t,
    await all.send('PATCH', '/Patient?family=Byron', test, patchType),
    422,
    'one that reads as well learns it'
  )
})
