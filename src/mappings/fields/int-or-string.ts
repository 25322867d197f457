import { isNumber } from '../../json/json.js'
import { positiveInteger, text } from '../datatypes/primitives.js'
import type { ElementOptions } from '../core/element.js'
import { choice, isText } from './choice.js'

/** A number of doses, or the words for it where they are not counted: doseNumber[x] and seriesDoses[x]. */
export const intOrString = <const O extends ElementOptions = object>(base: string, options?: O) =>
  choice<number | string, O>(
    base,
    [
      { suffix: 'PositiveInt', codec: positiveInteger.codec, is: isNumber },
      { suffix: 'String', codec: text.codec, is: isText }
    ],
    options
  )
