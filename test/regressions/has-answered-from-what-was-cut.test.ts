import t, { type Test } from 'tap'
import type { FhirSearch } from '../../src/tenant-guard/fhir-interaction.js'
import { json, startFaultyServer, type Behaviour } from '../backends/faulty-server.js'
import { failureOf, gatewayTo, system } from '../tenant-guard/guarded.js'

const record = (resourceType: string, id: string) => ({
  resourceType,
  id,
  meta: { versionId: '1', tag: [{ system, code: 'tenant-a' }] }
})
const group = record('Group', 'g1')
const members = (count: number) => Array.from({ length: count }, (_, at) => record('Patient', `p${at}`))

const searchset = (matches: readonly object[], included: readonly object[] = [], more: object = {}): Behaviour =>
  json(200, {
    resourceType: 'Bundle',
    type: 'searchset',
    entry: [
      ...matches.map(resource => ({ resource, search: { mode: 'match' } })),
      ...included.map(resource => ({ resource, search: { mode: 'include' } }))
    ],
    ...more
  })

const search: FhirSearch = {
  kind: 'search',
  type: 'Patient',
  parameters: [],
  joins: [{ direction: 'has', types: ['Group'], reference: 'member', condition: ['_id', 'g1'] }],
  includes: [],
  count: 1,
  total: 'accurate',
  requested: []
}

async function rig (t: Test) {
  const server = await startFaultyServer()
  const gateway = gatewayTo(`${server.url}/fhir`)
  t.teardown(async () => { await Promise.all([server.close(), gateway.backend.close()]) })
  return { server, perform: () => gateway.guard('tenant-a').perform(search) }
}

// HAPI brings 1,000 records along with a search and says nothing of the others: of 1,500 members the accurate total was
// 1,000.
t.test('_has over more records than a server brings along is refused, and never cut', async t => {
  const { server, perform } = await rig(t)
  const refused = async (behaviour: Behaviour, message: string) => {
    server.behave(behaviour)
    t.match(await failureOf(perform()), { code: 'BAD_REQUEST', status: 400, issues: [{ code: 'too-costly' }] }, message)
    t.equal(server.seen.length, 1, `${message}: nothing more is asked`)
  }
  await refused(searchset([group], members(1_000)), 'as many as HAPI brings along at most')
  await refused(
    searchset([group], members(10), { link: [{ relation: 'related', url: 'http://x' }] }),
    'a server that links to the rest'
  )
  await refused(
    json(200, {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: [{ resource: group }, { resource: { resourceType: 'OperationOutcome' }, search: { mode: 'outcome' } }]
    }),
    'a server that notes that there is more'
  )
  const ofMany = (...sizes: number[]) =>
    sizes.map((size, at) => ({
      ...record('Group', `g${at}`),
      member: members(size).map(({ id }) => ({ entity: { reference: `Patient/${id}` } }))
    }))
  // Of two groups with 800 members each, 700 of them in both, HAPI brought 800 along and not 900.
  await refused(searchset(ofMany(800, 800), members(800)), 'more references than HAPI reads')
  t.match(
    decodeURIComponent(server.seen[0]!.url),
    /&_include=Group:member:Patient&_elements=id,meta,member$/,
    'the references are asked for'
  )
  const mixed = Array.from({ length: 999 }, (_, at) => ({
    ...record('Group', `g${at}`),
    member: [{ entity: { reference: 'Patient/p0' } }, { entity: { reference: 'Device/d' } }]
  }))
  server.behave(searchset(mixed, members(1)), searchset(members(1), [], { total: 1 }))
  t.match(JSON.parse((await perform()).body!), { total: 1 }, 'references to other types are not followed')
  server.behave(searchset([group], members(999)), searchset(members(1), [], { total: 999 }))
  t.match(JSON.parse((await perform()).body!), { total: 999 }, '999 are not too many')
})
