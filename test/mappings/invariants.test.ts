import t from 'tap'
import type { Mapping } from '../../src/mappings/core/mapping.js'
import { checkChange, checkRules } from '../../src/mappings/core/validate.js'
import { allergies } from '../../src/mappings/resources/allergies.js'
import { appointmentResponses } from '../../src/mappings/resources/appointment-responses.js'
import { appointments } from '../../src/mappings/resources/appointments.js'
import { carePlans } from '../../src/mappings/resources/care-plans.js'
import { careTeams } from '../../src/mappings/resources/care-teams.js'
import { claimResponses } from '../../src/mappings/resources/claim-responses.js'
import { conditions } from '../../src/mappings/resources/conditions.js'
import { documents } from '../../src/mappings/resources/documents.js'
import { familyHistory } from '../../src/mappings/resources/family-history.js'
import { goals } from '../../src/mappings/resources/goals.js'
import { healthcareServices } from '../../src/mappings/resources/healthcare-services.js'
import { immunizations } from '../../src/mappings/resources/immunizations.js'
import { intakes } from '../../src/mappings/resources/intakes.js'
import { medicationDispenses } from '../../src/mappings/resources/medication-dispenses.js'
import { notes } from '../../src/mappings/resources/notes.js'
import { organizations } from '../../src/mappings/resources/organizations.js'
import { serviceRequests } from '../../src/mappings/resources/service-requests.js'
import { tasks } from '../../src/mappings/resources/tasks.js'
import { listRefusedFields } from './refused-fields.js'
import { createContext } from '../harness/create-context.js'

type Simple = Readonly<Record<string, unknown>>

interface Case {
  readonly rule: string
  readonly mapping: Mapping
  readonly least: Simple
  readonly broken: Simple
  readonly valid: Simple
  readonly fields: readonly string[]
}

const history = { status: 'completed', patientId: '1', relationship: 'mother' }
const plan = { status: 'active', intent: 'plan', patientId: '1' }

const document = { type: 'letter', title: 'Letter', practitionerId: '1', patientId: '1' }
const dispense = { medicationId: '1', patientId: '1', whenPrepared: '2026-03-14T10:00:00Z' }

const cases: readonly Case[] = [
  {
    rule: 'app-1: a participant is somebody or has a role',
    mapping: appointments,
    least: { patientId: '1' },
    broken: { participants: [{ status: 'tentative' }] },
    valid: { participants: [{ role: 'interpreter' }] },
    fields: ['participants']
  },
  {
    rule: 'app-2: an appointment has both its start and its end, or neither',
    mapping: appointments,
    least: { patientId: '1' },
    broken: { start: '2026-03-14T10:00:00Z' },
    valid: { start: '2026-03-14T10:00:00Z', end: '2026-03-14T10:30:00Z' },
    fields: ['end', 'start']
  },
  {
    rule: 'app-3: a booked appointment has a start and an end',
    mapping: appointments,
    least: { patientId: '1' },
    broken: { status: 'booked' },
    valid: { status: 'waitlist' },
    fields: ['end', 'start', 'status']
  },
  {
    rule: 'app-4: only a cancelled or missed appointment has a reason for that',
    mapping: appointments,
    least: { patientId: '1' },
    broken: { cancelationReason: 'ill' },
    valid: { cancelationReason: 'ill', status: 'canceled' },
    fields: ['cancelationReason', 'status']
  },
  {
    rule: 'an appointment has a participant',
    mapping: appointments,
    least: { patientId: '1' },
    broken: { participants: null },
    valid: {},
    fields: ['participants']
  },
  {
    rule: 'qrs-1: nested items stand under the item or under its answer',
    mapping: intakes,
    least: { patientId: '1', items: [{ linkId: '1' }] },
    broken: { items: [{ linkId: '1', items: [{ linkId: '1.1', answer: ['yes'], items: [{ linkId: '1.1.1' }] }] }] },
    valid: {
      items: [
        { linkId: '1', items: [{ linkId: '1.1', answer: [{ valueString: 'yes', items: [{ linkId: '1.1.1' }] }] }] }
      ]
    },
    fields: ['items']
  },
  {
    rule: 'cmp-1: a section says something, refers to something or has sections',
    mapping: documents,
    least: document,
    broken: { sections: [{ title: 'History', sections: [{ title: 'Family' }] }] },
    valid: { sections: [{ title: 'History', sections: [{ title: 'Family', resourceIds: ['FamilyMemberHistory/1'] }] }] },
    fields: ['sections']
  },
  {
    rule: 'txt-1: the XHTML of a section runs nothing',
    mapping: documents,
    least: document,
    broken: { sections: [{ text: '<div><p>ok</p><script>alert(1)</script></div>' }] },
    valid: { sections: [{ text: '<div><p class="x">ok</p></div>' }] },
    fields: ['sections']
  },
  {
    rule: 'a document has an author',
    mapping: documents,
    least: document,
    broken: { authorIds: null },
    valid: {},
    fields: ['authorIds']
  },
  {
    rule: 'att-1: the data of a note has a type',
    mapping: notes,
    least: { patientId: '1', title: 'Visit', content: 'fine' },
    broken: { contentType: null },
    valid: {},
    fields: ['contentType']
  },
  {
    rule: 'gol-1: a target with a detail has a measure',
    mapping: goals,
    least: { description: 'walk', patientId: '1' },
    broken: { target: [{ detail: 5000 }] },
    valid: { target: [{ measure: 'steps', detail: 5000 }, { dueDate: '2026-06' }] },
    fields: ['target']
  },
  {
    rule: 'mdd-1: a medicine is not handed over before it is prepared',
    mapping: medicationDispenses,
    least: dispense,
    broken: { whenHandedOver: '2026-03-14T11:59:00+02:00' },
    valid: { whenHandedOver: '2026-03-14T12:00:00+02:00' },
    fields: ['whenHandedOver', 'whenPrepared']
  },
  {
    rule: 'a dispense names its medicine',
    mapping: medicationDispenses,
    least: dispense,
    broken: { medicationId: null },
    valid: {},
    fields: ['medication', 'medicationId']
  },
  {
    rule: 'an immunization says when it was given',
    mapping: immunizations,
    least: { vaccineCode: 'BCG', patientId: '1', occurrenceText: 'as a child' },
    broken: { occurrenceText: null },
    valid: {},
    fields: ['occurrenceDateTime', 'occurrenceText']
  },
  {
    rule: 'ctm-1: only a practitioner acts on behalf of an organization',
    mapping: careTeams,
    least: { name: 'Ward 3' },
    broken: { participant: [{ memberId: 'Patient/1', onBehalfOfId: '1' }] },
    valid: { participant: [{ memberId: 'Practitioner/1', onBehalfOfId: '1' }] },
    fields: ['participant']
  },
  {
    rule: 'ait-1: an allergy has a clinical status',
    mapping: allergies,
    least: { patientId: '1' },
    broken: { clinicalStatus: null },
    valid: {},
    fields: ['clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'ait-2: an allergy entered in error has none',
    mapping: allergies,
    least: { patientId: '1', verificationStatus: 'entered-in-error' },
    broken: { clinicalStatus: 'active' },
    valid: {},
    fields: ['clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'con-1: a stage has a summary',
    mapping: conditions,
    least: { patientId: '1' },
    broken: { stage: [{ type: 'clinical' }] },
    valid: { stage: [{ summary: 'II' }] },
    fields: ['stage']
  },
  {
    rule: 'con-3: an item of the problem list has a clinical status',
    mapping: conditions,
    least: { patientId: '1', category: ['problem-list-item'] },
    broken: {},
    valid: { clinicalStatus: 'active' },
    fields: ['category', 'clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'con-4: a condition that has ended is not active',
    mapping: conditions,
    least: { patientId: '1', abatementDateTime: '2026-01' },
    broken: { clinicalStatus: 'active' },
    valid: { clinicalStatus: 'resolved' },
    fields: ['abatementDateTime', 'abatementString', 'clinicalStatus']
  },
  {
    rule: 'con-5: a condition entered in error has no clinical status',
    mapping: conditions,
    least: { patientId: '1', verificationStatus: 'entered-in-error' },
    broken: { clinicalStatus: 'active' },
    valid: {},
    fields: ['clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'cpl-3: an activity of a care plan is described or refers, not both',
    mapping: carePlans,
    least: plan,
    broken: { activity: [{ description: 'walk', status: 'scheduled', referenceId: '1' }] },
    valid: { activity: [{ description: 'walk', status: 'scheduled' }, { referenceId: 'Task/1' }] },
    fields: ['activity']
  },
  {
    rule: 'fhs-1: a relative has an age or a birth, not both',
    mapping: familyHistory,
    least: { ...history, ageString: '70' },
    broken: { bornDate: '1950' },
    valid: {},
    fields: ['ageString', 'bornDate']
  },
  {
    rule: 'fhs-2: only an age is estimated',
    mapping: familyHistory,
    least: { ...history, estimatedAge: true },
    broken: {},
    valid: { ageString: '70' },
    fields: ['ageString', 'estimatedAge']
  },
  {
    rule: 'org-2: the address of an organization is nobody’s home',
    mapping: organizations,
    least: { name: 'St. Mary' },
    broken: { address: { city: 'Ghent', use: 'home' } },
    valid: { address: { city: 'Ghent', use: 'work' } },
    fields: ['address']
  }
]

for (const { rule, mapping, least, broken, valid, fields } of cases) {
  t.test(rule, async t => {
    const present = (simple: Simple): Simple =>
      Object.fromEntries(Object.entries(simple).filter(([, value]) => value !== null))
    const stored = mapping.patch(mapping.toFhir(mapping.withDefaults(least, createContext)), broken)
    t.same(
      [
        ...new Set(
          checkRules(mapping, stored, { written: Object.keys({ ...least, ...broken }) })
            .flatMap(issue => issue.expression ?? [])
        )
      ].sort(),
      fields
    )
    t.same(listRefusedFields(mapping, present({ ...least, ...valid })), [])
  })
}

t.test('an invariant that another system’s data would break by a removal is enforced', async t => {
  const request = {
    resourceType: 'ServiceRequest',
    status: 'active',
    intent: 'order',
    subject: { reference: 'Patient/1' },
    code: { text: 'x-ray' },
    orderDetail: [{ text: 'two views' }]
  }
  t.equal(
    checkRules(serviceRequests, serviceRequests.patch(request, { code: null }), { written: ['code'], before: request }).length,
    1,
    'prr-1'
  )
  const task = { resourceType: 'Task', status: 'requested', intent: 'order', lastModified: '2026-03-01T00:00:00Z' }
  t.equal(
    checkRules(tasks, tasks.patch(task, { authoredOn: '2026-03-02T00:00:00Z' }), { written: ['authoredOn'], before: task }).length,
    1,
    'inv-1'
  )
  t.equal(checkRules(tasks, tasks.patch(task, { authoredOn: '2026-02-28T00:00:00Z' }), { written: ['authoredOn'], before: task }).length, 0)
  const response = {
    resourceType: 'AppointmentResponse',
    participantStatus: 'accepted',
    participantType: [{ text: 'surgeon' }]
  }
  t.equal(
    checkRules(appointmentResponses, appointmentResponses.patch(response, { participantType: null }), { written: ['participantType'], before: response }).length,
    2,
    'apr-1'
  )
  const empty = {
    resourceType: 'Composition',
    author: [{ display: 'Dr. Who' }],
    section: [{ title: 'History', emptyReason: { text: 'not asked' } }]
  }
  t.equal(
    checkRules(documents, documents.patch(empty, { sections: [{ title: 'History', resourceIds: ['Condition/1'] }] }), { written: ['sections'], before: empty }).length,
    1,
    'cmp-2'
  )
})

t.test('an activity of a care plan needs its status together with its description', async t => {
  t.same(listRefusedFields(carePlans, { ...plan, activity: [{ description: 'walk' }] }), ['activity[0].status'])
})

t.test('a parameter of a task has exactly one value, and one of a type that has no field stays', async t => {
  const task = { status: 'requested', intent: 'order' }
  t.same(listRefusedFields(tasks, { ...task, input: [{ type: 'dose' }] }).length, 1)
  t.same(listRefusedFields(tasks, { ...task, input: [{ type: 'dose', valueInteger: 1, valueString: 'one' }] }).length, 2)
  t.same(listRefusedFields(tasks, { ...task, input: [{ type: 'dose', valueInteger: 1 }] }), [])
  const scan = { type: { text: 'home' }, valueAddress: { city: 'Bern' } }
  const stored = { resourceType: 'Task', ...task, input: [scan, { type: { text: 'dose' }, valueInteger: 1 }] }
  t.same(tasks.toSimple(stored).input, [{ type: 'dose', valueInteger: 1 }])
  t.same(tasks.patch(stored, { input: null }), { resourceType: 'Task', ...task, input: [scan] })
})

t.test('a required time that has a default is filled in on create and never removed', async t => {
  const simple = {
    status: 'active',
    type: 'professional',
    use: 'claim',
    patientId: '1',
    insurerId: '1',
    outcome: 'complete'
  }
  t.same(listRefusedFields(claimResponses, simple), [])
  t.equal(claimResponses.withDefaults(simple, createContext).created, createContext.now)
  t.same(checkChange(claimResponses, { created: null }).map(issue => issue.expression), [['created']])
})

t.test('a remark on a claim response is its first process note', async t => {
  const stored = {
    resourceType: 'ClaimResponse',
    processNote: [
      { number: 1, type: 'print', text: 'old' },
      { number: 2, text: 'second' }
    ]
  }
  t.equal(claimResponses.toSimple(stored).note, 'old')
  t.same(claimResponses.patch(stored, { note: 'new' }).processNote, [
    { number: 1, type: 'print', text: 'new' },
    { number: 2, text: 'second' }
  ])
})

t.test('a service preserves its locations without a name when the named ones change', async t => {
  const stored = {
    resourceType: 'HealthcareService',
    name: 'x',
    location: [{ reference: 'Location/1' }, { reference: 'Location/2', display: 'East' }]
  }
  t.same(healthcareServices.toSimple(stored).locationNames, ['East'])
  t.same(healthcareServices.patch(stored, { locationNames: ['East', 'West'] }).location, [
    ...stored.location,
    { display: 'West' }
  ])
})
