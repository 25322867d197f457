import t from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import { encounters } from '../../src/mappings/resources/encounters.js'
import { medicationDispenses } from '../../src/mappings/resources/medication-dispenses.js'
import { prescriptions } from '../../src/mappings/resources/prescriptions.js'

const minutes = (value: unknown, code = 'h'): unknown =>
  encounters.toSimple({ resourceType: 'Encounter', length: { value, code } }).lengthMinutes

// 8.2 hours were shown as 491.99999999999994 minutes.
t.test('a length in a larger unit is shown as the decimal that it is', async t => {
  t.equal(minutes(8.2), 492)
  t.equal(minutes(1.1, 'd'), 1584)
  t.equal(minutes(0.0000007), 0.000042)
  t.equal(minutes(new ExactNumber('8.20')), 492)
  t.equal(minutes(new ExactNumber('1.5E+1')), 900)
  const weeks = { value: 1.4, code: 'wk' }
  t.equal(
    prescriptions.toSimple({ resourceType: 'MedicationRequest', dispenseRequest: { expectedSupplyDuration: weeks } })
      .supplyDays,
    9.8
  )
  t.equal(medicationDispenses.toSimple({ resourceType: 'MedicationDispense', daysSupply: weeks }).daysSupply, 9.8)
})
