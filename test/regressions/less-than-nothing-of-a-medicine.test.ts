import { test } from 'tap'
import { checkChange } from '../../src/mappings/core/validate.js'
import { immunizations } from '../../src/mappings/resources/immunizations.js'
import { medicationStatements } from '../../src/mappings/resources/medication-statements.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'

const negative = { value: -5, unit: 'mg' }
const none = { value: 0, unit: 'mg' }

test('a dose or an amount to dispense that is below zero is refused', async t => {
  for (const [mapping, path, changes] of [
    [prescriptions, 'dosage.dose.value', (dose: object) => ({ dosage: { dose } })],
    [medicationStatements, 'dosage.dose.value', (dose: object) => ({ dosage: { dose } })],
    [prescriptions, 'quantity.value', (quantity: object) => ({ quantity })],
    [immunizations, 'doseQuantity.value', (doseQuantity: object) => ({ doseQuantity })]
  ] as const) {
    t.match(checkChange(mapping, changes(negative)), [{ expression: [path], diagnostics: `${path}: at least 0` }])
    t.strictSame(checkChange(mapping, changes(none)), [])
    t.strictSame(
      checkChange(mapping, changes(negative), changes(negative)),
      [],
      'one that is stored so may be sent back'
    )
  }
})
