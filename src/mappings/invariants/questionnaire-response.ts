import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const questionnaireResponseRules: readonly Rule[] = [
  {
    key: 'qrs-1',
    fields: ['items'],
    message: 'an item has either answers or items; put items that follow from an answer under that answer',
    holds: response => itemsIn(response).every(item => !(exists(item, 'answer') && exists(item, 'item')))
  }
]

function itemsIn (holder: FhirElement): FhirElement[] {
  const items = itemsAt(holder, 'item').filter(isElement)
  return items.flatMap(item => [item, ...itemsIn(item), ...itemsAt(item, 'answer').filter(isElement).flatMap(itemsIn)])
}
