import type { FhirElement } from '../fhir.js'
import type { Rule } from '../core/rule.js'
import { exists, hasCoding } from '../core/exists.js'

export const allergyRules: readonly Rule[] = [
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
