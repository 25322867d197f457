import { code } from '../datatypes/code.js'
import { concept } from '../datatypes/concept.js'
import { boolean, text } from '../datatypes/primitives.js'
import { money, ratio, simpleQuantity } from '../datatypes/quantities.js'
import { display, reference } from '../datatypes/reference.js'
import { exactlyOne } from '../fields/choice.js'
import { byToken, noParameter } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

/** http://hl7.org/fhir/R4/medicationknowledge.html */
export const medicationKnowledge = mapping('MedicationKnowledge', {
  path: 'medication-knowledge',
  operation: 'createMedicationKnowledge',
  about: 'Knowledge about a medicine, independent of any patient.',
  fields: {
    code: concept('code', { filter: 'code' }),
    status: code(['active', 'inactive', 'entered-in-error'])('status', { default: 'active', filter: 'status' }),
    doseForm: concept('doseForm', { filter: 'doseform', about: 'Such as tablet or powder.' }),
    manufacturerId: reference('Organization', { named: true })('manufacturer', { filter: 'manufacturer' }),
    manufacturer: display(200)('manufacturer', {
      filter: noParameter,
      displayOf: 'manufacturerId',
      about: 'The manufacturer by name, with or without manufacturerId.'
    }),
    amount: simpleQuantity('amount', { about: 'How much of it is in a package.' }),
    synonym: text.list('synonym'),
    productType: concept.list('productType', { about: 'Such as branded or generic.' }),
    ingredient: backbone({
      item: concept('itemCodeableConcept', { choice: 'item', searched: true }),
      substanceId: reference('Substance')('itemReference', { choice: 'item' }),
      isActive: boolean('isActive'),
      strength: ratio('strength')
    }, { schema: exactlyOne('item', 'substanceId') }).list('ingredient', { about: 'Each by item or substanceId.' }),
    intendedRoute: concept.list('intendedRoute'),
    preparationInstruction: text('preparationInstruction'),
    cost: backbone({
      type: concept('type', { required: true }),
      source: text('source'),
      cost: money('cost', { required: true })
    }).list('cost'),
    medicineClassification: backbone({
      type: concept('type', { required: true }),
      classification: concept.list('classification', { searched: true })
    }).list('medicineClassification', { about: 'Its places in classifications, such as therapeutic ones.' }),
    packaging: backbone({ type: concept('type'), quantity: simpleQuantity('quantity') })('packaging'),
    relatedMedicationIds: reference('Medication').list('associatedMedication')
  },
  filters: { ingredientCode: byToken('ingredient-code'), classification: byToken('classification') }
})
