import t from 'tap'
import { listLostPaths } from '../../src/mappings/core/losses.js'
import { backbone } from '../../src/mappings/core/structure.js'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import { concept } from '../../src/mappings/datatypes/concept.js'
import { decimal, text } from '../../src/mappings/datatypes/primitives.js'
import { reference } from '../../src/mappings/datatypes/reference.js'
import { appointments } from '../../src/mappings/resources/appointments.js'
import { claimResponses } from '../../src/mappings/resources/claim-responses.js'
import { documents } from '../../src/mappings/resources/documents.js'
import { notes } from '../../src/mappings/resources/notes.js'
import { observations } from '../../src/mappings/resources/observations.js'
import { patients } from '../../src/mappings/resources/patients.js'
import { practitioners } from '../../src/mappings/resources/practitioners.js'

/** Changes that once lost FHIR content which the simple form does not show; found by the laws. */
const hidden = [{ url: 'http://example.org/hidden', valueBoolean: true }]

t.test('removing the first of two references that look alike removes the first', async t => {
  const basedOn = reference('ServiceRequest').first('basedOn')
  const [first, second] = [
    { reference: 'ServiceRequest/1', display: 'a' },
    { reference: 'ServiceRequest/1', display: 'b' }
  ]
  t.strictSame(basedOn.write({ basedOn: [first, second] }, undefined), { basedOn: [second] })
})

t.test('removing the first item leaves the order of those that cannot be shown', async t => {
  const type = concept.first('type')
  t.strictSame(type.write({ type: [{ text: 'a' }, { extension: hidden }, { text: 'b' }] }, undefined), {
    type: [{ extension: hidden }, { text: 'b' }]
  })
})

// An extension of a primitive belongs to its value (decision 001); the response to the change names the removed ones.
t.test('a changed first item loses its own extensions, and the others preserve theirs', async t => {
  const given = text.first('given')
  t.strictSame(given.write({ given: ['Ann', 'Bea'], _given: [{ extension: hidden }, { extension: hidden }] }, 'Amy'), {
    given: ['Amy', 'Bea'],
    _given: [null, { extension: hidden }]
  })
  const before = { resourceType: 'Patient', name: [{ given: ['Ann'], _given: [{ extension: hidden }] }] }
  t.strictSame(listLostPaths(patients, before, patients.patch(before, { firstName: 'Amy' })), ['name.given.extension'])
})

t.test('extensions of primitives without values stay when a value is set', async t => {
  const before = { _given: [{ extension: hidden }] }
  t.strictSame(text.first('given').write(before, 'Ann'), {
    given: [null, 'Ann'],
    _given: [{ extension: hidden }, null]
  })
  t.strictSame(text.list('given').write(before, ['Ann']), {
    given: [null, 'Ann'],
    _given: [{ extension: hidden }, null]
  })
})

t.test('a structure is not left without its required parts', async t => {
  const position = backbone({
    longitude: decimal('longitude', { required: true }),
    latitude: decimal('latitude', { required: true })
  })('position')
  t.strictSame(position.write({ position: { longitude: 1, latitude: 2, extension: hidden } }, undefined), {})
  const batch = backbone({ lotNumber: text('lotNumber') })('batch')
  t.strictSame(
    batch.write({ batch: { lotNumber: '1', extension: hidden } }, undefined),
    { batch: { extension: hidden } },
    'one that needs none keeps what it hides'
  )
})

t.test('the old text of a contact’s name is removed with a new family name', async t => {
  const before = {
    resourceType: 'Patient',
    contact: [{ name: { text: 'Ann Old', family: 'Old', given: ['Ann'] }, gender: 'female' }]
  }
  t.strictSame(patients.patch(before, { contact: [{ firstName: 'Ann', lastName: 'New' }] }).contact, [
    { name: { family: 'New', given: ['Ann'] }, gender: 'female' }
  ])
})

// A participant that replaced another one got the period of the one before, since both had the status accepted.
t.test('a new participant has nothing of the one that it replaces', async t => {
  const stored = {
    resourceType: 'Appointment',
    participant: [{ actor: { reference: 'Patient/1' }, status: 'accepted', period: { start: '2026-01-01' } }]
  }
  const another = appointments.patch(stored, { participants: [{ actorId: 'Practitioner/2' }] }) as typeof stored
  t.strictSame(another.participant, [{ actor: { reference: 'Practitioner/2' }, status: 'accepted' }])
  const same = appointments.patch(stored, {
    participants: [{ actorId: 'Patient/1', status: 'declined' }]
  }) as typeof stored
  t.strictSame(same.participant[0]!.period, { start: '2026-01-01' }, 'the same one keeps it')
})

t.test('a section with the same title preserves its hidden parts', async t => {
  const stored = { resourceType: 'Composition', section: [{ title: 'History', orderedBy: { text: 'time' } }] }
  const changed = documents.patch(stored, { sections: [{ title: 'History', text: 'none' }] }) as {
    section: Array<{ orderedBy?: unknown }>
  }
  t.strictSame(changed.section[0]!.orderedBy, { text: 'time' })
})

// The type of a note was dropped silently when its content was sent with it as plain text.
t.test('a shortcut sent together with its whole field counts where the whole field has no value for it', async t => {
  const stored = {
    resourceType: 'DocumentReference',
    content: [{ attachment: { contentType: 'text/plain', data: 'YQ==' } }]
  }
  t.equal(
    notes.toSimple(notes.patch(stored, { content: '<p>b</p>', contentType: 'text/html' })).contentType,
    'text/html'
  )
})

// The specialty is the code of the first qualification; without it the whole qualification was removed, licence number
// and all.
t.test('a specialty is removed alone, or not at all while its qualification has more parts', async t => {
  const removal = { specialty: null }
  const surgery = { code: { text: 'surgery' } }
  const licensed = { ...surgery, identifier: [{ value: 'L-1' }], issuer: { reference: 'Organization/1' } }
  const before = { resourceType: 'Practitioner', qualification: [licensed, surgery] }
  const after = practitioners.patch(before, removal)
  t.strictSame(checkChange(practitioners, removal), [])
  t.match(checkRules(practitioners, after, { written: ['specialty'], before }), [
    { expression: ['specialty'], diagnostics: /change qualifications instead/ }
  ])
  t.strictSame(
    checkRules(practitioners, practitioners.patch(before, { specialty: 'oncology' }), { written: ['specialty'], before }),
    []
  )
  t.strictSame(
    practitioners.patch(before, { qualifications: null }),
    { resourceType: 'Practitioner' },
    'the whole may be removed'
  )

  const bare = { resourceType: 'Practitioner', qualification: [surgery, licensed] }
  const rest = practitioners.patch(bare, removal)
  t.strictSame(rest, { resourceType: 'Practitioner', qualification: [licensed] })
  t.strictSame(checkRules(practitioners, rest, { written: ['specialty'], before: bare }), [])
})

t.test('the remark on a claim does not remove the number of its process note either', async t => {
  const before = { resourceType: 'ClaimResponse', processNote: [{ number: 1, text: 'see line 2' }] }
  t.match(checkRules(claimResponses, claimResponses.patch(before, { note: null }), { written: ['note'], before }), [
    { expression: ['note'], diagnostics: /change processNote instead/ }
  ])
  const bare = { resourceType: 'ClaimResponse', processNote: [{ text: 'see line 2' }] }
  t.strictSame(claimResponses.patch(bare, { note: null }), { resourceType: 'ClaimResponse' })
})

// A text that maps to a coding, stored as mere text by another system, became the coding when the list was sent back.
t.test('a list that is sent back as shown does not change the record', async t => {
  const stored = { resourceType: 'Observation', category: [{ text: 'laboratory' }, { text: 'mine' }] }
  t.equal(observations.patch(stored, observations.toSimple(stored)), stored)
})
