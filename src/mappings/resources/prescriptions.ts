import { code } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { boolean, dateTime, unsignedInteger, textUpTo } from '../datatypes/primitives.js'
import { nonNegativeQuantity, duration } from '../datatypes/quantities.js'
import { reference } from '../datatypes/reference.js'
import { dosage, dosageText, medication, medicationId, medicationRule } from '../fields/medication.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { from, until } from '../core/filter.js'
import { mapping, now } from '../core/mapping.js'
import { prescriptionCategories, requestPriority } from '../value-sets.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement, withMember } from '../core/path.js'
import { backbone } from '../core/structure.js'

const { codec } = backbone({ allowed: boolean('allowedBoolean', { required: true, choice: 'allowed' }) })

/**
 * Whether another product may be given. A code for which one stays stored but is not shown until this is set; the
 * reason is removed with it.
 */
const substitutionAllowed = datatype<boolean>({
  ...boolean.codec,
  revises: true,
  read: stored => codec.read(stored)?.allowed,
  write: (allowed, before) => codec.write({ allowed }, before),
  withoutValue: before => codec.withoutValue?.(before)
})('substitution', { about: 'Whether another product may be given.' })

const prescribers = ['Practitioner', 'PractitionerRole', 'Organization', 'Patient', 'RelatedPerson', 'Device'] as const

const performers = [
  'Practitioner',
  'PractitionerRole',
  'Organization',
  'Patient',
  'Device',
  'RelatedPerson',
  'CareTeam'
] as const

/** http://hl7.org/fhir/R4/medicationrequest.html */
export const prescriptions = mapping('MedicationRequest', {
  path: 'prescriptions',
  operation: 'createPrescription',
  about: 'An order for a medicine and how to take it.',
  fields: {
    identifiers: identifiers(),
    status: code(['active', 'on-hold', 'cancelled', 'completed', 'entered-in-error', 'stopped', 'draft', 'unknown'])(
      'status',
      { required: true, default: 'active', filter: 'status' }
    ),
    intent: code([
      'proposal',
      'plan',
      'order',
      'original-order',
      'reflex-order',
      'filler-order',
      'instance-order',
      'option'
    ])('intent', { required: true, default: 'order', filter: 'intent' }),
    medication,
    medicationId,
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    prescriberId: reference(prescribers)('requester', { required: true, filter: 'requester' }),
    encounterId: reference('Encounter')('encounter', { filter: 'encounter' }),
    authoredOn: dateTime('authoredOn', { default: now }),
    dosageText: dosageText('dosageInstruction'),
    dosage: dosage('dosageInstruction'),
    refills: unsignedInteger('dispenseRequest.numberOfRepeatsAllowed', {
      about: 'How many times more it may be dispensed.'
    }),
    quantity: nonNegativeQuantity('dispenseRequest.quantity', { about: 'How much is dispensed each time.' }),
    supplyDays: duration.days('dispenseRequest.expectedSupplyDuration', {
      about: 'For how many days one dispense lasts.'
    }),
    substitutionAllowed,
    priority: code(requestPriority)('priority', { filter: 'priority' }),
    reasonCode: concept.list('reasonCode'),
    reason: conceptText(500).first('reasonCode', { shortcutOf: 'reasonCode', about: 'The first reason in words.' }),
    statusReason: concept('statusReason'),
    category: conceptOf({ known: prescriptionCategories }).first('category', { filter: 'category' }),
    doNotPerform: boolean('doNotPerform', { about: 'True when the medicine must not be given.' }),
    performerId: reference(performers)('performer', { about: 'Who is to give the medicine.' }),
    courseOfTherapy: concept('courseOfTherapyType'),
    priorPrescriptionId: reference('MedicationRequest')('priorPrescription', {
      about: 'The prescription that this one replaces.'
    }),
    note: note('note')
  },
  filters: { dateFrom: from('authoredon'), dateTo: until('authoredon') },
  rules: [medicationRule]
})

/**
 * The words of a CodeableConcept alone. Changed, the concept is replaced whole: its codes would mean something else.
 */
function conceptText (max: number): Datatype<string> {
  const { codec } = textUpTo(max)
  return datatype<string>({
    ...codec,
    read: stored => isElement(stored) ? codec.read(stored.text) : undefined,
    write: text => ({ text }),
    withoutValue (before) {
      const rest = isElement(before) ? withMember(withMember(before, 'text', undefined), '_text', undefined) : {}
      return Object.keys(rest).length === 0 ? undefined : rest
    }
  })
}
