import { code } from '../datatypes/code.js'
import { conceptOf } from '../datatypes/concept.js'
import { dateTime, decimal, integer, text } from '../datatypes/primitives.js'
import { simpleQuantity } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { financialStatus, visionProducts } from '../value-sets.js'

const lens = backbone({
  eye: code(['right', 'left'])('eye', { required: true }),
  product: conceptOf({ known: visionProducts })('product', { required: true, about: 'lens or contact.' }),
  sphere: decimal('sphere', { about: 'Dioptres.' }),
  cylinder: decimal('cylinder', { about: 'Dioptres.' }),
  axis: integer('axis', { about: 'Degrees from 1 to 180.' }),
  add: decimal('add', { about: 'Dioptres added for reading.' }),
  power: decimal('power', { about: 'Dioptres of a contact lens.' }),
  backCurve: decimal('backCurve', { about: 'Millimetres.' }),
  diameter: decimal('diameter', { about: 'Millimetres.' }),
  duration: simpleQuantity('duration', { about: 'How long a contact lens may be worn.' }),
  color: text('color'),
  brand: text('brand'),
  prism: backbone({
    amount: decimal('amount', { required: true, about: 'Dioptres.' }),
    base: code(['up', 'down', 'in', 'out'])('base', { required: true })
  }).list('prism'),
  note: note('note')
})

/** http://hl7.org/fhir/R4/visionprescription.html */
export const visionPrescriptions = mapping('VisionPrescription', {
  path: 'vision-prescriptions',
  operation: 'createVisionPrescription',
  about: 'An order for glasses or contact lenses.',
  fields: {
    identifiers: identifiers(),
    status: code(financialStatus)('status', { required: true, default: 'active', filter: 'status' }),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    prescriberId: reference(['Practitioner', 'PractitionerRole'])('prescriber', {
      required: true,
      filter: 'prescriber'
    }),
    dateWritten: dateTime('dateWritten', { required: true, default: now }),
    created: dateTime('created', { required: true, default: now, about: 'When the record was made.' }),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    lensSpecification: lens.list('lensSpecification', { required: true, about: 'Each lens, one or more for an eye.' })
  },
  filters: { dateFrom: from('datewritten'), dateTo: until('datewritten') }
})
