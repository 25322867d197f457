/**
 * Bodies that once took the square of their length. They are longer here than any that is let in, so that the square
 * would take minutes and end the test, while the time that they should take is a second on a busy machine too.
 */
import t from 'tap'
import { maxIssues } from '../../src/envelope/failures.js'
import { checkChange, checkCreate } from '../../src/mappings/core/validate.js'
import { encounters } from '../../src/mappings/resources/encounters.js'
import { patients } from '../../src/mappings/resources/patients.js'

t.test('of a hundred thousand names that are no fields as many are told as it takes', async t => {
  const body = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`n${i}`, i % 2 === 0 ? 1 : null]))
  t.equal(checkCreate(patients, { firstName: 'Ada', lastName: 'Byron', ...body }).length, maxIssues)
  t.equal(checkChange(patients, body).length, maxIssues)
})

t.test('a list is changed in the time of its length', async t => {
  const participants = Array.from({ length: 30_000 }, (_, i) => ({
    practitionerId: `Practitioner/p${i}`,
    role: 'nurse',
    period: { start: '2020' }
  }))
  const before = encounters.toFhir({ patientId: '1', participants })
  for (const [change, after] of Object.entries({
    reversed: participants.toReversed(),
    revised: participants.map(participant => ({ ...participant, role: 'doctor' })),
    replaced: participants.map((_, i) => ({ practitionerId: `Practitioner/q${i}`, role: 'nurse' })),
    shortened: participants.slice(1)
  })) {
    const { participant } = encounters.patch(before, { participants: after })
    t.equal((participant as unknown[]).length, after.length, change)
  }
  const unfit = participants.map(({ role }) => ({ role }))
  t.equal(
    checkChange(encounters, { participants: unfit }, { participants: participants.toReversed() }).length,
    1,
    'checked against what is shown'
  )
})
