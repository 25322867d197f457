import { ExactNumber } from '../../src/json/json.js'
import { isElement } from '../../src/mappings/core/path.js'

/**
 * A value that can be compared after HAPI printed it: exact numbers by their digits and precision, since HAPI writes
 * 1e2 as 100 and -0.0 as 0.0, and without empty elements, which HAPI drops sooner or later.
 */
export function toComparable (value: unknown): unknown {
  if (value instanceof ExactNumber || typeof value === 'number') return normalizeNumber(String(value))
  // Nulls at the end of a list, or in all of it, stand for extensions of missing values, which the list of extensions
  // shows.
  if (Array.isArray(value)) {
    return value
      .slice(0, value.findLastIndex(item => item !== null) + 1)
      .map(toComparable)
      .filter(isFilled)
  }
  return isElement(value)
    ? Object.fromEntries(
      Object.entries(value)
        .map(([name, item]) => [name, toComparable(item)])
        .filter(([, item]) => isFilled(item))
    )
    : value
}

const isFilled = (value: unknown): boolean =>
  value === null || typeof value !== 'object' || Object.keys(value).length > 0

function normalizeNumber (text: string): string {
  const [, sign, integer, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text)!
  const power = Number(exponent) - fraction.length
  const digits = (integer! + fraction).replace(/^0+(?=\d)/, '') + '0'.repeat(Math.max(0, power))
  return `${/^0+$/.test(digits) ? '' : sign}${digits} e${Math.min(0, power)}`
}
