import { isNumber } from '../../json/json.js'
import { concept } from '../datatypes/concept.js'
import { boolean, date, integer, text } from '../datatypes/primitives.js'
import { quantity, range, ratio } from '../datatypes/quantities.js'
import { backbone } from '../core/structure.js'
import { choice, hasChoice, isBoolean, isText } from './choice.js'
import { withChoiceForms } from './choice-forms.js'

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

/** Goal.target. What is to be reached is shown as detail, and may be sent by its name in FHIR, as detailQuantity. */
export const goalTarget = withChoiceForms(target, {
  base: 'detail',
  field: 'detail',
  forms: Object.fromEntries(variants.map(({ suffix, codec }) => [suffix, codec]))
})
