/** Quantities and what is made of them: http://hl7.org/fhir/R4/datatypes.html#quantity */
import { record } from '../kit/structure.js'
import { code } from './code.js'
import { decimal, text, uri } from './primitives.js'

const measured = { value: decimal('value', { required: true }), unit: text('unit'), system: uri('system'), code: text('code') }
const codeNeedsSystem = { dependentRequired: { code: ['system'] } } as const

/** A measured amount; qty-3: a code for the unit needs its system. */
export const quantity = record({ ...measured, comparator: code(['<', '<=', '>=', '>'])('comparator') }, {
  kind: 'quantity', schema: codeNeedsSystem, expects: 'an object with value, unit, system, code and comparator; code needs system'
})

/** A quantity without comparator, as Range and dose have it. */
export const simpleQuantity = record(measured, {
  kind: 'quantity', schema: codeNeedsSystem, expects: 'an object with value, unit, system and code; code needs system'
})

/** rat-1: both parts or none. */
export const ratio = record({
  numerator: quantity('numerator', { required: true }), denominator: quantity('denominator', { required: true })
}, { expects: 'an object with numerator and denominator' })

export const range = record({ low: simpleQuantity('low'), high: simpleQuantity('high') }, { expects: 'an object with low and high' })

export const money = record({ value: decimal('value', { required: true }), currency: text('currency') }, {
  kind: 'quantity', expects: 'an object with value and currency, such as USD'
})
