import t, { type Test } from 'tap'
import { createGatewayClient } from '../harness/client.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { waitUntil } from '../harness/until.js'
import { assertRejected, buildObservation, openWorld, buildPatient, storeResources } from './fixture.js'

/** A gateway to a server without some search parameters, which it ignores, and a type that it does not state. */
async function startLimitedServer (t: Test) {
  const { url } = await startTestSandbox(t, {
    missingParameters: ['Patient.family', 'Patient.birthdate', 'Observation.encounter'],
    unknownParameters: 'always ignored',
    unstatedTypes: ['Basic', 'Slot']
  })
  const world = await openWorld(t, { url, server: 'sandbox' })
  const fetchMetadata = async () => (await world.gateway.inject({ url: '/v1/fhir/metadata' })).json()
  await waitUntil(async () => (await fetchMetadata()).rest[0].resource.length < 146)
  return { world, fetchMetadata }
}

t.test('a search parameter that the datastore does not have is refused by name, and no record is found instead', async t => {
  const { world } = await startLimitedServer(t)
  const fhir = await world.fhir()
  const [id] = await storeResources(fhir, buildPatient())
  await storeResources(fhir, buildObservation(`Patient/${id}`))
  for (const [path, name] of [
    ['/Patient?family=Byron', 'family'],
    ['/Patient?family:exact=Byron', 'family'],
    ['/Patient?_sort=-birthdate', '_sort'],
    ['/Observation?subject:Patient.family=Byron', 'family'],
    ['/Observation?_include=Observation:encounter', 'encounter'],
    ['/Patient?_has:Observation:subject:encounter=x', 'encounter']
  ] as const) {
    const response = await fhir.send('GET', path)
    assertRejected(t, response, 400, path)
    t.match(response.resource.issue, [{ code: 'not-supported', expression: [name], diagnostics: /does not have/ }], path)
  }
  const conditional = await fhir.send('POST', '/Patient', buildPatient(), { 'if-none-exist': 'family=Other' })
  assertRejected(t, conditional, 400, 'criteria')
  assertRejected(t, await fhir.send('DELETE', '/Patient?family=Other'), 400, 'criteria of a delete')
  t.equal((await fhir.send('GET', `/Patient/${id}`)).status, 200)
  t.equal((await fhir.send('GET', '/Patient?given=Ada')).resource.total, 1, 'others are there')
})

t.test('a filter that the datastore does not have is refused by the name that the client sent', async t => {
  const { world: { gateway } } = await startLimitedServer(t)
  const client = await createGatewayClient(gateway)
  for (const [path, field] of [
    ['patients?lastName=Byron', 'lastName'],
    ['patients?sort=-birthDate', 'sort']
  ] as const) {
    t.match(await client.send('GET', path), {
      status: 400,
      body: { code: 'BAD_REQUEST', issues: [{ code: 'not-supported', expression: [field] }] }
    })
  }
})

t.test('statement and OpenAPI document list only the parameters, includes and types that the datastore states', async t => {
  const { world: { gateway }, fetchMetadata } = await startLimitedServer(t)
  const { rest: [{ resource }] } = await fetchMetadata()
  const findResource = (type: string) => resource.find((stated: any) => stated.type === type)
  const names = findResource('Patient').searchParam.map(({ name }: any) => name)
  t.notOk(names.includes('family') || names.includes('birthdate'))
  t.ok(names.includes('given'))
  t.notOk(findResource('Observation').searchInclude.includes('Observation:encounter'))
  t.notOk(findResource('Encounter').searchRevInclude.includes('Observation:encounter'))
  t.ok(findResource('Encounter').searchRevInclude.includes('Condition:encounter'))
  t.equal(findResource('Basic'), undefined)
  const { paths } = (await gateway.inject({ url: '/openapi.json' })).json()
  const filters = JSON.stringify(paths['/v1/patients'].get.parameters)
  t.notMatch(filters, /lastName/i)
  t.match(filters, /gender/i)
  t.equal(paths['/v1/slots'], undefined)
})
