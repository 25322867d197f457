import { isNumber } from '../../json/json.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { boolean, date, integer, text } from '../datatypes/primitives.js'
import { quantity, range, ratio } from '../datatypes/quantities.js'
import { backbone } from '../core/structure.js'
import { choice, hasChoice, isBoolean, isText, withChoiceForms } from '../fields/choice.js'
import { code, conceptCode } from '../datatypes/code.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { byCode, from, until } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { goalAchievement, goalCategories, goalPriority } from '../value-sets.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, rangeRule, type Rule } from '../core/rule.js'

/** The forms of Goal.target.detail[x]. A text that is stored as a CodeableConcept is shown like any other text. */
const variants = [
  { suffix: 'Integer', codec: integer.codec, is: isNumber },
  { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
  { suffix: 'String', codec: text.codec, is: isText },
  { suffix: 'Quantity', codec: quantity.codec, is: hasChoice('value') },
  { suffix: 'Range', codec: range.codec, is: hasChoice('low', 'high') },
  { suffix: 'Ratio', codec: ratio.codec, is: hasChoice('numerator') },
  { suffix: 'CodeableConcept', codec: concept.codec, is: hasChoice('code', 'display', 'text') }
]

const detail = choice<unknown>('detail', variants, {
  about: 'A whole number, text, true or false, or an object: a Quantity, Range, Ratio or coding.'
})

const target = backbone({ measure: concept('measure'), detail, dueDate: date('dueDate', { choice: 'due' }) })

/** Goal.target. The value to be reached is shown as detail, and may be sent by its name in FHIR, as detailQuantity. */
const goalTarget = withChoiceForms(target, {
  base: 'detail',
  field: 'detail',
  forms: Object.fromEntries(variants.map(({ suffix, codec }) => [suffix, codec]))
})

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
