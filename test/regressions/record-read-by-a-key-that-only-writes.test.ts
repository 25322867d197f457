import t from 'tap'
import { startTestSandbox } from '../harness/sandbox.js'
import {
  bundle,
  entry,
  isRefused,
  openWorld,
  patchEntry,
  patchType,
  patient,
  type Answer
} from '../passthrough/fixture.js'

// An empty patch was answered with the whole record, and a test in a patch told whether a value is the stored one.
t.test('a key that only writes changes records without seeing them', async t => {
  const sandbox = await startTestSandbox(t)
  const { fhir } = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const all = await fhir()
  const writer = await fhir({ tenantId: all.tenantId, scopes: ['write'] })
  const { resource: { id } } = await all.send('POST', '/Patient', patient())
  const url = `Patient/${id}`
  const request = { prefer: 'return=representation' }
  const isMinimal = (answer: Answer, message: string) => {
    t.match(
      answer,
      { status: 200, headers: { etag: /^W\//, 'content-location': /_history/ }, resource: undefined },
      message
    )
    t.equal(answer.text, '', message)
  }
  isMinimal(await writer.send('PATCH', `/${url}`, [], patchType), 'an empty patch')
  isMinimal(await writer.send('PATCH', `/${url}`, [], { ...patchType, ...request }), 'though the record is wanted')
  isMinimal(
    await writer.send('PATCH', `/${url}`, [{ op: 'add', path: '/active', value: true }], {
      ...patchType,
      'idempotency-key': 'k'
    }),
    'a patch that is done once'
  )
  isMinimal(
    await writer.send('PATCH', `/${url}`, [{ op: 'add', path: '/active', value: true }], {
      ...patchType,
      'idempotency-key': 'k'
    }),
    'and when it is sent again'
  )
  isMinimal(
    await writer.send('PUT', `/${url}`, patient(), request),
    'an update, after which labels that it left out remain'
  )
  t.match(await writer.send('PATCH', `/${url}`, [], { ...patchType, prefer: 'return=OperationOutcome' }), {
    status: 200,
    resource: { resourceType: 'OperationOutcome' }
  })
  for (const type of ['batch', 'transaction']) {
    const answer = await writer.send('POST', '', bundle(type, patchEntry(url, [])), request)
    t.match(answer.resource, { entry: [{ response: { status: /^200/ }, resource: undefined }] }, type)
    t.notMatch(answer.text, /Byron/, type)
    t.match(
      (await all.send('POST', '', bundle(type, patchEntry(url, [])), request)).resource,
      { entry: [{ resource: { id } }] },
      `${type} of a key that reads as well`
    )
  }
  t.match(
    (await writer.send('POST', '/Patient', patient())).resource,
    { name: [{ family: 'Byron' }] },
    'what was made is what was sent'
  )
  t.match((await all.send('PATCH', `/${url}`, [], patchType)).resource, { id }, 'a key that reads as well sees it')

  for (const value of ['Byron', 'Nobody']) {
    const test = [{ op: 'test', path: '/name/0/family', value }]
    const says = { status: 403, code: 'forbidden', diagnostics: /scope read/ }
    isRefused(t, await writer.send('PATCH', `/${url}`, test, patchType), says, 'a test')
    isRefused(t, await writer.send('PATCH', '/Patient/no-such', test, patchType), says, 'of a record that is not there')
    isRefused(t, await writer.send('POST', '', bundle('transaction', patchEntry(url, test))), says, 'in a transaction')
    t.match(
      (await writer.send('POST', '', bundle('batch', patchEntry(url, test), entry('DELETE', 'Patient/no-such'))))
        .resource,
      { entry: [{ response: { status: /^403/ } }, { response: { status: /^404/ } }] },
      'in a batch'
    )
  }
  t.equal(
    (await all.send('PATCH', `/${url}`, [{ op: 'test', path: '/name/0/family', value: 'Byron' }], patchType)).status,
    200
  )
})
