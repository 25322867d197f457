import { code } from '../datatypes/code.js'
import { absoluteUri, decimal, openCode, textUpTo } from '../datatypes/primitives.js'
import { record } from '../core/structure.js'

const parts = {
  value: decimal('value', { required: true }),
  unit: textUpTo(50)('unit'),
  system: absoluteUri('system'),
  code: openCode('code')
}
const codeNeedsSystem = { dependentRequired: { code: ['system'] } } as const

/** A number of something whose unit is a short word: a SimpleQuantity of R4. */
export const amount = record(parts, {
  kind: 'quantity', schema: codeNeedsSystem, expects: 'an object with value, unit, system and code; code needs system'
})

/** The same where R4 has a Quantity, which may be more or less than the number. */
export const quantityWithComparator = record(
  { ...parts, comparator: code(['<', '<=', '>=', '>'])('comparator') },
  {
    kind: 'quantity',
    schema: codeNeedsSystem,
    expects: 'an object with value, unit, system, code and comparator; code needs system'
  }
)
