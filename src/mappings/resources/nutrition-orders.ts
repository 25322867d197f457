import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { amount } from '../datatypes/quantities.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { requestIntent, requestStatus } from '../value-sets.js'

const kind = conceptOf({ max: 200 })
const instruction = textUpTo(2000)

/** http://hl7.org/fhir/R4/nutritionorder.html */
export const nutritionOrders = mapping('NutritionOrder', {
  path: 'nutrition-orders',
  operation: 'createNutritionOrder',
  about: 'A patient’s diet, supplements or tube feeding.',
  fields: {
    identifiers: identifiers(),
    status: code(requestStatus)('status', { required: true, filter: 'status' }),
    intent: code(requestIntent)('intent', { required: true }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    encounterId: reference('Encounter')('encounter'),
    dateTime: dateTime('dateTime', { required: true, default: now, about: 'When it was ordered.' }),
    ordererId: reference(['Practitioner', 'PractitionerRole'])('orderer'),
    allergyIntoleranceIds: reference('AllergyIntolerance').list('allergyIntolerance', {
      maxItems: 10,
      about: 'The allergies that the kitchen must know.'
    }),
    foodPreferenceModifier: kind.list('foodPreferenceModifier', {
      maxItems: 10,
      about: 'What the patient prefers, such as kosher or vegetarian.'
    }),
    excludeFoodModifier: kind.list('excludeFoodModifier', {
      maxItems: 10,
      about: 'What the patient must not be given.'
    }),
    oralDiet: backbone({
      type: kind.list('type', { maxItems: 10, about: 'The kind of diet.' }),
      instruction: instruction('instruction'),
      nutrient: backbone({ modifier: kind('modifier'), amount: amount('amount') }).list('nutrient', {
        maxItems: 20,
        about: 'How much of which nutrient.'
      })
    })('oralDiet'),
    supplement: backbone({
      type: kind('type'),
      productName: textUpTo(500)('productName'),
      quantity: amount('quantity'),
      instruction: instruction('instruction')
    }).list('supplement', { maxItems: 10, about: 'What is given beside the diet.' }),
    enteralFormula: backbone({
      baseFormulaType: kind('baseFormulaType'),
      baseFormulaProductName: textUpTo(500)('baseFormulaProductName'),
      additiveType: kind('additiveType'),
      routeOfAdministration: kind('routeofAdministration'),
      administrationInstruction: instruction('administrationInstruction')
    })('enteralFormula', { about: 'What is fed by a tube.' }),
    note: note('note', { max: 5000 })
  },
  filters: { dateFrom: from('datetime'), dateTo: until('datetime') }
})
