import { isNumber } from '../../json/json.js'
import type { FhirElement } from '../fhir.js'
import { period } from '../datatypes/complex.js'
import { concept } from '../datatypes/concept.js'
import { boolean, dateTime, decimal, integer, text, time } from '../datatypes/primitives.js'
import { quantity, range, ratio } from '../datatypes/quantities.js'
import { datatype } from '../core/datatype.js'
import type { Element } from '../core/element.js'
import { withPrimitive, clearsSiblings } from '../core/outdated.js'
import { isElement, withMember } from '../core/path.js'
import { backbone } from '../core/structure.js'
import { choice, hasChoice, isBoolean, isText, withChoiceForms } from './choice.js'

/** A Quantity that is a number with perhaps a unit, shown as the number alone; the unit is a field next to it. */
const plainQuantity = datatype<number>({
  schema: decimal.codec.schema,
  kind: 'quantity',
  revises: true,
  read: stored => isPlain(stored) ? decimal.codec.read(stored.value) : undefined,
  write: (value, before) => withPrimitive(isElement(before) && isPlain(before) ? before : {}, 'value', value)
})

/**
 * Any other Quantity, such as one with a comparator, is shown as an object: a bare number would have another meaning.
 */
const fullQuantity = datatype({
  ...quantity.codec,
  read: stored => (isPlain(stored) ? undefined : quantity.codec.read(stored))
})

const isPlain = (stored: unknown): stored is FhirElement => isElement(stored) && stored.comparator === undefined

// Forms that are shown like another one and never written: the stored value stays unchanged until the field changes.
const never = (): boolean => false

const value = choice<unknown>(
  'value',
  [
    { suffix: 'Quantity', codec: plainQuantity.codec, is: isNumber },
    { suffix: 'Integer', codec: decimal.codec, is: never },
    { suffix: 'Boolean', codec: boolean.codec, is: isBoolean },
    { suffix: 'String', codec: text.codec, is: isText },
    { suffix: 'DateTime', codec: dateTime.codec, is: never },
    { suffix: 'Time', codec: time.codec, is: never },
    { suffix: 'Quantity', codec: fullQuantity.codec, is: hasChoice('value') },
    { suffix: 'Period', codec: period.codec, is: hasChoice('start', 'end') },
    { suffix: 'Range', codec: range.codec, is: hasChoice('low', 'high') },
    { suffix: 'Ratio', codec: ratio.codec, is: hasChoice('numerator') },
    { suffix: 'CodeableConcept', codec: concept.codec, is: hasChoice('code', 'display', 'text') }
  ],
  {
    about:
      'A number with its unit in unit, text, true or false, or an object: a coding, Quantity, Range, Ratio or Period.'
  }
)

/** The unit of a number. A changed unit takes the stored code of the old one with it. */
const unit: Element<string> = {
  ...text('valueQuantity.unit'),
  read: component => isPlain(component.valueQuantity) ? text.codec.read(component.valueQuantity.unit) : undefined,
  write (component, requested) {
    const stored = component.valueQuantity
    if (!isPlain(stored) || stored.unit === requested) return component
    const { system: _, code: __, ...rest } = stored
    return withMember(component, 'valueQuantity', withPrimitive(rest, 'unit', requested))
  }
}

/** Descriptions of one value, or of its absence: normal, not measured. */
const valueDescriptors = ['interpretation', 'dataAbsentReason']

const parts = backbone(
  {
    code: concept('code', { required: true }),
    value: clearsSiblings(valueDescriptors, value),
    unit: clearsSiblings(valueDescriptors, unit)
  },
  {
    schema: {
      dependentSchemas: {
        unit: {
          properties: { value: { type: 'number', 'x-expects': 'a number, since there is a unit' } },
          required: ['value']
        }
      }
    }
  }
)

type Component = NonNullable<ReturnType<typeof parts.codec.read>>

/** A plain number sent as a whole Quantity, with its unit where the number will show it. */
const withUnit = (component: Component): Component =>
  isNumericQuantity(component.value) && component.value.unit !== undefined
    ? { ...component, unit: component.value.unit as string }
    : component

const isNumericQuantity = (value: unknown): value is FhirElement => isPlain(value) && value.value !== undefined

const partsWithUnit = datatype<Component>({
  ...parts.codec,
  accept (sent) {
    const component = parts.codec.accept!(withUnit(sent))
    return isNumericQuantity(component.value) ? { ...component, value: component.value.value } : component
  },
  write: (sent, before) => parts.codec.write(withUnit(sent), before)
})

/**
 * Observation.component: one of several results under one code, such as the two numbers of a blood pressure. A number
 * may be sent as a whole Quantity, to store the code of its unit, and is read as a number with its unit next to it.
 * Each form of the value may also be sent under its own name in FHIR, such as valueQuantity.
 */
export const component = withChoiceForms(partsWithUnit, {
  base: 'value',
  field: 'value',
  separate: ['unit'],
  forms: {
    Quantity: quantity.codec,
    CodeableConcept: concept.codec,
    String: text.codec,
    Boolean: boolean.codec,
    Integer: integer.codec,
    Range: range.codec,
    Ratio: ratio.codec,
    Time: time.codec,
    DateTime: dateTime.codec,
    Period: period.codec
  }
})
