import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import { exists, hasCoding, type Rule } from '../core/rule.js'
import { conceptCode } from '../datatypes/code.js'
import { concept, conceptOf } from '../datatypes/concept.js'
import { dateTime, textUpTo } from '../datatypes/primitives.js'
import { anyReference, reference } from '../datatypes/reference.js'
import { identifiers } from '../fields/identifiers.js'
import { note } from '../fields/note.js'
import { mapping } from '../core/mapping.js'
import { backbone } from '../core/structure.js'
import { conditionCategories, conditionClinicalStatus, conditionVerificationStatus } from '../value-sets.js'

const conditionRules: readonly Rule[] = [
  {
    key: 'con-1',
    fields: ['stage'],
    message: 'each stage needs a summary',
    holds: condition =>
      itemsAt(condition, 'stage').every(
        stage => isElement(stage) && (exists(stage, 'summary') || exists(stage, 'assessment'))
      )
  },
  {
    key: 'con-2',
    fields: ['evidence'],
    message: 'each evidence needs code or detailIds',
    holds: condition =>
      itemsAt(condition, 'evidence').every(
        evidence => isElement(evidence) && (exists(evidence, 'code') || exists(evidence, 'detail'))
      )
  },
  {
    key: 'con-3',
    fields: ['clinicalStatus', 'category', 'verificationStatus'],
    message: 'an item of the problem list needs clinicalStatus unless verificationStatus is entered-in-error',
    holds: condition =>
      exists(condition, 'clinicalStatus') || isEnteredInError(condition) || !isOnProblemList(condition)
  },
  {
    key: 'con-4',
    fields: ['clinicalStatus', 'abatementDateTime', 'abatementString'],
    message: 'a condition that has ended needs clinicalStatus inactive, remission or resolved',
    holds: condition =>
      !exists(condition, 'abatement[x]') ||
      hasCoding(
        condition.clinicalStatus,
        'http://terminology.hl7.org/CodeSystem/condition-clinical',
        'inactive',
        'remission',
        'resolved'
      )
  },
  {
    key: 'con-5',
    fields: ['clinicalStatus', 'verificationStatus'],
    message: 'clinicalStatus must be absent when verificationStatus is entered-in-error',
    holds: condition => !isEnteredInError(condition) || !exists(condition, 'clinicalStatus')
  }
]

const isEnteredInError = (condition: FhirElement): boolean =>
  hasCoding(
    condition.verificationStatus,
    'http://terminology.hl7.org/CodeSystem/condition-ver-status',
    'entered-in-error'
  )

const isOnProblemList = (condition: FhirElement): boolean =>
  itemsAt(condition, 'category').some(category =>
    hasCoding(category, 'http://terminology.hl7.org/CodeSystem/condition-category', 'problem-list-item')
  )

const reporters = ['Practitioner', 'PractitionerRole', 'Patient', 'RelatedPerson'] as const
const finding = conceptOf({ max: 500 })

/** http://hl7.org/fhir/R4/condition.html */
export const conditions = mapping('Condition', {
  path: 'conditions',
  operation: 'createCondition',
  about: 'A diagnosis, problem or other relevant state of a patient.',
  fields: {
    identifiers: identifiers(),
    patientId: reference('Patient')('subject', { required: true, filter: 'patient' }),
    clinicalStatus: conceptCode('http://terminology.hl7.org/CodeSystem/condition-clinical', conditionClinicalStatus)(
      'clinicalStatus',
      { filter: 'clinical-status' }
    ),
    verificationStatus: conceptCode(
      'http://terminology.hl7.org/CodeSystem/condition-ver-status',
      conditionVerificationStatus
    )('verificationStatus', { filter: 'verification-status' }),
    category: conceptCode('http://terminology.hl7.org/CodeSystem/condition-category', conditionCategories).list(
      'category',
      { maxItems: 5, filter: 'category' }
    ),
    severity: conceptOf({ max: 200 })('severity', { filter: 'severity' }),
    code: concept('code', { filter: 'code' }),
    bodySite: finding.list('bodySite', { maxItems: 10, about: 'Where in or on the body.' }),
    encounterId: reference('Encounter')('encounter'),
    onsetDateTime: dateTime('onsetDateTime', { choice: 'onset' }),
    onsetString: textUpTo(500)('onsetString', { choice: 'onset' }),
    abatementDateTime: dateTime('abatementDateTime', {
      choice: 'abatement',
      notBefore: 'onsetDateTime',
      about: 'When it ended.'
    }),
    abatementString: textUpTo(500)('abatementString', { choice: 'abatement' }),
    recordedDate: dateTime('recordedDate'),
    recorderId: reference(reporters)('recorder'),
    asserterId: reference(reporters)('asserter', { about: 'Who said so.' }),
    stage: backbone({ summary: finding('summary'), type: conceptOf({ max: 200 })('type') }).list('stage', {
      maxItems: 10,
      about: 'How advanced it is, such as a cancer stage.'
    }),
    evidence: backbone({
      code: finding.list('code', { maxItems: 10, about: 'The signs.' }),
      detailIds: anyReference.list('detail', { maxItems: 10, about: 'The records of the signs, as Type/id.' })
    }).list('evidence', { maxItems: 20, about: 'The evidence for it.' }),
    note: note('note', { max: 5000 })
  },
  rules: conditionRules
})
