import t from 'tap'
import { ExactNumber } from '../../src/json/json.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { practitionerRoles } from '../../src/mappings/resources/practitioner-roles.js'
import { riskAssessments } from '../../src/mappings/resources/risk-assessments.js'
import { computeChangedFields } from '../../src/record-input/changed-record.js'

t.test('a field that is sent with its shown value is no change, and read-only fields may be sent with theirs', async t => {
  const shown = { id: '1', versionId: '2', firstName: 'Ada', fullName: 'Ada Byron', address: { city: 'Bern' } }
  t.strictSame(computeChangedFields(patients as never, shown, shown), {
    changed: {},
    stored: { firstName: 'Ada', address: { city: 'Bern' } },
    echoed: {}
  })
  t.strictSame(computeChangedFields(patients as never, { ...shown, firstName: 'Eve', gender: null }, shown), {
    changed: { firstName: 'Eve', gender: null },
    stored: { address: { city: 'Bern' } },
    echoed: {}
  })
  for (const change of [
    { id: '2' },
    { id: null },
    { versionId: '1' },
    { fullName: 'Eve' },
    { fullName: null },
    { resourceType: 'Patient' }
  ]) {
    t.throws(
      () => computeChangedFields(patients as never, change, shown),
      { code: 'VALIDATION_ERROR', issues: [{ expression: Object.keys(change), code: 'business-rule' }] },
      JSON.stringify(change)
    )
  }
})

t.test('of two fields that were read and show the same, neither undoes a change of the other', async t => {
  const shown = { versionId: '2', availableDays: ['mon'], availableTime: [{ daysOfWeek: ['mon'] }] }
  t.strictSame(computeChangedFields(practitionerRoles as never, { ...shown, availableDays: ['tue'] }, shown), {
    changed: { availableDays: ['tue'] },
    stored: {},
    echoed: { availableTime: shown.availableTime }
  })
  t.strictSame(computeChangedFields(practitionerRoles as never, { ...shown, availableTime: null }, shown), {
    changed: { availableTime: null },
    stored: {},
    echoed: { availableDays: ['mon'] }
  })
})

t.test('a number that JavaScript rounded equals the shown one, and one with digits of its own does not', async t => {
  const [exact, more] = [new ExactNumber('0.10'), new ExactNumber('0.100')]
  const shown = { prediction: [{ outcome: 'a', probabilityDecimal: 0.5 }, { outcome: 'b', probabilityDecimal: exact }] }
  const listChanged = (...prediction: object[]) =>
    computeChangedFields(riskAssessments as never, { prediction }, shown).changed
  t.strictSame(listChanged(shown.prediction[0]!, { outcome: 'b', probabilityDecimal: 0.1 }), {})
  t.strictSame(
    listChanged({ probabilityDecimal: 0.1, outcome: 'b' }),
    { prediction: [shown.prediction[1]] },
    'in whatever place and order'
  )
  for (const other of [
    { outcome: 'b', probabilityDecimal: more },
    { outcome: 'c', probabilityDecimal: 0.1 },
    { outcome: 'b', probabilityDecimal: 0.2 }
  ]) {
    t.strictSame(listChanged(other), { prediction: [other] })
  }
})
