import type { Test } from 'tap'
import { runCommand } from '../cli/command.js'
import { startGateway } from '../harness/gateway.js'
import { openExistingServer } from '../tenant-guard/operator.js'

/**
 * The steps of an operator with a server full of records: audits, adopts, audits again; and what the tenant then reads.
 */
export async function testAdoption (t: Test, fhirUrl: string): Promise<void> {
  const directory = t.testdir()
  const environment = { CLINIGATE_DATA: `${directory}/data`, FHIR_TEST_URL: fhirUrl, FHIR_LIVE_URL: fhirUrl }
  const gateway = await startGateway(t, { environment })
  const server = openExistingServer(fhirUrl)
  const patient = await server.plant({
    resourceType: 'Patient',
    name: [{ family: 'Byron', given: ['Ada'] }],
    birthDate: '1990-03-14',
    maritalStatus: { text: 'kept' }
  })
  const encounter = await server.plant({
    resourceType: 'Encounter',
    status: 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
    subject: { reference: `Patient/${patient.id}` }
  })
  const { tenantId, secret } = await gateway.createKey()
  const stranger = await gateway.createKey()
  const get = async (path: string, key = secret) => {
    const response = await gateway.inject({ url: path, headers: { 'x-api-key': key } })
    return { status: response.statusCode, body: response.json() }
  }
  const listUntagged = async (): Promise<string[]> => {
    const { out } = await runCommand(environment, 'audit', 'test', '--type', 'Patient,Encounter', '--json')
    const lines = out.trim().split('\n').map(line => JSON.parse(line))
    return lines
      .filter(({ id }) => [patient.id, encounter.id].includes(id))
      .map(({ finding, type }) => `${finding} ${type}`)
  }

  t.same(await listUntagged(), ['no-tag Encounter', 'no-tag Patient'])
  t.equal((await get(`/v1/patients/${patient.id}`)).status, 404)
  for (const type of ['Patient', 'Encounter']) {
    t.equal(
      (await runCommand(environment, 'adopt', 'test', '--tenant', tenantId, '--search', server.search(type))).code,
      0
    )
  }
  t.same(await listUntagged(), [])

  t.match(await get(`/v1/patients/${patient.id}`), {
    status: 200,
    body: { data: { id: patient.id, firstName: 'Ada', lastName: 'Byron', birthDate: '1990-03-14' } }
  })
  t.match(await get('/v1/patients?lastName=byron'), {
    status: 200,
    body: { data: { total: 1, data: [{ id: patient.id }] } }
  })
  t.match(await get(`/v1/encounters/${encounter.id}`), { status: 200, body: { data: { id: encounter.id } } })
  for (const path of [`/v1/patients/${patient.id}`, `/v1/encounters/${encounter.id}`]) {
    t.equal((await get(path, stranger.secret)).status, 404)
  }

  const changed = await gateway.inject({
    method: 'PATCH',
    url: `/v1/patients/${patient.id}`,
    headers: { 'x-api-key': secret },
    payload: { email: 'ada@example.org' }
  })
  t.equal(changed.statusCode, 200)
  t.match(await server.read('Patient', patient.id), { maritalStatus: { text: 'kept' }, meta: { versionId: '3' } })
}
