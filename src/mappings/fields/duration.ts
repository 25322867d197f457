import { decimal } from '../datatypes/primitives.js'
import { quantity } from '../datatypes/quantities.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement } from '../core/path.js'

const ucum = 'http://unitsofmeasure.org'

/** Lengths of time as one number of a fixed unit, stored as a Duration or Quantity of UCUM. */
export const duration = {
  seconds: durationIn('s', 's', { s: 1, min: 60, h: 3600 }),
  minutes: durationIn('min', 'min', { min: 1, h: 60, d: 1440 }),
  days: durationIn('d', 'days', { d: 1, wk: 7 })
}

/** Lengths stored in a larger unit are shown in this one; what is in none of them is kept unseen. */
function durationIn (code: string, unit: string, factors: Readonly<Record<string, number>>): Datatype<number> {
  return datatype<number>({
    schema: { type: 'number', minimum: 0, 'x-expects': `a number of ${unit}` },
    kind: 'quantity',
    revises: true,
    read (stored) {
      const value = isElement(stored) ? decimal.codec.read(stored.value) : undefined
      if (!isElement(stored) || value === undefined || stored.comparator !== undefined) return undefined
      const unit = stored.code ?? stored.unit
      if (typeof unit !== 'string' || !Object.hasOwn(factors, unit)) return undefined
      return factors[unit] === 1 ? value : times(value, factors[unit]!)
    },
    write: (value, before) => quantity.codec.write({ value, unit, system: ucum, code }, before)
  })
}

/** A decimal times a whole number, by its digits: in binary numbers 8.2 × 60 is 491.99999999999994. */
function times (value: number, factor: number): number {
  const [digits, exponent = '0'] = String(value).split(/e/i) as [string, string?]
  const [full, fraction = ''] = digits.split('.') as [string, string?]
  return Number(`${BigInt(full + fraction) * BigInt(factor)}e${Number(exponent) - fraction.length}`)
}
