/** The guarantees of the client, tested on a gateway with the given FHIR server. */
import type { Test } from 'tap'
import { ClinigateError, createClient, type ClinigateClient } from '../../src/client/index.js'
import { startGateway, type GatewaySettings } from '../harness/gateway.js'

async function startClient (t: Test, settings: GatewaySettings): Promise<ClinigateClient> {
  const { url, createKey } = await startGateway(t, settings)
  return createClient({ url, key: (await createKey()).secret })
}

async function catchError (request: Promise<unknown>): Promise<ClinigateError> {
  return await request.then(() => { throw new Error('it did not fail') }, error => error)
}

/** Runs the whole contract. */
export async function testClient (t: Test, settings: GatewaySettings): Promise<void> {
  await t.test('a record is created, read, found, changed and deleted', async t => {
    const { patients } = await startClient(t, settings)
    const created = await patients.create({
      firstName: 'Ada',
      lastName: 'Byron',
      birthDate: '1990-03',
      gender: 'female',
      address: { city: 'London' }
    })
    t.match(created, { resourceType: 'Patient', fullName: 'Ada Byron', active: true, versionId: '1' })
    t.strictSame(await patients.read(created.id), created)
    t.strictSame(
      await patients.search({ lastName: 'byr', birthDate: '1990-03', gender: ['female', 'unknown'], count: 1 }),
      { data: [created], total: 1, hasMore: false }
    )
    const changed = await patients.update(created.id, {
      email: 'ada@example.org',
      address: { city: null, country: 'GB' }
    })
    t.match(changed, { email: 'ada@example.org', address: { country: 'GB' } })
    t.equal(changed.address?.city, undefined)
    t.match(await patients.update(created.id, [{ op: 'replace', path: '/email', value: 'byron@example.org' }]), {
      email: 'byron@example.org'
    })
    await patients.delete(created.id)
    t.match(await catchError(patients.read(created.id)), { name: 'ClinigateError', code: 'NOT_FOUND', status: 404 })
  })

  await t.test('an export runs until its job has ended, and is among the jobs', async t => {
    const { bulk, patients } = await startClient(t, settings)
    await patients.create({ firstName: 'Ada', lastName: 'Byron' })
    const jobId = await bulk.export({ resourceTypes: ['patients'] })
    const job = await bulk.wait(jobId)
    t.match(job, { id: jobId, status: 'completed', files: [{ resourceType: 'Patient', count: 1 }] })
    t.strictSame(await bulk.list({ count: 10 }), { data: [job], total: 1, hasMore: false })
    t.match(await bulk.cancel(jobId), { status: 'completed' }, 'it had ended')
    t.match(await catchError(bulk.read(`job-${'a'.repeat(26)}`)), { code: 'NOT_FOUND', status: 404 })
  })

  await t.test('a change applies to the intended version, named by versionId or ETag', async t => {
    const { patients } = await startClient(t, settings)
    const { id, versionId } = await patients.create({ firstName: 'Ada', lastName: 'Byron' })
    await patients.update(id, { active: false }, { ifMatch: versionId })
    t.match(await catchError(patients.update(id, { active: true }, { ifMatch: versionId })), {
      code: 'PRECONDITION_FAILED',
      status: 412
    })
    t.match(await catchError(patients.delete(id, { ifMatch: `W/"${versionId}"` })), { code: 'PRECONDITION_FAILED' })
    await patients.delete(id, { ifMatch: '*' })
  })

  await t.test('a delete that references prevent lists them, in an order that works', async t => {
    const { patients, observations } = await startClient(t, settings)
    const patient = await patients.create({ firstName: 'Ada', lastName: 'Byron' })
    const { id } = await observations.create({ code: 'Weight', patientId: patient.id })
    const { code, details } = await catchError(patients.delete(patient.id))
    t.equal(code, 'CONFLICT')
    t.strictSame(details, {
      referrers: [{ type: 'Observation', id, path: `/v1/observations/${id}` }],
      hasMore: false
    })
  })

  await t.test('an error names its fields and its request', async t => {
    const { observations } = await startClient(t, settings)
    const error = await catchError(observations.create({ patientId: 'Patient/none' } as never))
    t.ok(error instanceof ClinigateError)
    t.match(error, {
      code: 'VALIDATION_ERROR',
      status: 422,
      requestId: /^[\w-]{36}$/,
      issues: [{ expression: ['code'] }]
    })
  })

  await t.test('all records of a search come, page by page', async t => {
    const { practitionerRoles, practitioners } = await startClient(t, settings)
    const { id: practitionerId } = await practitioners.create({ firstName: 'Ada', lastName: 'Byron' })
    const created = []
    for (let i = 0; i < 5; i++) created.push((await practitionerRoles.create({ practitionerId, role: 'nurse' })).id)
    const found = []
    for await (const role of practitionerRoles.all({ practitionerId, count: 2, sort: 'id' })) found.push(role.id)
    t.strictSame(found.sort(), created.sort())
    t.strictSame(new Set(found).size, 5)
  })

  await t.test('include returns records with the one that they refer to', async t => {
    const { patients, encounters } = await startClient(t, settings)
    const { id: patientId } = await patients.create({ firstName: 'Ada', lastName: 'Byron' })
    const encounter = await encounters.create({ patientId, status: 'finished', class: 'AMB' })
    const patient = await patients.read(patientId, { include: ['encounters', 'observations'] })
    t.match(patient, { firstName: 'Ada', encounters: [{ id: encounter.id }], observations: [] })
  })

  await t.test('the same request with the same key is performed once', async t => {
    const { patients } = await startClient(t, settings)
    const body = { firstName: 'Ada', lastName: 'Byron' }
    const options = { idempotencyKey: 'my own key' }
    const first = await patients.create(body, { idempotencyKey: 'mine' })
    t.equal((await patients.create(body, { idempotencyKey: 'mine' })).id, first.id)
    t.not((await patients.create(body)).id, first.id)
    t.match(await catchError(patients.create(body, options)), { code: 'BAD_REQUEST' })
    t.match(await catchError(patients.create({ ...body, active: false }, { idempotencyKey: 'mine' })), {
      code: 'IDEMPOTENCY_KEY_REUSED'
    })
  })

  await t.test('a comma within a value is not a separator', async t => {
    const { patients } = await startClient(t, settings)
    const { id } = await patients.create({
      firstName: 'Ada',
      lastName: 'Byron',
      identifiers: [{ system: 'urn:oid:1.2', value: 'a,b' }]
    })
    await patients.create({ firstName: 'Ada', lastName: 'Byron', identifiers: [{ system: 'urn:oid:1.2', value: 'a' }] })
    t.strictSame((await patients.search({ identifier: ['urn:oid:1.2|a,b'] })).data.map(patient => patient.id), [id])
  })

  await t.test('any request of the document can be made with the same key', async t => {
    const { http, patients } = await startClient(t, settings)
    const { id } = await patients.create({ firstName: 'Ada', lastName: 'Byron' })
    const { data } = await http.GET('/v1/patients/{id}', {
      params: { path: { id }, query: { _revinclude: ['Encounter:subject', 'Observation:patient'] } }
    })
    t.match(data, { data: { resourceType: 'Bundle', entry: [{ resource: { id } }] }, meta: { status: 200 } })
    // A datastore that is busy with other tests makes it degraded.
    t.match((await http.GET('/health')).data, { data: { status: /^(ok|degraded)$/ } })
  })
}
