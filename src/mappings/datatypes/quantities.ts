/** Quantities and what is made of them: http://hl7.org/fhir/R4/datatypes.html#quantity */
import { datatype } from '../core/datatype.js'
import { record } from '../core/structure.js'
import { code } from './code.js'
import { absoluteUri, decimal, nonNegativeDecimal, openCode, text } from './primitives.js'

const measured = {
  value: decimal('value', { required: true }),
  unit: text('unit'),
  system: absoluteUri('system'),
  code: openCode('code')
}
const codeNeedsSystem = { dependentRequired: { code: ['system'] } } as const

/** A measured amount; qty-3: a code for the unit needs its system. */
export const quantity = record(
  { ...measured, comparator: code(['<', '<=', '>=', '>'])('comparator') },
  {
    kind: 'quantity',
    schema: { title: 'Quantity', ...codeNeedsSystem },
    expects: 'an object with value, unit, system, code and comparator; code needs system'
  }
)

/** A quantity without comparator, as Range and dose have it. */
export const simpleQuantity = record(measured, {
  kind: 'quantity',
  schema: { title: 'SimpleQuantity', ...codeNeedsSystem },
  expects: 'an object with value, unit, system and code; code needs system'
})

/** How much of a medicine is given or dispensed: R4 takes any number, but less than nothing is a slip. */
export const nonNegativeQuantity = record({ ...measured, value: nonNegativeDecimal('value', { required: true }) }, {
  kind: 'quantity', schema: codeNeedsSystem, expects: 'an object with value, unit, system and code; code needs system'
})

/** rat-1: both parts or none. */
export const ratio = record({
  numerator: quantity('numerator', { required: true }), denominator: quantity('denominator', { required: true })
}, { schema: { title: 'Ratio' }, expects: 'an object with numerator and denominator' })

export const range = record(
  { low: simpleQuantity('low'), high: simpleQuantity('high') },
  { schema: { title: 'Range' }, expects: 'an object with low and high' }
)

/**
 * A code of ISO 4217. Its form alone is checked: the standard changes, and R4 takes also the codes that it withdrew.
 */
const currency = datatype({
  ...openCode.codec,
  schema: { type: 'string', pattern: '^[A-Z]{3}$', 'x-expects': 'a currency code such as USD' }
})

export const money = record({ value: decimal('value', { required: true }), currency: currency('currency') }, {
  kind: 'quantity', schema: { title: 'Money' }, expects: 'an object with value and currency'
})
