import t, { type Test } from 'tap'
import { parseChanges } from '../../src/api/resources/changes.js'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import { medicationStatements } from '../../src/mappings/resources/medication-statements.js'
import { observations } from '../../src/mappings/resources/observations.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'
import { startGateway } from '../harness/gateway.js'

const code = {
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-GTSAbbreviation', code: 'BID' }],
  text: 'twice a day'
}
const twiceADay = { repeat: { frequency: 2, period: 1, periodUnit: 'd', timeOfDay: ['08:00:00'] }, code }
const stored = {
  resourceType: 'MedicationRequest',
  dosageInstruction: [{ timing: twiceADay, route: { text: 'oral' } }, { timing: twiceADay }]
}
const dosage = { frequency: 2, period: 1, periodUnit: 'd', route: 'oral' }

// The code that another system had stored still meant twice a day, while a client had changed the frequency to three
// times.
t.test('a changed frequency does not leave the code of the old one in the record', async t => {
  const patchDosage = (change: object): unknown => prescriptions.patch(stored, { dosage: change }).dosageInstruction
  t.strictSame(checkChange(prescriptions, { dosage: { ...dosage, frequency: 3 } }), [])
  t.strictSame(patchDosage({ ...dosage, frequency: 3 }), [
    { ...stored.dosageInstruction[0], timing: { repeat: { ...twiceADay.repeat, frequency: 3 } } },
    { timing: twiceADay }
  ])
  t.strictSame(patchDosage({ ...dosage, periodUnit: 'wk' }), [
    { ...stored.dosageInstruction[0], timing: { repeat: { ...twiceADay.repeat, periodUnit: 'wk' } } },
    { timing: twiceADay }
  ])
  t.match(patchDosage({ route: 'oral' }), [
    { timing: { repeat: { timeOfDay: ['08:00:00'] }, code: undefined } },
    { timing: twiceADay }
  ])
  const statement = { resourceType: 'MedicationStatement', dosage: [{ timing: { code } }] }
  t.strictSame(medicationStatements.patch(statement, { dosage: { frequency: 3 } }).dosage, [
    { timing: { repeat: { frequency: 3 } } }
  ])
})

t.test('the code of how often it is taken stays while nothing of that changes', async t => {
  const changed = prescriptions.patch(stored, {
    dosage: { ...dosage, dose: { value: 500, unit: 'mg' }, route: 'rectal' }
  })
  t.match(changed.dosageInstruction, [{ timing: twiceADay }, { timing: twiceADay }])
  t.equal(prescriptions.patch(stored, { dosage }), stored)
})

const repeat = {
  frequency: 1,
  frequencyMax: 2,
  period: 4,
  periodMax: 6,
  _periodMax: { id: 'a' },
  periodUnit: 'h',
  timeOfDay: ['08:00:00']
}
const everyFewHours = {
  resourceType: 'MedicationRequest',
  dosageInstruction: [{ timing: { repeat }, route: { text: 'oral' } }]
}
const shownDosage = { frequency: 1, period: 4, periodUnit: 'h', route: 'oral' }

// "1 to 2 times in 4 to 6 h" became "3 to 2 times" when a client set the 1 that it read to 3, and "1 to 2 times in 1 h"
// when it set the 4 to 1.
t.test('a change of how often a medicine is taken leaves no hidden upper limits', async t => {
  const timing = { frequency: 1, period: 4, periodUnit: 'h', timeOfDay: ['08:00:00'] }
  for (const change of [{ frequency: 3 }, { period: 1 }, { periodUnit: 'd' }]) {
    const changes = { dosage: { ...shownDosage, ...change } }
    t.strictSame(checkChange(prescriptions, changes), [])
    const after = prescriptions.patch(everyFewHours, changes)
    t.strictSame(after.dosageInstruction, [{ timing: { repeat: { ...timing, ...change } }, route: { text: 'oral' } }])
    t.strictSame(checkRules(prescriptions, after, { written: ['dosage'], before: everyFewHours }), [])
  }
  const statement = { resourceType: 'MedicationStatement', dosage: [{ timing: { repeat } }] }
  t.match(medicationStatements.patch(statement, { dosage: { frequency: 3 } }).dosage, [
    { timing: { repeat: { frequency: 3, period: undefined, frequencyMax: undefined, periodMax: undefined } } }
  ])
})

t.test('how often it is taken can be removed, with its upper ends', async t => {
  t.strictSame(prescriptions.patch(everyFewHours, { dosage: { route: 'oral' } }).dosageInstruction, [
    { timing: { repeat: { timeOfDay: ['08:00:00'] } }, route: { text: 'oral' } }
  ])
  const every = {
    resourceType: 'MedicationRequest',
    dosageInstruction: [{ timing: { repeat: { period: 4, periodMax: 6, periodUnit: 'h' } } }]
  }
  t.equal(prescriptions.patch(every, { dosage: null }).dosageInstruction, undefined)
})

t.test('the upper ends stay while nothing of how often it is taken changes', async t => {
  t.match(prescriptions.patch(everyFewHours, { dosage: { ...shownDosage, dose: { value: 500, unit: 'mg' } } }).dosageInstruction, [
    { timing: { repeat } }
  ])
  t.equal(prescriptions.patch(everyFewHours, { dosage: shownDosage }), everyFewHours)
})

/** Starts a gateway. @returns a function that sends JSON to it and parses the envelope */
async function startSending (t: Test): Promise<(method: string, path: string, body: unknown) => Promise<any>> {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  return async (method, path, body) => {
    const response = await fetch(`${url}/v1/${path}`, {
      method,
      headers: { 'x-api-key': secret, 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    return await response.json()
  }
}

const kilograms = { value: 70.5, unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' }

// A merge left the code of the old unit next to the new unit, so that 155 lb were 155 kg for a reader of the code.
t.test('a quantity whose unit or code changes does not keep the other one of the old unit', async t => {
  const send = await startSending(t)
  const { data: { id: patientId } } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron' })
  const patchAndRead = async (valueQuantity: unknown): Promise<unknown> => {
    const { data: { id } } = await send('POST', 'observations', { patientId, code: 'weight', valueQuantity: kilograms })
    return (await send('PATCH', `observations/${id}`, { valueQuantity })).data.valueQuantity
  }
  t.strictSame(await patchAndRead({ value: 155, unit: 'lb' }), { value: 155, unit: 'lb' })
  t.strictSame(await patchAndRead({ value: 155, code: '[lb_av]' }), {
    value: 155,
    system: kilograms.system,
    code: '[lb_av]'
  })
  t.strictSame(await patchAndRead({ value: 155, unit: 'lb', code: '[lb_av]' }), {
    value: 155,
    unit: 'lb',
    system: kilograms.system,
    code: '[lb_av]'
  })
})

t.test('a quantity preserves its unit and code when neither changes', t => {
  const applyChange = (before: object, change: object): unknown =>
    parseChanges({ field: change }, { field: before }).field
  t.strictSame(applyChange(kilograms, { value: 71 }), { ...kilograms, value: 71 })
  t.strictSame(applyChange(kilograms, { unit: 'kilogram', code: 'kg' }), { ...kilograms, unit: 'kilogram' })
  t.strictSame(applyChange(kilograms, { code: null, system: null }), { value: 70.5, unit: 'kg' })
  t.strictSame(applyChange(kilograms, { unit: null }), { value: 70.5, system: kilograms.system, code: 'kg' })
  t.strictSame(applyChange({ value: 1, unit: 'kg' }, { code: 'kg', system: 'u' }), {
    value: 1,
    unit: 'kg',
    code: 'kg',
    system: 'u'
  })
  t.strictSame(applyChange({ low: kilograms }, { low: { value: 1, unit: 'lb' } }), { low: { value: 1, unit: 'lb' } })
  t.end()
})

const systolic = {
  code: { text: 'systolic' },
  valueQuantity: { value: 120, unit: 'mmHg' },
  interpretation: [{ text: 'normal' }],
  referenceRange: [{ high: { value: 140, unit: 'mmHg' } }]
}
const diastolic = { code: { text: 'diastolic' }, dataAbsentReason: { text: 'not measured' } }
const bloodPressure = { resourceType: 'Observation', component: [systolic, diastolic] }
const shownComponents = [{ code: 'systolic', value: 120, unit: 'mmHg' }, { code: 'diastolic' }]

// No field shows the interpretation of a component's value, so it stayed normal, or not measured, whatever the new
// value was.
t.test('a changed value of a component does not keep the interpretation of the old one', async t => {
  const { interpretation: _, ...bare } = systolic
  const patchComponents = (...component: object[]) => observations.patch(bloodPressure, { component }).component
  t.strictSame(patchComponents({ ...shownComponents[0], value: 210 }, { code: 'diastolic', value: 130, unit: 'mmHg' }), [
    { ...bare, valueQuantity: { value: 210, unit: 'mmHg' } },
    { code: diastolic.code, valueQuantity: { value: 130, unit: 'mmHg' } }
  ])
  t.strictSame(patchComponents({ ...shownComponents[0], unit: 'kPa' }, shownComponents[1]!), [
    { ...bare, valueQuantity: { value: 120, unit: 'kPa' } },
    diastolic
  ])
})

t.test('it stays with an unchanged value', async t => {
  const { component } = observations.patch(bloodPressure, { component: [...shownComponents, { code: 'pulse', value: 70 }] })
  t.match(component, [systolic, diastolic, { code: { text: 'pulse' } }])
  t.equal(observations.patch(bloodPressure, { component: shownComponents }), bloodPressure)
})

// The document allows null for each member; for the last one the response was 422, that an object was expected.
t.test('an object whose last member is removed is removed', async t => {
  const send = await startSending(t)
  const {
    data: { id: patientId }
  } = await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', address: { city: 'London' } })
  const {
    data: { id }
  } = await send('POST', 'encounters', {
    patientId,
    class: 'AMB',
    status: 'planned',
    period: { start: '2026-03-14', end: '2026-03-15' }
  })
  const { data: task } = await send('POST', 'tasks', {
    status: 'requested',
    intent: 'order',
    restriction: { repetitions: 2, period: { start: '2026' } }
  })

  for (let time = 1; time <= 2; time++) {
    const { data, meta } = await send('PATCH', `encounters/${id}`, { period: { start: null, end: null } })
    t.strictSame([meta.status, data?.period], [200, undefined], `time ${time}`)
  }
  const patched = await send('PATCH', `patients/${patientId}`, [{ op: 'remove', path: '/address/city' }])
  t.strictSame([patched.meta.status, patched.data?.address], [200, undefined])
  t.strictSame(
    (await send('PATCH', `tasks/${task.id}`, { restriction: { period: { start: null } } })).data?.restriction,
    { repetitions: 2 }
  )
  t.strictSame(
    (await send('PATCH', `tasks/${task.id}`, { restriction: { repetitions: null } })).data?.restriction,
    undefined
  )

  const observation = await send('POST', 'observations', { patientId, code: { code: 'x' } })
  t.match(
    await send('PATCH', `observations/${observation.data.id}`, { code: { code: null } }),
    { code: 'VALIDATION_ERROR', issues: [{ expression: ['code'], code: 'required' }] },
    'but not what is required'
  )
  t.match(await send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', address: {} }), {
    code: 'VALIDATION_ERROR'
  })
  for (const body of [
    { address: {} },
    { middleName: {} },
    { middleName: { first: null } },
    [{ op: 'add', path: '/middleName', value: {} }]
  ]) {
    await send('PATCH', `patients/${patientId}`, { middleName: 'King', address: null })
    t.match(
      await send('PATCH', `patients/${patientId}`, body),
      { code: 'VALIDATION_ERROR' },
      `${JSON.stringify(body)} is a mistake, and no removal`
    )
  }
})
