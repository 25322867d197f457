import { code, conceptCode } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { dateTime, textUpTo } from '../datatypes/primitives.js'
import { reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import type { DefaultContext } from '../core/element.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { allergyClinicalStatus, allergyVerificationStatus } from '../value-sets.js'
import type { FhirElement } from '../fhir.js'
import { exists, hasCoding, type Rule } from '../core/rule.js'

const allergyRules: readonly Rule[] = [
  {
    key: 'ait-1',
    fields: ['clinicalStatus', 'verificationStatus'],
    message: 'clinicalStatus is needed unless verificationStatus is entered-in-error',
    holds: allergy => isEnteredInError(allergy) || exists(allergy, 'clinicalStatus')
  },
  {
    key: 'ait-2',
    fields: ['clinicalStatus', 'verificationStatus'],
    message: 'clinicalStatus must be absent when verificationStatus is entered-in-error',
    holds: allergy => !isEnteredInError(allergy) || !exists(allergy, 'clinicalStatus')
  }
]

const isEnteredInError = (allergy: FhirElement): boolean =>
  hasCoding(
    allergy.verificationStatus,
    'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
    'entered-in-error'
  )

const reporters = ['Practitioner', 'PractitionerRole', 'Patient', 'RelatedPerson'] as const

const finding = conceptOf({ max: 500 })

const activeUnlessEnteredInError = ({ simple }: DefaultContext) =>
  simple.verificationStatus === 'entered-in-error' ? undefined : 'active'

/** http://hl7.org/fhir/R4/allergyintolerance.html */
export const allergies = mapping('AllergyIntolerance', {
  path: 'allergies',
  operation: 'createAllergy',
  about: 'A patient’s allergy or intolerance to a substance.',
  fields: {
    identifiers: identifiers(),
    patientId: reference('Patient')('patient', { required: true, filter: 'patient' }),
    clinicalStatus: conceptCode(
      'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical',
      allergyClinicalStatus
    )('clinicalStatus', { default: activeUnlessEnteredInError, filter: 'clinical-status' }),
    verificationStatus: conceptCode(
      'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
      allergyVerificationStatus
    )('verificationStatus'),
    type: code(['allergy', 'intolerance'])('type', { filter: 'type' }),
    category: code(['food', 'medication', 'environment', 'biologic']).list('category', {
      maxItems: 4,
      filter: 'category'
    }),
    criticality: code(['low', 'high', 'unable-to-assess'])('criticality', { filter: 'criticality' }),
    code: concept('code', { filter: 'code', about: 'The substance, or that there is no known allergy.' }),
    encounterId: reference('Encounter')('encounter'),
    onsetDateTime: dateTime('onsetDateTime', { choice: 'onset' }),
    onsetString: textUpTo(500)('onsetString', { choice: 'onset' }),
    recordedDate: dateTime('recordedDate'),
    recorderId: reference(reporters)('recorder'),
    asserterId: reference(reporters)('asserter', { about: 'Who said so.' }),
    lastOccurrence: dateTime('lastOccurrence'),
    note: note('note', { max: 5000 }),
    reaction: backbone({
      substance: finding('substance', { searched: true }),
      manifestation: finding.list('manifestation', { required: true, maxItems: 20 }),
      description: textUpTo(2000)('description'),
      onset: dateTime('onset'),
      severity: code(['mild', 'moderate', 'severe'])('severity'),
      exposureRoute: conceptOf({ max: 200 })('exposureRoute'),
      note: note('note', { max: 5000 })
    }).list('reaction', { maxItems: 20, about: 'What happened when the patient was exposed to it.' })
  },
  rules: allergyRules
})
