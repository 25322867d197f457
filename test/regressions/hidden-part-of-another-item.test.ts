import t from 'tap'
import { appointments } from '../../src/mappings/resources/appointments.js'
import { documents } from '../../src/mappings/resources/documents.js'
import { notes } from '../../src/mappings/resources/notes.js'

// A participant that took another's place got the period of the one before, since both had the status accepted.
t.test('a new participant has nothing of the one whose place it takes', async t => {
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

t.test('a section that is still the same by its title keeps what is not shown of it', async t => {
  const stored = { resourceType: 'Composition', section: [{ title: 'History', orderedBy: { text: 'time' } }] }
  const changed = documents.patch(stored, { sections: [{ title: 'History', text: 'none' }] }) as {
    section: Array<{ orderedBy?: unknown }>
  }
  t.strictSame(changed.section[0]!.orderedBy, { text: 'time' })
})

// The type of a note was dropped in silence when its content was sent along as plain text.
t.test('a part that is sent beside the whole counts where the whole does not say it', async t => {
  const stored = {
    resourceType: 'DocumentReference',
    content: [{ attachment: { contentType: 'text/plain', data: 'YQ==' } }]
  }
  t.equal(
    notes.toSimple(notes.patch(stored, { content: '<p>b</p>', contentType: 'text/html' })).contentType,
    'text/html'
  )
})
