import { isNumber } from '../../json/json.js'
import { concept } from '../datatypes/concept.js'
import { boolean, integer, text } from '../datatypes/primitives.js'
import { quantity, range, ratio } from '../datatypes/quantities.js'
import { choice, hasChoice, isBoolean, isText } from './choice.js'

/**
 * Goal.target.detail[x]: what is to be reached. A text that is stored as a CodeableConcept is shown like any other
 * text.
 */
export const goalDetail = choice<unknown>('detail', [
  { suffix: 'Integer', codec: integer.codec, is: isNumber },
  { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
  { suffix: 'String', codec: text.codec, is: isText },
  { suffix: 'Quantity', codec: quantity.codec, is: hasChoice('value') },
  { suffix: 'Range', codec: range.codec, is: hasChoice('low', 'high') },
  { suffix: 'Ratio', codec: ratio.codec, is: hasChoice('numerator') },
  { suffix: 'CodeableConcept', codec: concept.codec, is: hasChoice('code', 'display') }
], { about: 'A whole number, text, true or false, or an object: a Quantity, Range, Ratio or coding.' })
