/** Where the items of a list stood before a JSON Patch, which names them by their positions. */

/** The position that an item had, and what the patch did with it: a part may have changed, but the item is the same. */
export interface ItemOrigin {
  readonly index: number
  readonly how: 'same' | 'replaced' | 'copied'
}

interface ListOrigins {
  /** The list before the patch. */
  readonly before: readonly unknown[]
  /** For each item its origin, undefined for a new one; absent while all items are where they were. */
  readonly items?: ReadonlyArray<ItemOrigin | undefined>
}

const known = new WeakMap<readonly unknown[], ListOrigins>()

/** Remembers for as long as a list is used where its items come from. */
export const setOrigins = (list: readonly unknown[], origins: ListOrigins): unknown => known.set(list, origins)

/** Where the items of a list come from; undefined for a list that no patch was applied to. */
export const getOrigins = (list: readonly unknown[]): ListOrigins | undefined => known.get(list)

/** The list with each item mapped, which comes from where the item does. */
export function mapItems<T, U> (list: readonly T[], map: (item: T, index: number) => U): U[] {
  const mapped = list.map(map)
  const origins = known.get(list)
  if (origins !== undefined) known.set(mapped, origins)
  return mapped
}
