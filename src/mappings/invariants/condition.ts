import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists, hasCoding } from '../core/exists.js'

export const conditionRules: readonly Rule[] = [
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
