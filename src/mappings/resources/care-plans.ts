import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { conceptOf } from '../datatypes/concept.js'
import { boolean, dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { noParameter } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { requestStatus } from '../value-sets.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, type Rule } from '../core/rule.js'

const carePlanRules: readonly Rule[] = [
  {
    key: 'cpl-3',
    fields: ['activity'],
    message: 'an activity with referenceId has no other field',
    holds: plan =>
      itemsAt(plan, 'activity').every(
        activity => isElement(activity) && !(exists(activity, 'detail') && exists(activity, 'reference'))
      )
  }
]

const authors = [
  'Practitioner',
  'Patient',
  'PractitionerRole',
  'Device',
  'RelatedPerson',
  'Organization',
  'CareTeam'
] as const

const performers = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'RelatedPerson',
  'Patient',
  'CareTeam',
  'HealthcareService',
  'Device'
] as const

const activities = [
  'Appointment',
  'CommunicationRequest',
  'DeviceRequest',
  'MedicationRequest',
  'NutritionOrder',
  'Task',
  'ServiceRequest',
  'VisionPrescription',
  'RequestGroup'
] as const

const activityStatus = [
  'not-started',
  'scheduled',
  'in-progress',
  'on-hold',
  'completed',
  'cancelled',
  'stopped',
  'unknown',
  'entered-in-error'
] as const

const activity = backbone({
  description: textUpTo(2000)('detail.description'),
  status: code(activityStatus)('detail.status'),
  doNotPerform: boolean('detail.doNotPerform', { about: 'True when it must not be done.' }),
  code: conceptOf({ max: 200 })('detail.code'),
  scheduledString: textUpTo(500)('detail.scheduledString', { choice: 'scheduled' }),
  performerId: reference(performers).first('detail.performer'),
  referenceId: reference(activities)('reference')
}, {
  schema: { anyOf: [{ required: ['description', 'status'] }, { required: ['referenceId'] }] },
  expects: 'an object with description and status, or with referenceId'
})

/** http://hl7.org/fhir/R4/careplan.html */
export const carePlans = mapping('CarePlan', {
  path: 'care-plans',
  operation: 'createCarePlan',
  about: 'The planned care of a patient: what, by whom and with which goals.',
  fields: {
    identifiers: identifiers(),
    status: code(requestStatus)('status', { required: true, filter: 'status' }),
    intent: code(['proposal', 'plan', 'order', 'option'])('intent', { required: true }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    encounterId: reference('Encounter')('encounter'),
    title: textUpTo(500)('title'),
    description: textUpTo(5000)('description'),
    category: conceptOf({ max: 200 }).list('category', { maxItems: 10, filter: 'category' }),
    period: period('period'),
    created: dateTime('created'),
    authorId: reference(authors)('author', { filter: noParameter, about: 'Who is responsible for the plan.' }),
    contributorIds: reference(authors).list('contributor', { maxItems: 20, about: 'Who else wrote it.' }),
    careTeamIds: reference('CareTeam').list('careTeam', { maxItems: 20, about: 'Who carries it out.' }),
    addressesIds: reference('Condition').list('addresses', { maxItems: 20, about: 'The conditions that it is about.' }),
    goalIds: reference('Goal').list('goal', { maxItems: 20, about: 'The goals of the plan.' }),
    note: note('note', { max: 5000 }),
    activity: activity.list('activity', {
      maxItems: 50,
      about: 'What is to be done: described here, or a request of its own.'
    }),
    basedOn: reference('CarePlan').list('basedOn', { maxItems: 10, about: 'The plans that it fulfils.' }),
    replaces: reference('CarePlan').list('replaces', { maxItems: 10, about: 'The plans that it replaces.' }),
    partOf: reference('CarePlan').list('partOf', { maxItems: 10, about: 'The plans that it is a part of.' })
  },
  rules: carePlanRules
})
