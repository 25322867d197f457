import type { FhirElement } from '../fhir.js'
import { hasCoding } from './has-coding.js'
import type { Rule } from '../kit/rule.js'

export const allergyRules: readonly Rule[] = [
  {
    key: 'ait-1',
    fields: ['clinicalStatus', 'verificationStatus'],
    says: 'clinicalStatus is needed unless verificationStatus is entered-in-error',
    holds: allergy => isMistaken(allergy) || allergy.clinicalStatus !== undefined
  },
  {
    key: 'ait-2',
    fields: ['clinicalStatus', 'verificationStatus'],
    says: 'clinicalStatus must be absent when verificationStatus is entered-in-error',
    holds: allergy => !isMistaken(allergy) || allergy.clinicalStatus === undefined
  }
]

const isMistaken = (allergy: FhirElement): boolean =>
  hasCoding(allergy.verificationStatus, 'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification', 'entered-in-error')
