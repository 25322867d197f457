import { test } from 'tap'
import { checkChange } from '../../src/mappings/core/validate.js'
import { medicationStatements } from '../../src/mappings/resources/medication-statements.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'

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

// The code that another system had stored went on saying twice a day beside a frequency that a client had changed to
// three times.
test('a changed frequency does not leave the code of the old one in the record', async t => {
  const timingBy = (change: object): unknown => prescriptions.patch(stored, { dosage: change }).dosageInstruction
  t.strictSame(checkChange(prescriptions, { dosage: { ...dosage, frequency: 3 } }), [])
  t.strictSame(timingBy({ ...dosage, frequency: 3 }), [
    { ...stored.dosageInstruction[0], timing: { repeat: { ...twiceADay.repeat, frequency: 3 } } },
    { timing: twiceADay }
  ])
  t.strictSame(timingBy({ ...dosage, periodUnit: 'wk' }), [
    { ...stored.dosageInstruction[0], timing: { repeat: { ...twiceADay.repeat, periodUnit: 'wk' } } },
    { timing: twiceADay }
  ])
  t.match(timingBy({ route: 'oral' }), [
    { timing: { repeat: { timeOfDay: ['08:00:00'] }, code: undefined } },
    { timing: twiceADay }
  ])
  const statement = { resourceType: 'MedicationStatement', dosage: [{ timing: { code } }] }
  t.strictSame(medicationStatements.patch(statement, { dosage: { frequency: 3 } }).dosage, [
    { timing: { repeat: { frequency: 3 } } }
  ])
})

test('the code of how often it is taken stays while nothing of that changes', async t => {
  const changed = prescriptions.patch(stored, {
    dosage: { ...dosage, dose: { value: 500, unit: 'mg' }, route: 'rectal' }
  })
  t.match(changed.dosageInstruction, [{ timing: twiceADay }, { timing: twiceADay }])
  t.equal(prescriptions.patch(stored, { dosage }), stored)
})
