import { test } from 'tap'
import { observations } from '../../src/mappings/resources/observations.js'

const systolic = {
  code: { text: 'systolic' },
  valueQuantity: { value: 120, unit: 'mmHg' },
  interpretation: [{ text: 'normal' }],
  referenceRange: [{ high: { value: 140, unit: 'mmHg' } }]
}
const diastolic = { code: { text: 'diastolic' }, dataAbsentReason: { text: 'not measured' } }
const stored = { resourceType: 'Observation', component: [systolic, diastolic] }
const shown = [{ code: 'systolic', value: 120, unit: 'mmHg' }, { code: 'diastolic' }]

// No field shows what is said of a component's value, so it went on being normal, or not measured, whatever the value
// became.
test('a changed value of a component does not keep what was said of the old one', async t => {
  const { interpretation: _, ...bare } = systolic
  const changedTo = (...component: object[]) => observations.patch(stored, { component }).component
  t.strictSame(changedTo({ ...shown[0], value: 210 }, { code: 'diastolic', value: 130, unit: 'mmHg' }), [
    { ...bare, valueQuantity: { value: 210, unit: 'mmHg' } },
    { code: diastolic.code, valueQuantity: { value: 130, unit: 'mmHg' } }
  ])
  t.strictSame(changedTo({ ...shown[0], unit: 'kPa' }, shown[1]!), [
    { ...bare, valueQuantity: { value: 120, unit: 'kPa' } },
    diastolic
  ])
})

test('it stays beside a value that stays', async t => {
  const { component } = observations.patch(stored, { component: [...shown, { code: 'pulse', value: 70 }] })
  t.match(component, [systolic, diastolic, { code: { text: 'pulse' } }])
  t.equal(observations.patch(stored, { component: shown }), stored)
})
