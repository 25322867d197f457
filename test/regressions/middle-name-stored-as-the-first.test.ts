import t from 'tap'
import { checkRules } from '../../src/mappings/core/validate.js'
import { patients } from '../../src/mappings/resources/patients.js'

// R4 has one list of given names, so that a middle name without a first one became the first.
t.test('a middle name is refused where no first name is stored or sent', async t => {
  const unknown = {
    extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }]
  }
  for (const name of [
    [{ family: 'X' }],
    undefined,
    [{ family: 'X', _given: [unknown] }],
    [{ family: 'X', given: [null], _given: [unknown] }]
  ]) {
    const before = { resourceType: 'Patient', ...(name && { name }) }
    const refused = { middleName: 'Marie' }
    t.match(checkRules(patients, patients.patch(before, refused), ['middleName'], before), [
      { expression: ['middleName'], diagnostics: /needs firstName/ }
    ])
    const both = { firstName: 'Eve', middleName: 'Marie' }
    const after = patients.patch(before, both)
    t.match(patients.toSimple(after), both)
    t.strictSame(checkRules(patients, after, Object.keys(both), before), [])
  }
})

t.test('a middle name is added to a first one, beside which something may stand', async t => {
  const before = { resourceType: 'Patient', name: [{ given: ['Eve'], _given: [{ id: '1' }] }] }
  const after = patients.patch(before, { middleName: 'Marie Anne' })
  t.strictSame(after.name, [{ given: ['Eve', 'Marie', 'Anne'], _given: [{ id: '1' }, null, null] }])
  t.strictSame(checkRules(patients, after, ['middleName'], before), [])
  const removed = { firstName: null }
  const whole = { ...after, name: after.name?.map(name => ({ ...name, family: 'X' })) }
  t.match(checkRules(patients, patients.patch(whole, removed), ['firstName'], whole), [
    { expression: ['middleName'], diagnostics: /send both, or remove both/ }
  ], 'no first name is removed from before it')
  const without = patients.patch(whole, { ...removed, middleName: null })
  t.strictSame(without.name, [{ family: 'X' }])
})
