import { exists } from '../core/exists.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'

/** A field that shows of the first item of a list what R4 requires of each. */
interface FirstOfItems {
  readonly field: string
  /** The list's name in FHIR, and the name of what its items need. */
  readonly list: string
  readonly part: string
  /** The field that shows the whole list. */
  readonly full: string
}

/** Such a field is not removed from an item that holds more, which would have to go with it. */
export const firstItemRule = ({ field, list, part, full }: FirstOfItems): Rule => ({
  key: `${list}.${part} 1..1`,
  fields: [field],
  message: `cannot be removed alone, since there is more beside it; change ${full} instead`,
  holds (resource) {
    const [first] = itemsAt(resource, list)
    return !isElement(first) || exists(first, part)
  }
})
