import { isNarrative } from '../fields/xhtml.js'
import type { FhirElement } from '../fhir.js'
import { at, isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const compositionRules: readonly Rule[] = [
  {
    key: 'author 1..*',
    fields: ['authorIds'],
    message: 'a document needs an author',
    holds: composition => itemsAt(composition, 'author').length > 0
  },
  {
    key: 'cmp-1',
    fields: ['sections'],
    message: 'each section needs text, resourceIds or sections',
    holds: composition =>
      sectionsIn(composition).every(section => ['text', 'entry', 'section'].some(part => exists(section, part)))
  },
  {
    key: 'cmp-2',
    fields: ['sections'],
    message: 'a section with a stored reason why it is empty cannot have resourceIds',
    holds: composition =>
      sectionsIn(composition).every(section => !(exists(section, 'emptyReason') && exists(section, 'entry')))
  },
  {
    key: 'txt-1',
    fields: ['sections'],
    message: 'XHTML must be well-formed, use only formatting elements and attributes, and contain visible content',
    holds: composition =>
      sectionsIn(composition)
        .map(section => at(section, 'text.div'))
        .every(div => typeof div !== 'string' || isNarrative(div))
  }
]

function sectionsIn (holder: FhirElement): FhirElement[] {
  return itemsAt(holder, 'section').filter(isElement).flatMap(section => [section, ...sectionsIn(section)])
}
