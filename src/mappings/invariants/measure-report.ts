import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const measureReportRules: readonly Rule[] = [
  {
    key: 'mrp-1',
    fields: ['type', 'group'],
    message: 'a report of type data-collection has no group',
    holds: report => report.type !== 'data-collection' || !exists(report, 'group')
  },
  {
    key: 'mrp-2',
    fields: ['group'],
    message: 'each stratum needs value or component, not both',
    holds: report => strata(report).every(stratum => exists(stratum, 'value') !== exists(stratum, 'component'))
  }
]

const strata = (report: FhirElement): FhirElement[] => itemsIn([report], 'group', 'stratifier', 'stratum')

function itemsIn (holders: readonly FhirElement[], ...path: readonly string[]): FhirElement[] {
  return path.reduce((found, name) => found.flatMap(holder => itemsAt(holder, name).filter(isElement)), [...holders])
}
