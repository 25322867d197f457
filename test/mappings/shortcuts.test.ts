/** A field that shows a part of another, and that other one, sent together. */
import t from 'tap'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange } from '../../src/mappings/core/validate.js'
import { mappings } from '../../src/mappings/registry.js'

const findMapping = (path: string): Mapping => mappings.find(mapping => mapping.path === path)!

const writeAndRead = (path: string, sent: object): object => {
  const mapping = findMapping(path)
  t.strictSame(checkChange(mapping, sent as never), [], `${path} ${JSON.stringify(sent)}`)
  return mapping.toSimple(mapping.toFhir(sent as never))
}

t.test('an appointment is not stored for another patient than patientId', async t => {
  const other = { actorId: 'Patient/P2' }
  t.match(writeAndRead('appointments', { patientId: 'P1', participants: [other] }), {
    patientId: 'P1',
    participants: [{ actorId: 'Patient/P1', status: 'accepted' }, other]
  })
  t.match(
    writeAndRead('appointments', { patientId: 'P1', participants: [other, { actorId: 'Patient/P1', status: 'tentative' }] }),
    { patientId: 'P1', participants: [{ actorId: 'Patient/P1', status: 'tentative' }, other] },
    'one that is listed is not added again'
  )
})

t.test('a shortcut and its full list in one body are shown by both', async t => {
  t.match(writeAndRead('encounters', { practitionerId: 'A', participants: [{ practitionerId: 'B' }] }), {
    practitionerId: 'A',
    participants: [{ practitionerId: 'A' }, { practitionerId: 'B' }]
  })
  t.match(writeAndRead('practitioners', { specialty: 'Cardiology', qualifications: [{ name: 'MD' }] }), {
    specialty: 'Cardiology',
    qualifications: [{ name: 'Cardiology' }, { name: 'MD' }]
  })
  t.match(writeAndRead('documents', { practitionerId: 'A', authorIds: ['B', 'A'] }), {
    practitionerId: 'A',
    authorIds: ['A', 'B']
  })
  t.match(writeAndRead('claim-responses', { note: 'a', processNote: [{ text: 'b', number: 1 }] }), {
    note: 'a',
    processNote: [{ text: 'a' }, { text: 'b', number: 1 }]
  })
  t.match(writeAndRead('appointments', { basedOnId: '1', basedOnIds: ['2'] }), { basedOnId: '1', basedOnIds: ['1', '2'] })
  t.match(writeAndRead('specimens', { collectedPeriod: { start: '2026' }, collection: { collectorId: '1' } }), {
    collectedPeriod: { start: '2026' },
    collection: { collectorId: '1', collectedPeriod: { start: '2026' } }
  })
})

t.test('two fields that contradict each other are rejected, and both are named', async t => {
  const findRefused = (path: string, sent: object): unknown =>
    checkChange(findMapping(path), sent as never).map(({ expression }) => expression?.[0])
  t.strictSame(
    findRefused('specimens', { collectedPeriod: { start: '2026' }, collection: { collectedDateTime: '2026' } }),
    ['collectedPeriod', 'collection']
  )
  t.strictSame(findRefused('practitioner-roles', { availableDays: ['mon'], availableTime: [{ daysOfWeek: ['tue'] }] }), [
    'availableDays',
    'availableTime'
  ])
  t.strictSame(
    findRefused('notes', {
      contentType: 'text/html',
      content: { contentType: 'application/pdf', url: 'http://example.org/a' }
    }),
    ['contentType', 'content']
  )
  t.strictSame(findRefused('encounters', { practitionerId: null, participants: [{ practitionerId: 'B' }] }), [
    'practitionerId',
    'participants'
  ])
})
