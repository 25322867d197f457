import t, { type Test } from 'tap'
import { clientOf } from '../harness/client.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { until } from '../harness/until.js'
import { isRefused, observation, openWorld, patient, stored } from './fixture.js'

/** A gateway to a server without some search parameters, which it ignores, and a type that it does not state. */
async function lacking (t: Test) {
  const { url } = await startTestSandbox(t, {
    missingParameters: ['Patient.family', 'Patient.birthdate', 'Observation.encounter'],
    unknownParameters: 'always passed over',
    unstatedTypes: ['Basic', 'Slot']
  })
  const world = await openWorld(t, { url, server: 'sandbox' })
  const metadata = async () => (await world.gateway.inject({ url: '/v1/fhir/metadata' })).json()
  await until(async () => (await metadata()).rest[0].resource.length < 146)
  return { world, metadata }
}

t.test('a search parameter that the datastore does not have is refused by name, and no record is found instead', async t => {
  const { world } = await lacking(t)
  const fhir = await world.fhir()
  const [id] = await stored(fhir, patient())
  await stored(fhir, observation(`Patient/${id}`))
  for (const [path, name] of [
    ['/Patient?family=Byron', 'family'],
    ['/Patient?family:exact=Byron', 'family'],
    ['/Patient?_sort=-birthdate', '_sort'],
    ['/Observation?subject:Patient.family=Byron', 'family'],
    ['/Observation?_include=Observation:encounter', 'encounter'],
    ['/Patient?_has:Observation:subject:encounter=x', 'encounter']
  ] as const) {
    const answer = await fhir.send('GET', path)
    isRefused(t, answer, 400, path)
    t.match(answer.resource.issue, [{ code: 'not-supported', expression: [name], diagnostics: /does not have/ }], path)
  }
  const conditional = await fhir.send('POST', '/Patient', patient(), { 'if-none-exist': 'family=Other' })
  isRefused(t, conditional, 400, 'criteria')
  isRefused(t, await fhir.send('DELETE', '/Patient?family=Other'), 400, 'criteria of a delete')
  t.equal((await fhir.send('GET', `/Patient/${id}`)).status, 200)
  t.equal((await fhir.send('GET', '/Patient?given=Ada')).resource.total, 1, 'others are there')
})

t.test('a filter that the datastore does not have is refused by the name that the client sent', async t => {
  const { world: { gateway } } = await lacking(t)
  const client = await clientOf(gateway)
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
  const { world: { gateway }, metadata } = await lacking(t)
  const { rest: [{ resource }] } = await metadata()
  const of = (type: string) => resource.find((stated: any) => stated.type === type)
  const names = of('Patient').searchParam.map(({ name }: any) => name)
  t.notOk(names.includes('family') || names.includes('birthdate'))
  t.ok(names.includes('given'))
  t.notOk(of('Observation').searchInclude.includes('Observation:encounter'))
  t.notOk(of('Encounter').searchRevInclude.includes('Observation:encounter'))
  t.ok(of('Encounter').searchRevInclude.includes('Condition:encounter'))
  t.equal(of('Basic'), undefined)
  const { paths } = (await gateway.inject({ url: '/openapi.json' })).json()
  const filters = JSON.stringify(paths['/v1/patients'].get.parameters)
  t.notMatch(filters, /lastName/i)
  t.match(filters, /gender/i)
  t.equal(paths['/v1/slots'], undefined)
})
