import t from 'tap'
import { observations } from '../../src/mappings/resources/observations.js'
import { changedFields } from '../../src/record-input/changed-record.js'
import { clientOf } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

// A field that was sent with its current value was left out of the change, and went with what was changed beside it:
// 200, and it was gone.
t.test('what a change names stays as it was sent, or the change is refused', async t => {
  const client = await clientOf(await startGateway(t))
  const created = async (path: string, body: object): Promise<any> => {
    const { status, data, text } = await client.send('POST', path, body)
    t.equal(status, 201, text)
    return data
  }
  const patched = (path: string, { id }: { id: string }, change: unknown) =>
    client.send('PATCH', `${path}/${id}`, change)
  const [a, b] = [await created('organizations', { name: 'A' }), await created('organizations', { name: 'B' })]
  const patient = await created('patients', { firstName: 'Ada', lastName: 'Byron' })
  const practitioner = await created('practitioners', { firstName: 'Grace', lastName: 'Hopper' })

  await t.test('a name beside another id', async t => {
    const role = { practitionerId: practitioner.id, role: 'doctor', organizationId: a.id, organizationName: 'Clinic' }
    const ward = await created('locations', { name: 'Ward' })
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
      const { status, data, text } = await patched(
        'practitioner-roles',
        await created('practitioner-roles', role),
        change
      )
      t.match([status, data], [200, { organizationId: b.id, organizationName: 'Clinic' }], text)
    }
    const placed = await created('practitioner-roles', { ...role, locationIds: [ward.id], locationName: 'Ward 3' })
    const { status, data, text } = await patched('practitioner-roles', placed, {
      locationIds: null,
      locationName: 'Ward 3'
    })
    t.match([status, data], [200, { locationName: 'Ward 3', locationIds: undefined }], text)
    const renamed = await patched('practitioner-roles', placed, { organizationId: b.id })
    t.equal(renamed.data.organizationName, undefined, 'a name that is not sent goes with its id')
  })

  await t.test('two of one choice', async t => {
    const observation = await created('observations', { code: 'x', patientId: patient.id, valueString: 'a' })
    const both = [{ op: 'add', path: '/valueInteger', value: 5 }, { op: 'replace', path: '/valueString', value: 'a' }]
    for (const change of [{ valueString: 'a', valueInteger: 5 }, { ...observation, valueInteger: 5 }, both]) {
      t.match(await patched('observations', observation, change), {
        status: 422,
        body: { issues: [{ expression: ['valueString'] }, { expression: ['valueInteger'] }] }
      })
    }
    const medication = await created('medications', { code: 'aspirin' })
    const prescription = await created('prescriptions', {
      medication: 'aspirin',
      patientId: patient.id,
      prescriberId: practitioner.id
    })
    t.equal(
      (await patched('prescriptions', prescription, { ...prescription, medicationId: medication.id })).status,
      422
    )
    const { status, data } = await patched('prescriptions', prescription, {
      ...prescription,
      medicationId: medication.id,
      medication: null
    })
    t.match([status, data], [200, { medicationId: medication.id, medication: undefined }])
  })
})

t.test('a record in which two fields show the same can be changed in either of them and sent back whole', async t => {
  const client = await clientOf(await startGateway(t))
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
  const whole = await client.send('PATCH', `practitioner-roles/${data.id}`, {
    ...part.data,
    availableTime: [{ daysOfWeek: ['wed'] }]
  })
  t.match([whole.status, whole.data], [200, { availableDays: ['wed'], availableStartTime: undefined }])

  // No client can make it so, and R4 does not allow it: another system stored both.
  const both = { resourceType: 'Observation', status: 'final', code: { text: 'x' }, valueString: 'a', valueInteger: 5 }
  const shown = observations.toSimple(both)
  const { changed, stored: kept } = changedFields(observations as never, { ...shown, status: 'amended' }, shown)
  t.strictSame(observations.patch(both, { ...kept, ...changed }), { ...both, status: 'amended' })
  t.throws(
    () => changedFields(observations as never, { ...shown, valueString: 'b' }, shown),
    { code: 'VALIDATION_ERROR' },
    'of which the other would undo the change'
  )
})
