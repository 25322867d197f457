import t from 'tap'
import type { Access } from '../../src/tenant-guard/access.js'
import type { FhirInteraction } from '../../src/tenant-guard/interaction.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { catchFailure, createGateway, newTenant } from '../tenant-guard/guarded.js'
import {
  type RawResponse, buildBundle, buildEntry, assertRejected, openWorld, buildPatchEntry, patchType, buildPatient
} from './fixture.js'

// A patch whose test fails was 422 where a record met the criteria and 404 where none did: a search for a key that may
// not read.
t.test('a write-only key gets the same response to writes by criteria, whatever is stored', async t => {
  const sandbox = await startTestSandbox(t)
  const { fhir } = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const all = await fhir()
  const writer = await fhir({ tenantId: all.tenantId, scopes: ['write'] })
  await all.send('POST', '/Patient', buildPatient())
  const test = [{ op: 'test', path: '/active', value: true }]
  for (const family of ['Byron', 'Nobody']) {
    const url = `Patient?family=${family}`
    assertRejected(t, await writer.send('PATCH', `/${url}`, test, patchType), { status: 403, code: 'forbidden' }, 'patch')
    assertRejected(
      t,
      await writer.send('PUT', `/${url}`, buildPatient(), { 'if-match': 'W/"9"' }),
      { status: 403, code: 'forbidden' },
      'update'
    )
    assertRejected(
      t,
      await writer.send('DELETE', `/${url}`, undefined, { 'if-match': 'W/"9"' }),
      { status: 403, code: 'forbidden' },
      'delete'
    )
    assertRejected(
      t,
      await writer.send('POST', '', buildBundle('transaction', buildPatchEntry(url, test))),
      { status: 403, code: 'forbidden' },
      'transaction'
    )
    t.match(
      (await writer.send('POST', '', buildBundle('batch', buildPatchEntry(url, test), buildEntry('DELETE', url)))).resource,
      { entry: [{ response: { status: /^403/ } }, { response: { status: /^403/ } }] },
      'batch'
    )
  }
  assertRejected(
    t,
    await all.send('PATCH', '/Patient?family=Byron', test, patchType),
    422,
    'one that reads as well learns it'
  )
})

// The response to an empty patch was the whole record, and a test in a patch disclosed whether a value is the stored
// one.
t.test('a write-only key changes records without seeing them', async t => {
  const sandbox = await startTestSandbox(t)
  const { fhir } = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const all = await fhir()
  const writer = await fhir({ tenantId: all.tenantId, scopes: ['write'] })
  const { resource: { id } } = await all.send('POST', '/Patient', buildPatient())
  const url = `Patient/${id}`
  const request = { prefer: 'return=representation' }
  const assertMinimal = (response: RawResponse, message: string) => {
    t.match(
      response,
      { status: 200, headers: { etag: /^W\//, 'content-location': /_history/ }, resource: undefined },
      message
    )
    t.equal(response.text, '', message)
  }
  assertMinimal(await writer.send('PATCH', `/${url}`, [], patchType), 'an empty patch')
  assertMinimal(await writer.send('PATCH', `/${url}`, [], { ...patchType, ...request }), 'though the record is wanted')
  assertMinimal(
    await writer.send('PATCH', `/${url}`, [{ op: 'add', path: '/active', value: true }], {
      ...patchType,
      'idempotency-key': 'k'
    }),
    'a patch that is done once'
  )
  assertMinimal(
    await writer.send('PATCH', `/${url}`, [{ op: 'add', path: '/active', value: true }], {
      ...patchType,
      'idempotency-key': 'k'
    }),
    'and when it is sent again'
  )
  assertMinimal(
    await writer.send('PUT', `/${url}`, buildPatient(), request),
    'an update, after which labels that it left out remain'
  )
  t.match(await writer.send('PATCH', `/${url}`, [], { ...patchType, prefer: 'return=OperationOutcome' }), {
    status: 200,
    resource: { resourceType: 'OperationOutcome' }
  })
  for (const type of ['batch', 'transaction']) {
    const response = await writer.send('POST', '', buildBundle(type, buildPatchEntry(url, [])), request)
    t.match(response.resource, { entry: [{ response: { status: /^200/ }, resource: undefined }] }, type)
    t.notMatch(response.text, /Byron/, type)
    t.match(
      (await all.send('POST', '', buildBundle(type, buildPatchEntry(url, [])), request)).resource,
      { entry: [{ resource: { id } }] },
      `${type} of a key that reads as well`
    )
  }
  t.match(
    (await writer.send('POST', '/Patient', buildPatient())).resource,
    { name: [{ family: 'Byron' }] },
    'what was made is what was sent'
  )
  t.match((await all.send('PATCH', `/${url}`, [], patchType)).resource, { id }, 'a key that reads as well sees it')

  for (const value of ['Byron', 'Nobody']) {
    const test = [{ op: 'test', path: '/name/0/family', value }]
    const rejection = { status: 403, code: 'forbidden', diagnostics: /scope read/ }
    assertRejected(t, await writer.send('PATCH', `/${url}`, test, patchType), rejection, 'a test')
    assertRejected(t, await writer.send('PATCH', '/Patient/no-such', test, patchType), rejection, 'of a record that is not there')
    assertRejected(t, await writer.send('POST', '', buildBundle('transaction', buildPatchEntry(url, test))), rejection, 'in a transaction')
    t.match(
      (await writer.send('POST', '', buildBundle('batch', buildPatchEntry(url, test), buildEntry('DELETE', 'Patient/no-such'))))
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

const sandbox = await startTestSandbox(t)

const type = 'Patient'
const buildIdentifiedPatient = (value: string) => ({ resourceType: type, identifier: [{ system: 'urn:mrn', value }] })
const buildCriteria = (value: string) => ({ type, parameters: [['identifier', `urn:mrn|${value}`]] }) as const
const buildDelete = (value: string) => ({ kind: 'conditional-delete', type, criteria: buildCriteria(value) }) as const

// The audit log of a deletion by criteria named no record, so that the operator could not say which one was gone.
t.test('an access by criteria names the record that they led to, whether it was done or not', async t => {
  const accesses: Access[] = []
  const store = createGateway(sandbox.url).guard(newTenant(), { onAccess: access => { accesses.push(access) } })
  const [one, two, three, four] = await Promise.all(
    ['1', '2', '3', '4'].map(async value => {
      const { record } = await store.create({ kind: 'create', type, resource: buildIdentifiedPatient(value) })
      return record.id
    })
  )
  const listAccesses = async (interaction: FhirInteraction, code?: string) => {
    accesses.splice(0)
    if (code === undefined) await store.perform(interaction)
    else t.equal((await catchFailure(store.perform(interaction))).code, code)
    return accesses.map(({ kind, id, failure }) => [kind, id, failure].filter(part => part !== undefined).join(' '))
  }
  const patch = (value: unknown) =>
    ({
      kind: 'conditional-patch',
      type,
      criteria: buildCriteria('4'),
      patch: [{ op: 'test', path: '/resourceType', value }]
    }) as const
  t.strictSame(await listAccesses(buildDelete('1')), [`conditional-delete ${one}`], 'alone')
  t.strictSame(await listAccesses(buildDelete('1')), ['conditional-delete'], 'none is there any more')
  t.strictSame(
    await listAccesses({ kind: 'batch', type: 'Bundle', entries: [{ interaction: buildDelete('2') }], showsWritten: false }),
    [`conditional-delete ${two}`],
    'in a batch'
  )
  t.strictSame(
    await listAccesses({
      kind: 'transaction',
      type: 'Bundle',
      entries: [{ interaction: buildDelete('3') }, { interaction: buildDelete('none') }],
      references: new Map(),
      showsWritten: false
    }),
    [`conditional-delete ${three}`, 'conditional-delete', 'transaction'],
    'in a transaction'
  )
  t.strictSame(await listAccesses({ ...buildDelete('4'), version: '7' }, 'PRECONDITION_FAILED'), [
    `conditional-delete ${four} PRECONDITION_FAILED`
  ])
  t.strictSame(await listAccesses(patch('Patient')), [`conditional-patch ${four}`])
  t.strictSame(await listAccesses(patch('Group'), 'VALIDATION_ERROR'), [`conditional-patch ${four} VALIDATION_ERROR`])
  const update = { kind: 'conditional-update', type, criteria: buildCriteria('4'), resource: buildIdentifiedPatient('4') } as const
  t.strictSame(await listAccesses(update), [`conditional-update ${four}`])
  t.strictSame(await listAccesses({ ...update, version: '7' }, 'PRECONDITION_FAILED'), [
    `conditional-update ${four} PRECONDITION_FAILED`
  ])
})
