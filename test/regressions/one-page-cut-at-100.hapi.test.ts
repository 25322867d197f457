import t from 'tap'
import { randomUUID } from 'node:crypto'
import { realBackend } from '../harness/backend.js'
import { gatewayTo, newTenant } from '../tenant-guard/guarded.js'

const { url } = realBackend()
const family = `Many${randomUUID().slice(0, 8)}`

/** 130 patients of a tenant that this gateway has not seen yet. */
async function manyPatients (): Promise<{ readonly tenant: string, readonly ids: readonly string[] }> {
  const tenant = newTenant()
  const entries = Array.from({ length: 130 }, () => ({
    interaction: { kind: 'create', type: 'Patient', resource: { resourceType: 'Patient', name: [{ family }] } } as const
  }))
  const response = await gatewayTo(url)
    .guard(tenant)
    .perform({ kind: 'transaction', type: 'Bundle', entries, references: new Map(), showsWritten: true })
  return {
    tenant,
    ids: JSON.parse(response.body!).entry.map((entry: { resource: { id: string } }) => entry.resource.id)
  }
}

t.test('more than a hundred references that this gateway has not met are all found to be the tenant\'s', async t => {
  const { tenant, ids } = await manyPatients()
  const resource = {
    resourceType: 'Group',
    type: 'person',
    actual: true,
    member: ids.map(id => ({ entity: { reference: `Patient/${id}` } }))
  }
  const { status } = await gatewayTo(url).guard(tenant).perform({ kind: 'create', type: 'Group', resource })
  t.equal(status, 201)
})

t.test('a chain over more than a hundred records loses none of them', async t => {
  const { tenant, ids } = await manyPatients()
  const guard = gatewayTo(url).guard(tenant)
  const observation = (id: string) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: `Patient/${id}` }
  })
  const entries = ids.map(id => ({
    interaction: { kind: 'create', type: 'Observation', resource: observation(id) } as const
  }))
  await guard.perform({ kind: 'transaction', type: 'Bundle', entries, references: new Map(), showsWritten: false })
  const joins = [
    { direction: 'chain', types: ['Patient'], reference: 'subject', condition: ['family', family] }
  ] as const
  const { body } = await guard.perform({
    kind: 'search',
    type: 'Observation',
    parameters: [],
    joins,
    includes: [],
    requested: [],
    count: 0
  })
  t.equal(JSON.parse(body!).total, 130)
})
