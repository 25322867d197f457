import { test, type Test } from 'tap'
import { fhirServer } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { startWatched } from '../harness/recording-backend.js'
import { importer } from './importing.js'

const patient = (id: string, more = {}) => ({ resourceType: 'Patient', id, name: [{ family: 'Ilse' }], ...more })

async function open (t: Test) {
  const sandbox = await startTestSandbox(t)
  const watched = await startWatched(sandbox.url.replace(/\/$/, ''))
  t.after(() => watched.close())
  const gateway = await startGateway(t, { fhirUrl: watched.url })
  const { tenantId, secret } = await gateway.createKey()
  /** Requests since the last time by which records were asked for by their ids. */
  const askedById = (): number =>
    watched.seen
      .splice(0)
      .filter(({ path, method }) => /[?&]_id=/.test(path) || (method === 'POST' && path.includes('_search'))).length
  return { client: importer(gateway, secret), direct: fhirServer(sandbox.url.replace(/\/$/, '')), tenantId, askedById }
}

test('an import into an organization with some records asks for none of them that its lines do not name', async t => {
  const { client, direct, tenantId, askedById } = await open(t)
  const [own] = await direct.storeAll(
    tenantId,
    [patient('', { gender: 'female' }), patient('')].map(({ id, ...record }) => record)
  )
  askedById()
  const fresh = await client.run([patient('new-1'), patient('new-2'), patient('new-3')])
  t.same(fresh.results.map(({ status }) => status), ['created', 'created', 'created'])
  t.equal(askedById(), 0)
  const named = await client.run([
    patient(own!, { gender: 'male' }),
    patient('new-2', { gender: 'male' }),
    patient('new-4')
  ])
  t.same(named.results.map(({ status }) => status), ['updated', 'updated', 'created'])
  t.same(named.results.slice(0, 2).map(({ id }) => id), [own, fresh.results[1]!.id])
  t.equal(askedById(), 1)
})

test('an import into an organization with many more records than lines asks for those that its lines might name', async t => {
  const { client, direct, tenantId, askedById } = await open(t)
  const stored = await direct.storeAll(
    tenantId,
    Array.from({ length: 40 }, () => ({ resourceType: 'Patient', name: [{ family: 'Ilse' }] }))
  )
  askedById()
  const { results } = await client.run([patient(stored[39]!, { gender: 'male' }), patient('new-1')])
  t.same(
    results.map(({ status }) => status),
    ['updated', 'created']
  )
  t.equal(results[0]!.id, stored[39])
  t.ok(askedById() > 0)
})
