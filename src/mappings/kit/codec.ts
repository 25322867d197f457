import { same } from './element.js'
import { match } from './match.js'
import type { FilterKind, Schema } from './schema.js'

/**
 * A datatype: how one simple value stands in FHIR, wherever it stands.
 * A codec with `revises` edits what was there (a backbone element with parts that the simple form does not show);
 * any other is a value: changed, it is replaced whole, since an old display or hash beside it would be a lie.
 */
export interface Codec<T> {
  readonly schema: Schema
  readonly kind: FilterKind
  readonly revises?: boolean
  /** The form in which a value is read back: aliases replaced, one item of a list as a list. */
  accept? (value: T): T
  /** Undefined for what the simple form cannot show; never throws. */
  read (stored: unknown): T | undefined
  /** Takes every form that `accept` takes. */
  write (value: T, before: unknown): unknown
  /** What stays in the place when the value is removed; nothing when absent. */
  without? (before: unknown): unknown
}

/** The stored form after a value is put in its place; the very same when it was that value before. */
export function put<T> (codec: Codec<T>, value: T | undefined, before: unknown): unknown {
  if (value === undefined) return before === undefined || codec.read(before) === undefined ? before : codec.without?.(before)
  const shown = codec.read(before)
  if (shown !== undefined && (same(shown, value) || same(shown, accepted(codec, value)))) return before
  return codec.write(value, codec.revises ? before : undefined)
}

/** A value in the form in which it is read back. */
export const accepted = <T>(codec: Codec<T>, value: T): T => codec.accept ? codec.accept(value) : value

/** A list after a change, and for each item its place in the list before, if it had one. */
export interface Relisted { readonly items: readonly unknown[], readonly origins: ReadonlyArray<number | undefined> }

/**
 * Puts values in place of the items that the simple form shows. An item that it cannot show stays where it is; an item
 * that is still wanted is kept as it was, hidden parts and all; a revised backbone element keeps its hidden parts when
 * it shares at least one value with the one it replaces, since otherwise it is another thing.
 */
export function putList<T> (codec: Codec<T>, values: readonly T[], before: readonly unknown[]): Relisted {
  const shown = before.map(item => codec.read(item))
  const wanted = values.map(value => accepted(codec, value))
  const sources = match(wanted, shown, codec.revises === true)
  const written = values.map((value, i) => {
    const source = sources[i]
    return { item: put(codec, value, source === undefined ? undefined : before[source]), origin: source }
  })
  const slots = before.flatMap((item, i) => shown[i] === undefined ? [{ item, origin: i }] : written.splice(0, 1))
  const placed = [...slots, ...written]
  return { items: placed.map(slot => slot.item), origins: placed.map(slot => slot.origin) }
}
