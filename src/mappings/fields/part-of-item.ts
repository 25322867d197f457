import { put, type Codec } from '../core/codec.js'
import { datatype } from '../core/datatype.js'
import type { Element, ElementOptions } from '../core/element.js'
import { itemsAt, withAt } from '../core/path.js'

/** The place of an item in a list; -1 where a new one is to be added. */
export type ListItemLens = (items: readonly unknown[]) => number

export const firstItemLens: ListItemLens = items => items.length === 0 ? -1 : 0

/**
 * A field that shows one item of a list as a codec does, whether that shows anything of it yet or not: a Dosage that so
 * far has only a text takes a dose. The other items are kept, and of this one what the codec keeps.
 */
export function listItemField<T, const O extends ElementOptions = object> (
  codec: Codec<T>,
  path: string,
  lens: ListItemLens,
  options: O = {} as O
): Element<T, O> {
  return {
    ...datatype(codec)(path, options),
    read (holder) {
      const items = itemsAt(holder, path)
      return codec.read(items[lens(items)])
    },
    write (holder, value) {
      const items = itemsAt(holder, path)
      const found = lens(items)
      const after = put(codec, value, items[found])
      if (after === items[found]) return holder
      const remaining = after === undefined ? [] : [after]
      const changed = found < 0 ? [...items, ...remaining] : items.toSpliced(found, 1, ...remaining)
      return withAt(holder, path, changed.length === 0 ? undefined : changed)
    }
  }
}
