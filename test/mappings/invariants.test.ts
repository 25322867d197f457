import t from 'tap'
import type { Mapping } from '../../src/mappings/kit/mapping.js'
import { checkChange, checkCreate, checkRules } from '../../src/mappings/kit/validate.js'
import { allergies } from '../../src/mappings/resources/allergies.js'
import { carePlans } from '../../src/mappings/resources/care-plans.js'
import { claimResponses } from '../../src/mappings/resources/claim-responses.js'
import { conditions } from '../../src/mappings/resources/conditions.js'
import { familyHistory } from '../../src/mappings/resources/family-history.js'
import { healthcareServices } from '../../src/mappings/resources/healthcare-services.js'
import { organizations } from '../../src/mappings/resources/organizations.js'
import { serviceRequests } from '../../src/mappings/resources/service-requests.js'
import { tasks } from '../../src/mappings/resources/tasks.js'

type Simple = Readonly<Record<string, unknown>>

const occasion = { now: '2026-03-14T09:30:00Z', keyName: 'intake service', newUrl: () => 'https://example.org/canonical/1' }

/** The fields that a create would be refused for. */
function refusedFields (mapping: Mapping, simple: Simple): string[] {
  const whole = mapping.withDefaults(simple, occasion)
  const issues = [...checkCreate(mapping, whole), ...checkRules(mapping, mapping.toFhir(whole), Object.keys(whole))]
  return [...new Set(issues.flatMap(issue => issue.expression ?? []))].sort()
}

interface Case { readonly rule: string, readonly mapping: Mapping, readonly least: Simple, readonly broken: Simple, readonly kept: Simple, readonly fields: readonly string[] }

const history = { status: 'completed', patientId: '1', relationship: 'mother' }
const plan = { status: 'active', intent: 'plan', patientId: '1' }

const cases: readonly Case[] = [
  {
    rule: 'ait-1: an allergy has a clinical status',
    mapping: allergies,
    least: { patientId: '1' },
    broken: { clinicalStatus: null },
    kept: {},
    fields: ['clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'ait-2: an allergy entered in error has none',
    mapping: allergies,
    least: { patientId: '1', verificationStatus: 'entered-in-error' },
    broken: { clinicalStatus: 'active' },
    kept: {},
    fields: ['clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'con-1: a stage has a summary',
    mapping: conditions,
    least: { patientId: '1' },
    broken: { stage: [{ type: 'clinical' }] },
    kept: { stage: [{ summary: 'II' }] },
    fields: ['stage']
  },
  {
    rule: 'con-3: an item of the problem list has a clinical status',
    mapping: conditions,
    least: { patientId: '1', category: ['problem-list-item'] },
    broken: {},
    kept: { clinicalStatus: 'active' },
    fields: ['category', 'clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'con-4: a condition that has ended is not active',
    mapping: conditions,
    least: { patientId: '1', abatementDateTime: '2026-01' },
    broken: { clinicalStatus: 'active' },
    kept: { clinicalStatus: 'resolved' },
    fields: ['abatementDateTime', 'abatementString', 'clinicalStatus']
  },
  {
    rule: 'con-5: a condition entered in error has no clinical status',
    mapping: conditions,
    least: { patientId: '1', verificationStatus: 'entered-in-error' },
    broken: { clinicalStatus: 'active' },
    kept: {},
    fields: ['clinicalStatus', 'verificationStatus']
  },
  {
    rule: 'cpl-3: an activity of a care plan is described or refers, not both',
    mapping: carePlans,
    least: plan,
    broken: { activity: [{ description: 'walk', status: 'scheduled', referenceId: '1' }] },
    kept: { activity: [{ description: 'walk', status: 'scheduled' }, { referenceId: 'Task/1' }] },
    fields: ['activity']
  },
  {
    rule: 'fhs-1: a relative has an age or a birth, not both',
    mapping: familyHistory,
    least: { ...history, ageString: '70' },
    broken: { bornDate: '1950' },
    kept: {},
    fields: ['ageString', 'bornDate']
  },
  {
    rule: 'fhs-2: only an age is estimated',
    mapping: familyHistory,
    least: { ...history, estimatedAge: true },
    broken: {},
    kept: { ageString: '70' },
    fields: ['ageString', 'estimatedAge']
  },
  {
    rule: 'org-2: the address of an organization is nobody’s home',
    mapping: organizations,
    least: { name: 'St. Mary' },
    broken: { address: { city: 'Ghent', use: 'home' } },
    kept: { address: { city: 'Ghent', use: 'work' } },
    fields: ['address']
  }
]

for (const { rule, mapping, least, broken, kept, fields } of cases) {
  t.test(rule, async t => {
    const present = (simple: Simple): Simple => Object.fromEntries(Object.entries(simple).filter(([, value]) => value !== null))
    const stored = mapping.patch(mapping.toFhir(mapping.withDefaults(least, occasion)), broken)
    t.same([...new Set(checkRules(mapping, stored, Object.keys({ ...least, ...broken })).flatMap(issue => issue.expression ?? []))].sort(), fields)
    t.same(refusedFields(mapping, present({ ...least, ...kept })), [])
  })
}

t.test('an invariant that another system’s data would break by a removal holds', async t => {
  const request = { resourceType: 'ServiceRequest', status: 'active', intent: 'order', subject: { reference: 'Patient/1' }, code: { text: 'x-ray' }, orderDetail: [{ text: 'two views' }] }
  t.equal(checkRules(serviceRequests, serviceRequests.patch(request, { code: null }), ['code'], request).length, 1, 'prr-1')
  const task = { resourceType: 'Task', status: 'requested', intent: 'order', lastModified: '2026-03-01T00:00:00Z' }
  t.equal(checkRules(tasks, tasks.patch(task, { authoredOn: '2026-03-02T00:00:00Z' }), ['authoredOn'], task).length, 1, 'inv-1')
  t.equal(checkRules(tasks, tasks.patch(task, { authoredOn: '2026-02-28T00:00:00Z' }), ['authoredOn'], task).length, 0)
})

t.test('an activity of a care plan needs its status beside its description', async t => {
  t.same(refusedFields(carePlans, { ...plan, activity: [{ description: 'walk' }] }), ['activity[0].status'])
})

t.test('a parameter of a task has exactly one value, and one of a type that has no field stays', async t => {
  const task = { status: 'requested', intent: 'order' }
  t.same(refusedFields(tasks, { ...task, input: [{ type: 'dose' }] }).length, 1)
  t.same(refusedFields(tasks, { ...task, input: [{ type: 'dose', valueInteger: 1, valueString: 'one' }] }).length, 1)
  t.same(refusedFields(tasks, { ...task, input: [{ type: 'dose', valueInteger: 1 }] }), [])
  const scan = { type: { text: 'scan' }, valueReference: { reference: 'ImagingStudy/1' } }
  const stored = { resourceType: 'Task', ...task, input: [scan, { type: { text: 'dose' }, valueInteger: 1 }] }
  t.same(tasks.toSimple(stored).input, [{ type: 'dose', valueInteger: 1 }])
  t.same(tasks.patch(stored, { input: null }), { resourceType: 'Task', ...task, input: [scan] })
})

t.test('a required time that has a default is filled in on create and never removed', async t => {
  const simple = { status: 'active', type: 'professional', use: 'claim', patientId: '1', insurerId: '1', outcome: 'complete' }
  t.same(refusedFields(claimResponses, simple), [])
  t.equal(claimResponses.withDefaults(simple, occasion).created, occasion.now)
  t.same(checkChange(claimResponses, { created: null }).map(issue => issue.expression), [['created']])
})

t.test('a remark on a claim response is its first process note', async t => {
  const stored = { resourceType: 'ClaimResponse', processNote: [{ number: 1, type: 'print', text: 'old' }, { number: 2, text: 'second' }] }
  t.equal(claimResponses.toSimple(stored).note, 'old')
  t.same(claimResponses.patch(stored, { note: 'new' }).processNote, [{ number: 1, type: 'print', text: 'new' }, { number: 2, text: 'second' }])
})

t.test('a service keeps the locations that it has without a name when the named ones change', async t => {
  const stored = { resourceType: 'HealthcareService', name: 'x', location: [{ reference: 'Location/1' }, { reference: 'Location/2', display: 'East' }] }
  t.same(healthcareServices.toSimple(stored).locationNames, ['East'])
  t.same(healthcareServices.patch(stored, { locationNames: ['East', 'West'] }).location, [...stored.location, { display: 'West' }])
})
