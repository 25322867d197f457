import { code } from '../datatypes/code.js'
import { period } from '../datatypes/complex.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { boolean, date, dateTime, integer, positiveInteger, text, textUpTo } from '../datatypes/primitives.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { exactlyOne } from '../fields/choice.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { requestPriority } from '../value-sets.js'
import { isOrdered } from '../core/date-order.js'
import type { Rule } from '../core/rule.js'

const taskRules: readonly Rule[] = [
  {
    key: 'inv-1',
    fields: ['authoredOn'],
    message: 'must not be after the time at which the task was last modified',
    holds: task => isOrdered(task.authoredOn, task.lastModified)
  }
]

const shownValues = ['valueString', 'valueBoolean', 'valueInteger', 'valueDate', 'valueDateTime', 'valueReference'] as const

/** An input or output of a task. R4 allows nearly fifty more types of value; those stay stored but are not shown. */
const parameter = backbone({
  type: concept('type', { required: true }),
  valueString: text('valueString', { choice: 'value' }),
  valueBoolean: boolean('valueBoolean', { choice: 'value' }),
  valueInteger: integer('valueInteger', { choice: 'value' }),
  valueDate: date('valueDate', { choice: 'value' }),
  valueDateTime: dateTime('valueDateTime', { choice: 'value' }),
  valueReference: anyReference('valueReference', { choice: 'value', about: 'A record as Type/id.' })
}, {
  schema: exactlyOne(...shownValues),
  where: stored => shownValues.some(name => stored[name] !== undefined)
})

/** http://hl7.org/fhir/R4/task.html */
export const tasks = mapping('Task', {
  path: 'tasks',
  operation: 'createTask',
  about: 'Something to be done, and its progress.',
  fields: {
    identifiers: identifiers(),
    status: code([
      'draft',
      'requested',
      'received',
      'accepted',
      'rejected',
      'ready',
      'cancelled',
      'in-progress',
      'on-hold',
      'failed',
      'completed',
      'entered-in-error'
    ])('status', { required: true, filter: 'status' }),
    intent: code([
      'unknown',
      'proposal',
      'plan',
      'order',
      'original-order',
      'reflex-order',
      'filler-order',
      'instance-order',
      'option'
    ])('intent', { required: true }),
    statusReason: conceptOf({ max: 500 })('statusReason'),
    businessStatus: conceptOf({ max: 200 })('businessStatus'),
    priority: code(requestPriority)('priority', { filter: 'priority' }),
    code: conceptOf({ max: 200 })('code', { filter: 'code', about: 'What kind of task it is.' }),
    description: textUpTo(2000)('description'),
    focusId: anyReference('focus', { about: 'What the task acts on, as Type/id.' }),
    patientId: reference('Patient')('for', { filter: 'patient' }),
    encounterId: reference('Encounter')('encounter'),
    executionPeriod: period('executionPeriod'),
    authoredOn: dateTime('authoredOn'),
    requesterId: reference(['Practitioner', 'PractitionerRole', 'Organization', 'Patient', 'RelatedPerson', 'Device'])(
      'requester',
      { filter: 'requester' }
    ),
    ownerId: reference([
      'Practitioner',
      'PractitionerRole',
      'Organization',
      'CareTeam',
      'HealthcareService',
      'Patient',
      'Device',
      'RelatedPerson'
    ])('owner', { filter: 'owner', about: 'Who is to do it.' }),
    reasonCode: conceptOf({ max: 500 })('reasonCode'),
    note: note('note', { max: 2000 }),
    basedOn: anyReference.list('basedOn', { about: 'The requests that the task fulfils, as Type/id.' }),
    partOf: reference('Task').list('partOf'),
    input: parameter.list('input'),
    output: parameter.list('output'),
    restriction: backbone({
      repetitions: positiveInteger('repetitions'),
      period: period('period'),
      recipientIds: reference([
        'Patient',
        'Practitioner',
        'PractitionerRole',
        'RelatedPerson',
        'Group',
        'Organization'
      ]).list('recipient')
    })('restriction')
  },
  filters: { dateFrom: from('authored-on'), dateTo: until('authored-on') },
  rules: taskRules
})
