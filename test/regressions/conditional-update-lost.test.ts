import t from 'tap'
import type { BackendRequest } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import type { Access } from '../../src/tenant-guard/access.js'
import type { ConditionalUpdate } from '../../src/tenant-guard/fhir-interaction.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { failureOf, gatewayTo, newTenant, system } from '../tenant-guard/guarded.js'

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
