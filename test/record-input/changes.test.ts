import t from 'tap'
import { observations } from '../../src/mappings/resources/observations.js'
import { computeChangedFields } from '../../src/record-input/changed-record.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { createImporter } from '../jobs/importing.js'
import { buildBundle, buildEntry, openWorld, buildPatient } from '../passthrough/fixture.js'

// A whole record that had been read before another client's change was rejected for its versionId, which is read-only:
// without it, it undid that change.
t.test('a record that has changed since it was read is a conflict, not an unknown field', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const shown = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', phone: 'old' })).data
  const path = `patients/${shown.id}`
  const changed = (await client.send('PATCH', path, { phone: 'new' })).data
  const stale = await client.send('PATCH', path, { ...shown, gender: 'female' })
  t.match(
    [stale.status, stale.body],
    [
      409,
      {
        code: 'CONFLICT',
        message: 'The record has changed since it was read. Read it again, or send only the fields to change.'
      }
    ]
  )
  t.strictSame((await client.send('GET', path)).data, changed, 'and nothing was written')
  t.equal((await client.send('PATCH', path, { versionId: shown.versionId })).status, 409)
  t.match((await client.send('PATCH', path, { ...changed, gender: 'female' })).data, { gender: 'female', phone: 'new' })
  for (const versionId of [null, 1, {}]) {
    t.match(await client.send('PATCH', path, { versionId }), {
      status: 422,
      body: { issues: [{ expression: ['versionId'], code: 'business-rule' }] }
    })
  }
})

t.test('of several whole records that are sent concurrently one is written', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const shown = (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })).data
  const responses = await Promise.all(
    [1, 2, 3, 4].map(n => client.send('PATCH', `patients/${shown.id}`, { ...shown, phone: `+41 ${n}` }))
  )
  t.strictSame(responses.map(({ status }) => status).sort(), [200, 409, 409, 409])
})

// A field that was sent with its current value was left out of the change, and was removed with what else changed: 200,
// and it was gone.
t.test('a field of a change is stored as it was sent, or the change is rejected', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const create = async (path: string, body: object): Promise<any> => {
    const { status, data, text } = await client.send('POST', path, body)
    t.equal(status, 201, text)
    return data
  }
  const patch = (path: string, { id }: { id: string }, change: unknown) =>
    client.send('PATCH', `${path}/${id}`, change)
  const [a, b] = [await create('organizations', { name: 'A' }), await create('organizations', { name: 'B' })]
  const patient = await create('patients', { firstName: 'Ada', lastName: 'Byron' })
  const practitioner = await create('practitioners', { firstName: 'Grace', lastName: 'Hopper' })

  await t.test('a name with another id', async t => {
    const role = { practitionerId: practitioner.id, role: 'doctor', organizationId: a.id, organizationName: 'Clinic' }
    const ward = await create('locations', { name: 'Ward' })
    const changes = [
      { organizationId: b.id, organizationName: 'Clinic' },
      [
        { op: 'replace', path: '/organizationId', value: b.id },
        { op: 'add', path: '/organizationName', value: 'Clinic' }
      ],
      [
        { op: 'move', from: '/organizationName', path: '/x' },
        { op: 'replace', path: '/organizationId', value: b.id },
        { op: 'move', from: '/x', path: '/organizationName' }
      ]
    ]
    for (const change of changes) {
      const { status, data, text } = await patch(
        'practitioner-roles',
        await create('practitioner-roles', role),
        change
      )
      t.match([status, data], [200, { organizationId: b.id, organizationName: 'Clinic' }], text)
    }
    const placed = await create('practitioner-roles', { ...role, locationIds: [ward.id], locationName: 'Ward 3' })
    const { status, data, text } = await patch('practitioner-roles', placed, {
      locationIds: null,
      locationName: 'Ward 3'
    })
    t.match([status, data], [200, { locationName: 'Ward 3', locationIds: undefined }], text)
    const renamed = await patch('practitioner-roles', placed, { organizationId: b.id })
    t.equal(renamed.data.organizationName, undefined, 'a name that is not sent goes with its id')
  })

  await t.test('two of one choice', async t => {
    const observation = await create('observations', { code: 'x', patientId: patient.id, valueString: 'a' })
    const both = [{ op: 'add', path: '/valueInteger', value: 5 }, { op: 'replace', path: '/valueString', value: 'a' }]
    for (const change of [{ valueString: 'a', valueInteger: 5 }, { ...observation, valueInteger: 5 }, both]) {
      t.match(await patch('observations', observation, change), {
        status: 422,
        body: { issues: [{ expression: ['valueString'] }, { expression: ['valueInteger'] }] }
      })
    }
    const medication = await create('medications', { code: 'aspirin' })
    const prescription = await create('prescriptions', {
      medication: 'aspirin',
      patientId: patient.id,
      prescriberId: practitioner.id
    })
    t.equal(
      (await patch('prescriptions', prescription, { ...prescription, medicationId: medication.id })).status,
      422
    )
    const { status, data } = await patch('prescriptions', prescription, {
      ...prescription,
      medicationId: medication.id,
      medication: null
    })
    t.match([status, data], [200, { medicationId: medication.id, medication: undefined }])
  })
})

t.test('a record in which two fields show the same can be changed in either of them and sent back whole', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const practitioner = (await client.send('POST', 'practitioners', { firstName: 'Grace', lastName: 'Hopper' })).data
  const availableTime = [{ daysOfWeek: ['mon'], availableStartTime: '08:00:00' }]
  const { data } = await client.send('POST', 'practitioner-roles', {
    practitionerId: practitioner.id,
    role: 'doctor',
    availableTime
  })
  t.match(data, { availableDays: ['mon'], availableStartTime: '08:00:00' })
  const part = await client.send('PATCH', `practitioner-roles/${data.id}`, { ...data, availableDays: ['tue'] })
  t.match([part.status, part.data], [200, { availableDays: ['tue'], availableTime: [{ daysOfWeek: ['tue'] }] }])
  const replaced = await client.send('PATCH', `practitioner-roles/${data.id}`, {
    ...part.data,
    availableTime: [{ daysOfWeek: ['wed'] }]
  })
  t.match([replaced.status, replaced.data], [200, { availableDays: ['wed'], availableStartTime: undefined }])

  // No client can create it, and R4 does not allow it: another system stored both.
  const both = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, valueString: 'a', valueInteger: 5 }
  const shown = observations.toSimple(both)
  const { changed, stored: unchanged } = computeChangedFields(observations as never, { ...shown, status: 'amended' }, shown)
  t.strictSame(observations.patch(both, { ...unchanged, ...changed }), { ...both, status: 'amended' })
  t.throws(
    () => computeChangedFields(observations as never, { ...shown, valueString: 'b' }, shown),
    { code: 'VALIDATION_ERROR' },
    'of which the other would undo the change'
  )
})

// R4 allows a space or line break at the end of a text, which clients may not send: next to one that another system had
// stored, nothing could be changed.
t.test('a text with a space at its end can be sent back with other fields changed', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const store = async (resource: { resourceType: string }): Promise<string> =>
    (await client.send('POST', `fhir/${resource.resourceType}`, resource)).body.id
  const patient = await store({
    resourceType: 'Patient',
    name: [{ family: 'Byron', given: ['Ada'] }],
    address: [{ line: ['12 Main St ', 'Flat 3\n'], city: 'Y ' }],
    contact: [
      { name: { family: 'King' }, telecom: [{ system: 'phone', value: '1' }], address: { line: ['12 Main St '] } }
    ]
  } as never)
  const path = `patients/${patient}`
  const address = { line: ['12 Main St ', 'Flat 3\n'], city: 'Y ' }
  const assertAccepted = async (path: string, change: unknown, expected: object) => {
    const { status, data, text } = await client.send('PATCH', path, change)
    t.match([status, data], [200, expected], text)
  }
  await assertAccepted(path, { address: { state: 'Z' } }, { address: { ...address, state: 'Z' } })
  await assertAccepted(path, [{ op: 'replace', path: '/address/city', value: 'Z' }], { address: { ...address, city: 'Z' } })
  await assertAccepted(path, { address: { line: ['New', '12 Main St '] } }, { address: { line: ['New', '12 Main St '] } })
  const [contact] = (await client.send('GET', path)).data.contact
  await assertAccepted(
    path,
    { contact: [{ lastName: 'Lovelace' }, { ...contact, phone: '2' }] },
    { contact: [{ lastName: 'Lovelace' }, { phone: '2', address: { line: ['12 Main St '] } }] }
  )

  const observation = await store({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'bp' },
    component: [{ code: { text: 'sys ' }, valueInteger: 1 }]
  } as never)
  await assertAccepted(
    `observations/${observation}`,
    { component: [{ code: 'sys ', value: 2 }] },
    { component: [{ code: 'sys ', value: 2 }] }
  )

  const assertRejected = async (change: unknown, field: string) =>
    t.match(await client.send('PATCH', path, change), { status: 422, body: { issues: [{ expression: [field] }] } })
  await assertRejected({ address: { city: 'Bern ' } }, 'address.city')
  await assertRejected({ address: { line: ['New ', '12 Main St '] } }, 'address.line[0]')
  await assertRejected({ address: { city: '12 Main St ' } }, 'address.city')
})

// HAPI accepts it: all that `_elements` or `_summary` had left out was deleted, and the record had the tag for good.
t.test("a record that was read by _elements or _summary can't be stored as the whole record", async t => {
  const sandbox = await startTestSandbox(t)
  const { send } = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const {
    resource: { id }
  } = await send(
    'POST',
    '/Patient',
    buildPatient({ active: true, birthDate: '1990-03-14', identifier: [{ system: 'urn:x', value: '1' }] })
  )
  const { resource: part } = await send('GET', `/Patient/${id}?_elements=active`)
  const refused = { resource: { issue: [{ diagnostics: /SUBSETTED.* Read the whole record/ }] } }

  t.match(await send('PUT', `/Patient/${id}`, part), { status: 422, ...refused })
  t.match(await send('PUT', '/Patient?identifier=urn:x|1', part), { status: 422, ...refused })
  t.match(await send('POST', '/Patient', part), { status: 422, ...refused })
  t.match(await send('POST', '', buildBundle('transaction', buildEntry('PUT', `Patient/${id}`, part))), {
    status: 422,
    ...refused
  })
  t.match(await send('POST', '', buildBundle('batch', buildEntry('PUT', `Patient/${id}`, part))), {
    resource: { entry: [{ response: { status: /^422/ } }] }
  })
  t.match(await send('GET', `/Patient/${id}`), { resource: { meta: { versionId: '1' }, birthDate: '1990-03-14' } })

  t.match(
    await send('PUT', `/Patient/${id}`, { ...part, meta: { tag: [{ code: 'SUBSETTED' }, null] } }),
    { status: 422 },
    'a tag that is none is refused as before'
  )
  t.match(await send('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active: false }), { status: 200 })
})

t.test('nor by a line of an import, such as of an export with _elements', async t => {
  const gateway = await startGateway(t)
  const client = createImporter(gateway, (await gateway.createKey()).secret)
  const tag = [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }]
  const { results } = await client.run([
    { resourceType: 'Patient', id: 'a', active: true, meta: { tag } },
    { resourceType: 'Patient', id: 'b', active: true }
  ])
  t.match(results, [
    { status: 'failed', code: 'VALIDATION_ERROR', field: 'meta.tag', message: /SUBSETTED/ },
    { status: 'created' }
  ])
})
