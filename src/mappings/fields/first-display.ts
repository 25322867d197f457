import { display, localReference } from '../datatypes/reference.js'
import type { Element, ElementOptions } from '../core/element.js'
import { isElement } from '../core/path.js'
import { firstItemLens, listItemField, type ListItemLens } from './part-of-item.js'

/**
 * The first Reference that leads to a record of the store, as the field with the id shows it; where none does, the
 * first of any kind.
 */
const lens: ListItemLens = items => {
  const found = items.findIndex(item => isElement(item) && localReference(item.reference) !== undefined)
  return found < 0 ? firstItemLens(items) : found
}

/** The display of the first Reference of a list: somebody by name, next to the field with the id or alone. */
export function firstDisplay (path: string, options: ElementOptions & { readonly max?: number } = {}): Element<string> {
  return { ...listItemField(display(options.max).codec, path, lens, options), path: `${path}.display` }
}
