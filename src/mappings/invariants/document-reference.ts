import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { exists } from '../core/exists.js'

export const documentReferenceRules: readonly Rule[] = [
  {
    key: 'content 1..*',
    fields: ['content', 'contentType'],
    message: 'a note needs content',
    holds: note => itemsAt(note, 'content').length > 0
  },
  {
    key: 'att-1',
    fields: ['contentType'],
    message: 'cannot be removed while the content has data',
    holds: note => itemsAt(note, 'content').map(content => isElement(content) ? content.attachment : undefined)
      .every(attachment => !isElement(attachment) || !exists(attachment, 'data') || exists(attachment, 'contentType'))
  }
]
