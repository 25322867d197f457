import t from 'tap'
import type { BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import type { Access } from '../../src/tenant-guard/access.js'
import type { ConditionalUpdate } from '../../src/tenant-guard/interaction.js'
import { clientOf } from '../harness/client.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { failureOf, gatewayTo, newTenant, system } from '../tenant-guard/guarded.js'
import { bundle, entry, isRefused, openWorld, patchEntry, patchType, patient, stored } from './fixture.js'

const sandbox = await startTestSandbox(t)
const [gateway, anotherGateway] = [gatewayTo(sandbox.url), gatewayTo(sandbox.url)]

const named = (family: string) => ({
  resourceType: 'Patient',
  identifier: [{ system: 'urn:mrn', value: '1' }],
  name: [{ family }]
})
const criteria = { type: 'Patient', parameters: [['identifier', 'urn:mrn|1']] } as const
const update = (family: string): ConditionalUpdate => ({
  kind: 'conditional-update',
  type: 'Patient',
  resource: named(family),
  criteria
})

/** A tenant's store, to whose datastore others write just before a request of this kind comes there. */
function disturbed (
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
  const families = async () =>
    (
      await gateway
        .guard(tenantId)
        .search({ kind: 'search', type: 'Patient', parameters: [], count: 10, route: 'patients' })
    ).resources.map(({ name }) => (name as Array<{ family: string }>)[0]!.family)
  return { store, accesses, families, waiting }
}

const isCreate = ({ method, headers = {} }: BackendRequest) =>
  method === 'POST' && headers['if-none-exist'] !== undefined
const isUpdate = ({ method }: BackendRequest) => method === 'PUT'
const another = (family: string) => (tenantId: string) =>
  gateway.backend.send({
    method: 'POST',
    path: 'Patient',
    body: JSON.stringify({ ...named(family), meta: { tag: [{ system, code: tenantId }] } })
  })
const changed = (family: string) => (tenantId: string) => anotherGateway.guard(tenantId).perform(update(family))

// The record that another request had made in the meantime was shown with 200, and what this one sent was gone.
t.test('a conditional update for which another request makes the record in the meantime changes that one', async t => {
  const { store, accesses, families } = disturbed(isCreate, [another('Other')])
  const response = await store.perform(update('Own'))
  t.match(response, { status: 200, record: { name: [{ family: 'Own' }], meta: { versionId: '2' } } })
  t.strictSame(await families(), ['Own'])
  t.strictSame(accesses, [
    { kind: 'conditional-update', type: 'Patient', id: response.record!.id, shown: [`Patient/${response.record!.id}`] }
  ])
})

t.test('when that one is changed before, it is looked for again', async t => {
  const { store, families } = disturbed(
    request => isCreate(request) || isUpdate(request),
    [another('Other'), changed('Third')]
  )
  t.match(await store.perform(update('Own')), {
    status: 200,
    record: { name: [{ family: 'Own' }], meta: { versionId: '3' } }
  })
  t.strictSame(await families(), ['Own'])
})

t.test('a transaction in which that happens is a conflict, and tells what was done', async t => {
  const { store, accesses, families } = disturbed(({ path }) => path === '', [another('Other')])
  const made = { resourceType: 'Patient', name: [{ family: 'Made' }] }
  const failure = await failureOf(
    store.perform({
      kind: 'transaction',
      type: 'Bundle',
      entries: [{ interaction: { kind: 'create', type: 'Patient', resource: made } }, { interaction: update('Own') }],
      references: new Map(),
      showsWritten: false
    })
  )
  t.match(failure, { code: 'CONFLICT', message: /^Everything was done except/ })
  t.strictSame((await families()).sort(), ['Made', 'Other'])
  t.match(accesses, [
    { kind: 'create', id: /./, failure: undefined },
    { kind: 'conditional-update', id: /./, shown: [], failure: 'CONFLICT' },
    { kind: 'transaction', failure: 'CONFLICT' }
  ])
})

t.test('a transaction with two updates by the same criteria is refused, since one of them would be lost', async t => {
  const { store, families } = disturbed(() => false, [])
  const failure = await failureOf(
    store.perform({
      kind: 'transaction',
      type: 'Bundle',
      entries: [{ interaction: update('One') }, { interaction: update('Two') }],
      references: new Map(),
      showsWritten: false
    })
  )
  t.equal(failure.code, 'BAD_REQUEST')
  t.strictSame(await families(), [])
})

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

// A client reads again and repeats its write after a conflict, which helps where a version has changed, and never here.
t.test('criteria that several records match are refused with R4\'s code for it, and not as a conflict', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const [id] = await stored(fhir, patient(), patient())
  const several = { status: 412, code: 'multiple-matches', diagnostics: /^Several records match/ }
  const url = '/Patient?family=byron'
  isRefused(t, await fhir.send('PUT', url, patient()), several, 'update')
  isRefused(
    t,
    await fhir.send('PATCH', url, [{ op: 'add', path: '/active', value: true }], patchType),
    several,
    'patch'
  )
  isRefused(t, await fhir.send('DELETE', url), several, 'delete')
  isRefused(t, await fhir.send('POST', '/Patient', patient(), { 'if-none-exist': 'family=byron' }), several, 'create')
  isRefused(
    t,
    await fhir.send('POST', '', bundle('transaction', entry('DELETE', url.slice(1)))),
    { ...several, expression: ['Bundle.entry[0]'] },
    'in a transaction'
  )
  const { resource } = await fhir.send('POST', '', bundle('batch', entry('DELETE', url.slice(1))))
  t.match(
    resource.entry,
    [{ response: { status: '412 Precondition Failed', outcome: { issue: [{ code: 'multiple-matches' }] } } }],
    'in a batch'
  )
  isRefused(
    t,
    await fhir.send('PUT', `/Patient/${id}`, patient(), { 'if-match': 'W/"9"' }),
    { status: 412, code: 'conflict' },
    'another version'
  )
})
