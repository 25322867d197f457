import { code } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { boolean, dateTime, text } from '../datatypes/primitives.js'
import { ratio } from '../datatypes/quantities.js'
import { display } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { byCode, byDate } from '../core/filter.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'

/** http://hl7.org/fhir/R4/medication.html */
export const medications = mapping('Medication', {
  path: 'medications',
  operation: 'createMedication',
  about: 'A medicine as it is prescribed, dispensed or given.',
  fields: {
    identifiers: identifiers(),
    code: concept('code', { required: true, filter: 'code' }),
    status: code(['active', 'inactive'], { shown: ['entered-in-error'] })('status', { filter: 'status' }),
    form: conceptOf({ max: 100 })('form', { filter: 'form' }),
    manufacturer: display(200)('manufacturer', { about: 'The manufacturer by name.' }),
    amount: ratio('amount'),
    ingredient: backbone({
      item: concept('itemCodeableConcept', { required: true, choice: 'item' }),
      isActive: boolean('isActive'),
      strength: ratio('strength')
    }).list('ingredient'),
    batch: backbone({ lotNumber: text('lotNumber'), expirationDate: dateTime('expirationDate') })('batch')
  },
  filters: { lotNumber: byCode('lot-number'), expirationDate: byDate('expiration-date') }
})
