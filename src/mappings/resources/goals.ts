import { code } from '../datatypes/code.js'
import { concept, conceptCode, conceptOf } from '../datatypes/concept.js'
import { date, text } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { goalTarget } from '../fields/goal-target.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byCode, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { goalAchievement, goalCategories, goalPriority } from '../value-sets.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'
import { rangeRule } from '../invariants/range.js'

const goalRules: readonly Rule[] = [
  {
    key: 'gol-1',
    fields: ['target'],
    message: 'a target with a detail needs a measure',
    holds: goal =>
      itemsAt(goal, 'target').every(
        target => !isElement(target) || !exists(target, 'detail[x]') || exists(target, 'measure')
      )
  },
  rangeRule('detailRange', 'target')
]

/** http://hl7.org/fhir/R4/goal.html */
export const goals = mapping('Goal', {
  path: 'goals',
  operation: 'createGoal',
  about: 'A goal of a patient’s care.',
  fields: {
    identifiers: identifiers(),
    lifecycleStatus: code([
      'proposed',
      'planned',
      'accepted',
      'active',
      'on-hold',
      'completed',
      'cancelled',
      'entered-in-error',
      'rejected'
    ])('lifecycleStatus', { required: true, default: 'active', filter: 'lifecycle-status' }),
    description: concept('description', { required: true }),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    achievementStatus: conceptCode('http://terminology.hl7.org/CodeSystem/goal-achievement', goalAchievement)(
      'achievementStatus',
      { filter: 'achievement-status' }
    ),
    category: conceptOf({ known: goalCategories }).list('category', { filter: 'category' }),
    priority: conceptCode('http://terminology.hl7.org/CodeSystem/goal-priority', goalPriority)('priority'),
    startDate: date('startDate', { choice: 'start' }),
    target: goalTarget.list('target', { about: 'What should be reached, and by when.' }),
    statusDate: date('statusDate'),
    statusReason: text('statusReason'),
    expressedById: reference(['Patient', 'Practitioner', 'PractitionerRole', 'RelatedPerson'])('expressedBy', {
      about: 'Whose goal it is.'
    }),
    addressesIds: reference([
      'Condition',
      'Observation',
      'MedicationStatement',
      'NutritionOrder',
      'ServiceRequest',
      'RiskAssessment'
    ]).list('addresses', { about: 'The problems that the goal is about.' }),
    outcomeCode: concept.list('outcomeCode'),
    note: note('note')
  },
  filters: { status: byCode('lifecycle-status'), startFrom: from('start-date'), targetDateTo: until('target-date') },
  rules: goalRules
})
