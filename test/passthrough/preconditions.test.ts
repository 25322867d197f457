import t from 'tap'
import type { BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import type { Access } from '../../src/tenant-guard/access.js'
import type { ConditionalUpdate } from '../../src/tenant-guard/interaction.js'
import { createGatewayClient } from '../harness/client.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { catchFailure, createGateway, newTenant, system } from '../tenant-guard/guarded.js'
import {
  buildBundle, buildEntry, assertRejected, openWorld, buildPatchEntry, patchType, buildPatient, storeResources
} from './fixture.js'

const sandbox = await startTestSandbox(t)
const [gateway, anotherGateway] = [createGateway(sandbox.url), createGateway(sandbox.url)]

const buildNamedPatient = (family: string) => ({
  resourceType: 'Patient',
  identifier: [{ system: 'urn:mrn', value: '1' }],
  name: [{ family }]
})
const criteria = { type: 'Patient', parameters: [['identifier', 'urn:mrn|1']] } as const
const buildUpdate = (family: string): ConditionalUpdate => ({
  kind: 'conditional-update',
  type: 'Patient',
  resource: buildNamedPatient(family),
  criteria
})

/** A tenant's store, to whose datastore another writer writes just before a request of this kind reaches it. */
function createDisturbedStore (
  isHit: (request: BackendRequest) => boolean,
  others: ReadonlyArray<(tenantId: string) => Promise<unknown>>
) {
  const tenantId = newTenant()
  const waiting = [...others]
  const accesses: Access[] = []
  const backend = decorateBackend(gateway.backend, {
    send: async request => {
      if (isHit(request)) await waiting.shift()?.(tenantId)
      return await gateway.backend.send(request)
    }
  })
  const store = gateway.guard(tenantId, {
    backend,
    onAccess: access => {
      accesses.push(access)
    }
  })
  const listFamilies = async () =>
    (
      await gateway
        .guard(tenantId)
        .search({ kind: 'search', type: 'Patient', parameters: [], count: 10, route: 'patients' })
    ).resources.map(({ name }) => (name as Array<{ family: string }>)[0]!.family)
  return { store, accesses, listFamilies, waiting }
}

const isCreate = ({ method, headers = {} }: BackendRequest) =>
  method === 'POST' && headers['if-none-exist'] !== undefined
const isUpdate = ({ method }: BackendRequest) => method === 'PUT'
const storePatient = (family: string) => (tenantId: string) =>
  gateway.backend.send({
    method: 'POST',
    path: 'Patient',
    body: JSON.stringify({ ...buildNamedPatient(family), meta: { tag: [{ system, code: tenantId }] } })
  })
const updatePatient = (family: string) => (tenantId: string) =>
  anotherGateway.guard(tenantId).perform(buildUpdate(family))

// The record that another request had created in the meantime was returned with 200, and this request's content was
// lost.
t.test('a conditional update for which another request makes the record in the meantime changes that one', async t => {
  const { store, accesses, listFamilies } = createDisturbedStore(isCreate, [storePatient('Other')])
  const response = await store.perform(buildUpdate('Own'))
  t.match(response, { status: 200, record: { name: [{ family: 'Own' }], meta: { versionId: '2' } } })
  t.strictSame(await listFamilies(), ['Own'])
  t.strictSame(accesses, [
    { kind: 'conditional-update', type: 'Patient', id: response.record!.id, shown: [`Patient/${response.record!.id}`] }
  ])
})

t.test('when that record is changed before, it is searched again', async t => {
  const { store, listFamilies } = createDisturbedStore(
    request => isCreate(request) || isUpdate(request),
    [storePatient('Other'), updatePatient('Third')]
  )
  t.match(await store.perform(buildUpdate('Own')), {
    status: 200,
    record: { name: [{ family: 'Own' }], meta: { versionId: '3' } }
  })
  t.strictSame(await listFamilies(), ['Own'])
})

t.test('a transaction in which that happens is a conflict, and reports what was done', async t => {
  const { store, accesses, listFamilies } = createDisturbedStore(({ path }) => path === '', [storePatient('Other')])
  const made = { resourceType: 'Patient', name: [{ family: 'Made' }] }
  const failure = await catchFailure(
    store.perform({
      kind: 'transaction',
      type: 'Bundle',
      entries: [{ interaction: { kind: 'create', type: 'Patient', resource: made } }, { interaction: buildUpdate('Own') }],
      references: new Map(),
      showsWritten: false
    })
  )
  t.match(failure, { code: 'CONFLICT', message: /^Everything was done except/ })
  t.strictSame((await listFamilies()).sort(), ['Made', 'Other'])
  t.match(accesses, [
    { kind: 'create', id: /./, failure: undefined },
    { kind: 'conditional-update', id: /./, shown: [], failure: 'CONFLICT' },
    { kind: 'transaction', failure: 'CONFLICT' }
  ])
})

t.test('a transaction with two updates by the same criteria is refused, since one of them would be lost', async t => {
  const { store, listFamilies } = createDisturbedStore(() => false, [])
  const failure = await catchFailure(
    store.perform({
      kind: 'transaction',
      type: 'Bundle',
      entries: [{ interaction: buildUpdate('One') }, { interaction: buildUpdate('Two') }],
      references: new Map(),
      showsWritten: false
    })
  )
  t.equal(failure.code, 'BAD_REQUEST')
  t.strictSame(await listFamilies(), [])
})

// If-Match was ignored where criteria named the record, so that a version that no client had seen was deleted.
t.test('a conditional delete of another version than If-Match names is not made', async t => {
  const sandbox = await startTestSandbox(t)
  const { send } = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const { id } = (await send('POST', '/Patient', buildPatient({ identifier: [{ value: '1' }] }))).resource
  const [path, url] = ['/Patient?identifier=1', 'Patient?identifier=1']
  await send('PUT', `/Patient/${id}`, buildPatient({ identifier: [{ value: '1' }], active: true }))
  assertRejected(t, await send('DELETE', path, undefined, { 'if-match': 'W/"1"' }), 412, 'alone')
  assertRejected(
    t,
    await send('POST', '', buildBundle('transaction', buildEntry('DELETE', url, undefined, { ifMatch: 'W/"1"' }))),
    412,
    'in a transaction'
  )
  t.match(
    await send('POST', '', buildBundle('batch', buildEntry('DELETE', url, undefined, { ifMatch: 'W/"1"' }))),
    { resource: { entry: [{ response: { status: /^412/ } }] } },
    'in a batch'
  )
  t.equal((await send('GET', `/Patient/${id}`)).status, 200)
  t.equal((await send('DELETE', path, undefined, { 'if-match': 'W/"2"' })).status, 204)
  assertRejected(t, await send('DELETE', path, undefined, { 'if-match': 'W/"2"' }), 412, 'no version is there any more')
  t.equal((await send('DELETE', path)).status, 204, 'without a version that is no failure')
})

// If-None-Match was checked in reads alone, so that a PUT that was to be done only where nothing is replaced the
// record.
t.test('a write with a condition that only reads have is refused and not made', async t => {
  const sandbox = await startTestSandbox(t)
  const world = await openWorld(t, { url: sandbox.url, server: 'sandbox' })
  const fhir = await world.fhir()
  const { id } = (await fhir.send('POST', '/Patient', buildPatient({ identifier: [{ value: '1' }] }))).resource
  const changed = buildPatient({ identifier: [{ value: '1' }], active: false })
  const patch = [{ op: 'add', path: '/active', value: false }]
  const simple = await createGatewayClient(world.gateway, { tenantId: fhir.tenantId })
  const conditions: ReadonlyArray<Readonly<Record<string, string>>> = [
    { 'if-none-match': '*' },
    { 'if-none-match': 'W/"9"' },
    { 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }
  ]
  for (const headers of conditions) {
    assertRejected(t, await fhir.send('PUT', `/Patient/${id}`, { ...changed, id }, headers), 400, 'update')
    assertRejected(t, await fhir.send('PUT', '/Patient?identifier=1', changed, headers), 400, 'conditional update')
    assertRejected(t, await fhir.send('PATCH', `/Patient/${id}`, patch, { ...patchType, ...headers }), 400, 'patch')
    assertRejected(t, await fhir.send('DELETE', `/Patient/${id}`, undefined, headers), 400, 'delete')
    assertRejected(t, await fhir.send('POST', '/Patient', changed, headers), 400, 'create')
    t.match((await simple.send('PATCH', `patients/${id}`, { active: false }, headers)).body, { code: 'BAD_REQUEST' })
    t.match((await simple.send('DELETE', `patients/${id}`, undefined, headers)).body, { code: 'BAD_REQUEST' })
    t.match((await simple.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' }, headers)).body, {
      code: 'BAD_REQUEST'
    })
  }
  for (const ifNoneMatch of ['*', 'W/"9"']) {
    const writes = [
      buildEntry('PUT', `Patient/${id}`, { ...changed, id }, { ifNoneMatch }),
      buildEntry('DELETE', `Patient/${id}`, undefined, { ifNoneMatch }),
      buildPatchEntry(`Patient/${id}`, patch, { ifNoneMatch }),
      buildEntry('POST', 'Patient', changed, { ifNoneMatch })
    ]
    t.match(
      await fhir.send('POST', '', buildBundle('batch', ...writes)),
      { resource: { entry: writes.map(() => ({ response: { status: /^400/ } })) } },
      'in a batch'
    )
    for (const write of writes) {
      assertRejected(t, await fhir.send('POST', '', buildBundle('transaction', write)), 400, 'in a transaction')
    }
  }
  t.match((await fhir.send('GET', '/Patient')).resource, {
    total: 1,
    entry: [{ resource: { meta: { versionId: '1' } } }]
  })
  t.match(
    await fhir.send('POST', '', buildBundle('batch', buildEntry('GET', `Patient/${id}`, undefined, { ifNoneMatch: 'W/"9"' }))),
    { resource: { entry: [{ response: { status: /^200/ } }] } },
    'a read may have it'
  )
})

// After a conflict a client reads again and repeats its write, which helps where a version has changed, and never here.
t.test('criteria that several records match are refused with R4\'s code for it, and not as a conflict', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const [id] = await storeResources(fhir, buildPatient(), buildPatient())
  const several = { status: 412, code: 'multiple-matches', diagnostics: /^Several records match/ }
  const url = '/Patient?family=byron'
  assertRejected(t, await fhir.send('PUT', url, buildPatient()), several, 'update')
  assertRejected(
    t,
    await fhir.send('PATCH', url, [{ op: 'add', path: '/active', value: true }], patchType),
    several,
    'patch'
  )
  assertRejected(t, await fhir.send('DELETE', url), several, 'delete')
  assertRejected(t, await fhir.send('POST', '/Patient', buildPatient(), { 'if-none-exist': 'family=byron' }), several, 'create')
  assertRejected(
    t,
    await fhir.send('POST', '', buildBundle('transaction', buildEntry('DELETE', url.slice(1)))),
    { ...several, expression: ['Bundle.entry[0]'] },
    'in a transaction'
  )
  const { resource } = await fhir.send('POST', '', buildBundle('batch', buildEntry('DELETE', url.slice(1))))
  t.match(
    resource.entry,
    [{ response: { status: '412 Precondition Failed', outcome: { issue: [{ code: 'multiple-matches' }] } } }],
    'in a batch'
  )
  assertRejected(
    t,
    await fhir.send('PUT', `/Patient/${id}`, buildPatient(), { 'if-match': 'W/"9"' }),
    { status: 412, code: 'conflict' },
    'another version'
  )
})
