import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { decimal } from '../datatypes/primitives.js'
import { money } from '../datatypes/quantities.js'
import { backbone } from '../core/structure.js'

/**
 * One of the amounts or factors that make up a price:
 * http://hl7.org/fhir/R4/invoice-definitions.html#Invoice.lineItem.priceComponent
 */
export const priceComponent = backbone({
  type: code(['base', 'surcharge', 'deduction', 'discount', 'tax', 'informational'])('type', { required: true }),
  code: concept('code'),
  factor: decimal('factor'),
  amount: money('amount')
})
