import { test } from 'tap'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import { medicationStatements } from '../../src/mappings/resources/medication-statements.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'

const repeat = {
  frequency: 1,
  frequencyMax: 2,
  period: 4,
  periodMax: 6,
  _periodMax: { id: 'a' },
  periodUnit: 'h',
  timeOfDay: ['08:00:00']
}
const stored = {
  resourceType: 'MedicationRequest',
  dosageInstruction: [{ timing: { repeat }, route: { text: 'oral' } }]
}
const shown = { frequency: 1, period: 4, periodUnit: 'h', route: 'oral' }

// "1 to 2 times in 4 to 6 h" became "3 to 2 times" when a client set the 1 that it saw to 3, and "1 to 2 times in 1 h"
// when it set the 4 to 1.
test('a change of how often a medicine is taken does not leave upper ends that nobody sees', async t => {
  const timing = { frequency: 1, period: 4, periodUnit: 'h', timeOfDay: ['08:00:00'] }
  for (const change of [{ frequency: 3 }, { period: 1 }, { periodUnit: 'd' }]) {
    const changes = { dosage: { ...shown, ...change } }
    t.strictSame(checkChange(prescriptions, changes), [])
    const after = prescriptions.patch(stored, changes)
    t.strictSame(after.dosageInstruction, [{ timing: { repeat: { ...timing, ...change } }, route: { text: 'oral' } }])
    t.strictSame(checkRules(prescriptions, after, ['dosage'], stored), [])
  }
  const statement = { resourceType: 'MedicationStatement', dosage: [{ timing: { repeat } }] }
  t.match(medicationStatements.patch(statement, { dosage: { frequency: 3 } }).dosage, [
    { timing: { repeat: { frequency: 3, period: undefined, frequencyMax: undefined, periodMax: undefined } } }
  ])
})

test('how often it is taken can be removed, with its upper ends', async t => {
  t.strictSame(prescriptions.patch(stored, { dosage: { route: 'oral' } }).dosageInstruction, [
    { timing: { repeat: { timeOfDay: ['08:00:00'] } }, route: { text: 'oral' } }
  ])
  const every = {
    resourceType: 'MedicationRequest',
    dosageInstruction: [{ timing: { repeat: { period: 4, periodMax: 6, periodUnit: 'h' } } }]
  }
  t.equal(prescriptions.patch(every, { dosage: null }).dosageInstruction, undefined)
})

test('the upper ends stay while nothing of how often it is taken changes', async t => {
  t.match(prescriptions.patch(stored, { dosage: { ...shown, dose: { value: 500, unit: 'mg' } } }).dosageInstruction, [
    { timing: { repeat } }
  ])
  t.equal(prescriptions.patch(stored, { dosage: shown }), stored)
})
