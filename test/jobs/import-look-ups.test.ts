import { test, type Test } from 'tap'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { startWatched } from '../harness/recording-backend.js'
import { createImporter } from './importing.js'

const buildPatient = (id: string, more = {}) => ({ resourceType: 'Patient', id, name: [{ family: 'Ilse' }], ...more })

async function open (t: Test) {
  const sandbox = await startTestSandbox(t)
  const watched = await startWatched(sandbox.url.replace(/\/$/, ''))
  t.after(() => watched.close())
  const gateway = await startGateway(t, { fhirUrl: watched.url })
  const { tenantId, secret } = await gateway.createKey()
  /** Requests since the last call that look up records by their ids. */
  const countIdRequests = (): number =>
    watched.seen
      .splice(0)
      .filter(({ path, method }) => /[?&]_id=/.test(path) || (method === 'POST' && path.includes('_search'))).length
  return { client: createImporter(gateway, secret), direct: createFhirClient(sandbox.url.replace(/\/$/, '')), tenantId, countIdRequests }
}

test('an import into an organization with some records looks up none that its lines do not name', async t => {
  const { client, direct, tenantId, countIdRequests } = await open(t)
  const [own] = await direct.storeAll(
    tenantId,
    [buildPatient('', { gender: 'female' }), buildPatient('')].map(({ id, ...record }) => record)
  )
  countIdRequests()
  const fresh = await client.run([buildPatient('new-1'), buildPatient('new-2'), buildPatient('new-3')])
  t.same(fresh.results.map(({ status }) => status), ['created', 'created', 'created'])
  t.equal(countIdRequests(), 0)
  const named = await client.run([
    buildPatient(own!, { gender: 'male' }),
    buildPatient('new-2', { gender: 'male' }),
    buildPatient('new-4')
  ])
  t.same(named.results.map(({ status }) => status), ['updated', 'updated', 'created'])
  t.same(named.results.slice(0, 2).map(({ id }) => id), [own, fresh.results[1]!.id])
  t.equal(countIdRequests(), 1)
})

test('an import into an organization with many more records than lines looks up those that its lines might name', async t => {
  const { client, direct, tenantId, countIdRequests } = await open(t)
  const stored = await direct.storeAll(
    tenantId,
    Array.from({ length: 40 }, () => ({ resourceType: 'Patient', name: [{ family: 'Ilse' }] }))
  )
  countIdRequests()
  const { results } = await client.run([buildPatient(stored[39]!, { gender: 'male' }), buildPatient('new-1')])
  t.same(
    results.map(({ status }) => status),
    ['updated', 'created']
  )
  t.equal(results[0]!.id, stored[39])
  t.ok(countIdRequests() > 0)
})
