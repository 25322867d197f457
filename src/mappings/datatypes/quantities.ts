/** Quantities and types that contain them: http://hl7.org/fhir/R4/datatypes.html#quantity */
import { datatype, type Datatype } from '../core/datatype.js'
import { record } from '../core/structure.js'
import { code } from './code.js'
import { absoluteUri, decimal, nonNegativeDecimal, openCode, text, textUpTo } from './primitives.js'
import { isElement } from '../core/path.js'

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

/**
 * A quantity without comparator (sqty-1), as Range and dose have it. One that another system stored with a comparator
 * is not shown: the number without it would have another meaning.
 */
export const simpleQuantity = record(measured, {
  kind: 'quantity',
  alteredBy: 'comparator',
  schema: { title: 'SimpleQuantity', ...codeNeedsSystem },
  expects: 'an object with value, unit, system and code; code needs system'
})

/** How much of a medicine is given or dispensed: R4 takes any number, but less than nothing is a slip. */
export const nonNegativeQuantity = record({ ...measured, value: nonNegativeDecimal('value', { required: true }) }, {
  kind: 'quantity',
  alteredBy: 'comparator',
  schema: codeNeedsSystem,
  expects: 'an object with value, unit, system and code; code needs system'
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

const withShortUnit = { ...measured, unit: textUpTo(50)('unit') }

/** A number of something whose unit is a short word: a SimpleQuantity of R4. */
export const amount = record(withShortUnit, {
  kind: 'quantity',
  alteredBy: 'comparator',
  schema: codeNeedsSystem,
  expects: 'an object with value, unit, system and code; code needs system'
})

/** The same where R4 has a Quantity, which may be more or less than the number. */
export const quantityWithComparator = record(
  { ...withShortUnit, comparator: code(['<', '<=', '>=', '>'])('comparator') },
  {
    kind: 'quantity',
    schema: codeNeedsSystem,
    expects: 'an object with value, unit, system, code and comparator; code needs system'
  }
)

const ucum = 'http://unitsofmeasure.org'

/** Lengths of time as one number of a fixed unit, stored as a Duration or Quantity of UCUM. */
export const duration = {
  seconds: createDuration('s', 's', { s: 1, min: 60, h: 3600 }),
  minutes: createDuration('min', 'min', { min: 1, h: 60, d: 1440 }),
  days: createDuration('d', 'days', { d: 1, wk: 7 })
}

/** Lengths stored in a larger unit are shown in this one; a length in another unit stays stored but is not shown. */
function createDuration (code: string, unit: string, factors: Readonly<Record<string, number>>): Datatype<number> {
  return datatype<number>({
    schema: { type: 'number', minimum: 0, 'x-expects': `a number of ${unit}` },
    kind: 'quantity',
    revises: true,
    read (stored) {
      const value = isElement(stored) ? decimal.codec.read(stored.value) : undefined
      if (!isElement(stored) || value === undefined || stored.comparator !== undefined) return undefined
      const unit = stored.code ?? stored.unit
      if (typeof unit !== 'string' || !Object.hasOwn(factors, unit)) return undefined
      return factors[unit] === 1 ? value : multiplyDecimal(value, factors[unit]!)
    },
    write: (value, before) => quantity.codec.write({ value, unit, system: ucum, code }, before)
  })
}

/** A decimal times a whole number, by its digits: in binary numbers 8.2 × 60 is 491.99999999999994. */
function multiplyDecimal (value: number, factor: number): number {
  const [digits, exponent = '0'] = String(value).split(/e/i) as [string, string?]
  const [integer, fraction = ''] = digits.split('.') as [string, string?]
  return Number(`${BigInt(integer + fraction) * BigInt(factor)}e${Number(exponent) - fraction.length}`)
}
