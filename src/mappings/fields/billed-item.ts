import { conceptOf } from '../datatypes/concept.js'
import { positiveInteger } from '../datatypes/primitives.js'
import { money, simpleQuantity } from '../datatypes/quantities.js'

/** The fields that a line of a claim has, and the line of the explanation that responds to it. */
export const billedItem = {
  sequence: positiveInteger('sequence', { required: true }),
  productOrService: conceptOf({ max: 500 })('productOrService', { required: true }),
  quantity: simpleQuantity('quantity'),
  unitPrice: money('unitPrice'),
  net: money('net')
}
