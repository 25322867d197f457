import { at, isElement, itemsAt } from '../kit/path.js'
import type { Rule } from '../kit/rule.js'

export const documentReferenceRules: readonly Rule[] = [
  {
    key: 'content 1..*',
    fields: ['content', 'contentType'],
    says: 'a note needs content',
    holds: note => itemsAt(note, 'content').length > 0
  },
  {
    key: 'att-1',
    fields: ['contentType'],
    says: 'cannot be removed while the content has data',
    holds: note => itemsAt(note, 'content').every(content => !isElement(content) || at(content, 'attachment.data') === undefined || at(content, 'attachment.contentType') !== undefined)
  }
]
