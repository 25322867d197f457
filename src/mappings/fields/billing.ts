import { conceptOf } from '../datatypes/concept.js'
import { positiveInteger, textUpTo } from '../datatypes/primitives.js'
import { money, simpleQuantity } from '../datatypes/quantities.js'
import { backbone } from '../core/structure.js'

const category = conceptOf({ max: 200 })

/** An insurer's decision on an item, by kind of amount: submitted, eligible, copay, benefit. */
export const adjudication = backbone({ category: category('category', { required: true }), amount: money('amount') })

/** The sum of one kind of amount over all items. */
export const adjudicationTotal = backbone({
  category: category('category', { required: true }),
  amount: money('amount', { required: true })
})

/** A remark of the insurer, to which items refer by its number. */
export const processNote = backbone({
  number: positiveInteger('number'),
  text: textUpTo(2000)('text', { required: true })
})

/** The fields that a line of a claim has, and the line of the explanation that responds to it. */
export const billedItem = {
  sequence: positiveInteger('sequence', { required: true }),
  productOrService: conceptOf({ max: 500 })('productOrService', { required: true }),
  quantity: simpleQuantity('quantity'),
  unitPrice: money('unitPrice'),
  net: money('net')
}
