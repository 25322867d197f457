import type { Test } from 'tap'
import { createGatewayClient, unlimitedPlans } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'

const toLoinc = (code: string) => ({ system: 'http://loinc.org', code })
const amount = { value: 120, unit: 'mmHg', system: 'http://unitsofmeasure.org', code: 'mm[Hg]' }

/** The forms of fields that clients of other services send, and the one form in which each is returned. */
export async function testDocumentedForms (t: Test, fhirUrl: string): Promise<void> {
  const gateway = await startGateway(t, { fhirUrl, plans: unlimitedPlans })
  const client = await createGatewayClient(gateway)
  const { send } = client
  const read = async (path: string, body: object) => {
    const created = await send('POST', path, body)
    if (created.status !== 201) throw new Error(`${path}: ${created.text}`)
    const { status, data } = await send('GET', `${path}/${created.data.id}`)
    t.equal(status, 200)
    return { data, warnings: created.body.meta.warnings }
  }
  const { data: { id: patientId } } = await read('patients', { firstName: 'Ada', lastName: 'Byron' })

  await t.test('a blood pressure sent with component[].valueQuantity is stored, and shown as value and unit', async t => {
    const { data } = await read('observations', {
      code: toLoinc('85354-9'),
      patientId,
      component: [
        { code: toLoinc('8480-6'), valueQuantity: amount },
        { code: toLoinc('8462-4'), valueString: 'too low to measure' },
        { code: toLoinc('8478-0'), valueBoolean: true }
      ]
    })
    t.same(data.component.map(({ value, unit }: { value: unknown; unit?: string }) => [value, unit]), [
      [120, 'mmHg'],
      ['too low to measure', undefined],
      [true, undefined]
    ])
    const raw = await gateway.inject({
      url: `/v1/fhir/Observation/${data.id}`,
      headers: { authorization: `Bearer ${(await gateway.createKey({ tenantId: client.tenantId })).secret}` }
    })
    t.match(raw.json().component[0].valueQuantity, amount, 'with the code of its unit')
  })

  await t.test('two forms of one value are rejected with the field to remove', async t => {
    const { status, body } = await send('POST', 'observations', {
      code: toLoinc('85354-9'),
      patientId,
      component: [{ code: toLoinc('8480-6'), value: 1, valueString: 'x' }]
    })
    t.equal(status, 422)
    t.match(body.issues[0].expression, [/^component\[0\]/])
  })

  await t.test('the target of a goal is accepted as detailQuantity and detailString', async t => {
    const { data } = await read('goals', {
      description: 'Walk',
      lifecycleStatus: 'active',
      patientId,
      target: [
        { measure: toLoinc('55423-8'), detailQuantity: { value: 8000, unit: 'steps' } },
        { measure: toLoinc('55423-8'), detailString: 'to the shop' }
      ]
    })
    t.match(data.target[0].detail, { unit: 'steps' })
    t.equal(data.target[1].detail, 'to the shop')
  })

  await t.test('a task accepts and returns dates, times and references', async t => {
    const values = [
      { type: 'a', valueDate: '2026-01-02' },
      { type: 'b', valueDateTime: '2026-01-02T03:04:05Z' },
      { type: 'c', valueReference: patientId }
    ]
    const { data } = await read('tasks', {
      status: 'requested',
      intent: 'order',
      patientId,
      output: values,
      input: values.with(2, { type: 'c', valueReference: `Patient/${patientId}` })
    })
    t.same(data.input, values)
    t.same(data.output, values)
  })

  await t.test('a diagnosis of an encounter as text, and the diet of a hospital stay, are stored', async t => {
    const hospitalization = { dietPreference: ['vegetarian'], reAdmission: 'yes', specialCourtesy: ['VIP'] }
    const { data } = await read('encounters', {
      patientId, status: 'planned', class: 'IMP', type: 'visit', diagnosis: [{ condition: 'Asthma' }], hospitalization
    })
    t.same(data.diagnosis, [{ condition: 'Asthma' }])
    t.same(data.hospitalization, hospitalization)
    t.same(data.type, ['visit'], 'one type is a list as two are')
  })

  await t.test('a list of one reason is returned as a list, as a list of two is', async t => {
    const statement = { patientId, status: 'active', medication: 'Aspirin' }
    for (const reasonCode of [['pain'], ['pain', 'fever']]) {
      t.same((await read('medication-statements', { ...statement, reasonCode })).data.reasonCode, reasonCode)
    }
    t.same((await read('medication-statements', { ...statement, reasonCode: 'pain' })).data.reasonCode, ['pain'])
  })

  await t.test('an NPI with a wrong check digit is stored with a warning', async t => {
    const practitioner = { firstName: 'Grace', lastName: 'Hopper' }
    const { data, warnings } = await read('practitioners', { ...practitioner, npi: '1234567890' })
    t.equal(data.npi, '1234567890')
    t.match(JSON.stringify(warnings), /check digit/)
    t.notMatch(JSON.stringify((await read('practitioners', { ...practitioner, npi: '1234567893' })).warnings), /check digit/)
    t.equal((await send('POST', 'practitioners', { ...practitioner, npi: '123456789' })).status, 422)
  })

  await t.test('a time of day without seconds, and the day of a note, are completed with a warning', async t => {
    const { data: { id: practitionerId } } = await read('practitioners', { firstName: 'Joan', lastName: 'Clarke' })
    const availableTime = [{ daysOfWeek: ['mon'], availableStartTime: '09:00', availableEndTime: '17:30:00' }]
    const { data: role } = await read('practitioner-roles', { practitionerId, role: 'doctor', availableTime })
    t.match(role.availableTime[0], { availableStartTime: '09:00:00', availableEndTime: '17:30:00' })
    const { data, warnings } = await read('notes', { patientId, title: 'Note', content: 'Text', date: '2025-01-15' })
    t.match(data.date, /^2025-01-15T00:00:00(?:\.000)?(?:Z|\+00:00)$/)
    t.match(warnings, [{ severity: 'warning', expression: ['date'] }])
    const start = { start: '2025-01-15', end: '2025-01-16', status: 'booked' }
    t.equal((await send('POST', 'appointments', start)).status, 422, 'an appointment has no day alone')
  })

  await t.test('a record has the time of its creation after changes too', async t => {
    const { data: created } = await read('patients', { firstName: 'Ada', lastName: 'King' })
    for (const lastName of ['Byron', 'Lovelace']) {
      const { data } = await send('PATCH', `patients/${created.id}`, { lastName })
      t.equal(data.createdAt, created.createdAt)
    }
    const { data } = await send('GET', `patients/${created.id}`)
    t.equal(data.createdAt, created.createdAt)
    t.not(data.updatedAt, created.updatedAt)
  })

  await t.test('an id of an own record in a field for names becomes a reference, and the filter finds it', async t => {
    const { data: { id } } = await read('organizations', { name: 'Lab' })
    const { data: lab } = await read('labs', { code: 'CBC', patientId, performer: id, resultsInterpreter: 'Smith' })
    t.match(lab, { performerId: `Organization/${id}`, resultsInterpreter: 'Smith' })
    t.notOk('performer' in lab)
    t.same((await send('GET', `labs?performerId=${id}`)).data.data.map(({ id }: { id: string }) => id), [lab.id])
    const { data: event } = await read('audit-events', {
      type: 'rest',
      agent: [{ who: id, requestor: true }, { who: 'Dr. Smith', requestor: false }]
    })
    t.same(event.agent.map(({ who }: { who: string }) => who), [`Organization/${id}`, 'Dr. Smith'])
    t.equal((await send('GET', `audit-events?agentId=${id}`)).data.data.length, 1)
    const { data: report } = await read('labs', { code: 'CBC', patientId, performer: `Organization/${id}` })
    t.equal(report.performerId, `Organization/${id}`)
  })

  await t.test('texts, and other names of a field, are accepted as documented', async t => {
    const content = { contentType: 'image/png', url: 'http://example.org/a.png' }
    const { data: media } = await read('media', { content, patientId, status: 'completed' })
    const { data: lab } = await read('labs', { code: 'CBC', patientId, media: [{ linkId: media.id }] })
    t.same(lab.media, [{ mediaId: media.id }])
    const prognosis = [{ text: 'Good' }]
    const { data: assessment } = await read('assessments', { patientId, status: 'completed', summary: 'Well', prognosis })
    t.same(assessment.prognosis, ['Good'])
    const { data: doctor } = await read('practitioners', {
      lastName: 'Curie',
      qualifications: [{ name: 'MD', issuer: 'Sorbonne', identifier: 'MD-1' }]
    })
    t.same(doctor.qualifications, [{ name: 'MD', issuer: 'Sorbonne', identifier: { value: 'MD-1' } }])
    const { data: { id: coverageId } } = await read('coverages', { status: 'active', patientId, payorIds: [`Patient/${patientId}`] })
    const { data: claim } = await read('claims', {
      patientId,
      status: 'active',
      type: 'professional',
      use: 'claim',
      priority: 'normal',
      providerId: doctor.id,
      insurance: [{ sequence: 1, focal: true, coverageId }],
      note: 'Please hurry.'
    })
    t.equal(claim.note, 'Please hurry.')
    for (const measureId of ['http://example.org/m|1.0', 'urn:oid:1.2.3', 'urn:uuid:0b0c9b1e-6c5c-4f3e-8a55-5f5f6cf4a9a1']) {
      const period = { start: '2026-01-01', end: '2026-03-31' }
      const { data } = await read('measure-reports', { type: 'summary', period, measureId })
      t.equal(data.measureId, measureId)
    }
  })

  await t.test('an organization\'s contact has an address, and knowledge of a medicine needs no code', async t => {
    const address = { line: ['1 High St'], city: 'Leeds' }
    const { data } = await read('organizations', { name: 'Clinic', contact: [{ lastName: 'Hopper', address }] })
    t.match(data.contact[0].address, { city: 'Leeds' })
    t.equal((await read('medication-knowledge', { synonym: ['ASA'] })).data.status, 'active')
  })
}
