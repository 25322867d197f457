import type { ItemOrigin } from '../../json/list-origins.js'
import { deepEqual } from './element.js'
import { areDifferent } from './identity.js'
import { findMatching, findEqual, findAtSamePosition, findOrigins } from './match.js'
import { isElement } from './path.js'
import type { FilterKind, Schema } from './schema.js'
import { canonicalJson } from './canonical-json.js'

/**
 * A datatype: how one simple value is represented in FHIR, at any path. A codec with `revises` edits what was there, so
 * that parts that the simple form does not show stay; any other replaces the whole value, which then means something
 * else.
 */
export interface Codec<T> {
  readonly schema: Schema
  readonly kind: FilterKind
  readonly revises?: boolean
  /** For items of a list that may be revised: what identifies an item, as texts. */
  identify? (value: unknown): readonly string[]
  /** The form in which a value is read back: aliases replaced, one item of a list as a list. */
  accept? (value: T): T
  /** Undefined for what the simple form cannot show; never throws. */
  read (stored: unknown): T | undefined
  /** Takes every form that `accept` takes. */
  write (value: T, before: unknown): unknown
  /**
   * The value without what the simple form had shown of its other members alone: a client that changes those sends it
   * back as it read it. @param stored what the value replaces
   */
  withoutDerived? (value: T, stored: unknown): T
  /** The same with what a filter finds the value by, for the elements at which a filter looks. */
  readonly searched?: Codec<T>
  /** The rest that remains when the value is removed; nothing when absent. */
  withoutValue? (before: unknown): unknown
}

/** The stored form after a value is put in its place; the same object if it had that value before. */
export function put<T> (codec: Codec<T>, value: T | undefined, before: unknown): unknown {
  if (value === undefined) {
    return before === undefined || codec.read(before) === undefined ? before : codec.withoutValue?.(before)
  }
  const shown = codec.read(before)
  if (shown !== undefined && (deepEqual(shown, value) || deepEqual(shown, acceptValue(codec, value)))) return before
  return codec.write(omitDerived(codec, value, before), codec.revises ? before : undefined)
}

const omitDerived = <T>({ withoutDerived }: Codec<T>, value: T, stored: unknown): T =>
  withoutDerived === undefined || stored === undefined ? value : withoutDerived(value, stored)

/** A value in the form in which it is read back. */
export const acceptValue = <T>(codec: Codec<T>, value: T): T => codec.accept ? codec.accept(value) : value

/**
 * Values in the form in which they are read back; one that is shown as it was sent stays so, even if a new one would
 * get another form.
 */
function acceptValues<T> (codec: Codec<T>, values: readonly T[], shown: readonly unknown[]): readonly T[] {
  const forms = values.map(value => acceptValue(codec, value))
  if (forms.every((form, i) => deepEqual(form, values[i]))) return forms
  const texts = new Set(shown.map(canonicalJson))
  return forms.map((form, i) => texts.has(canonicalJson(values[i])) ? values[i]! : form)
}

/** A list after a change, and for each item its place in the list before, if it had one. */
export interface ReorderedList {
  readonly items: readonly unknown[]
  readonly origins: ReadonlyArray<number | undefined>
}

/**
 * Puts values in place of the items that the simple form shows. An item that it cannot show stays where it is; an
 * unchanged item remains stored with its hidden parts; a revised one retains its hidden parts when it is the same thing
 * as the one it replaces, or has its position in a list of the same length and order. A JSON Patch states which item is
 * which.
 */
export function putList<T> (codec: Codec<T>, values: readonly T[], before: readonly unknown[]): ReorderedList {
  if (before.length === 0) {
    return { items: values.map(value => codec.write(value, undefined)), origins: values.map(() => undefined) }
  }
  const shown = before.map(item => codec.read(item))
  const requested = acceptValues(codec, values, shown)
  const named = findOrigins(values, shown)
  const sources = named ? findPatchSources(codec, { requested, shown, named }) : findSources(codec, requested, shown)
  const replaced = codec.withoutDerived && findReplacedItems(sources, { named, shown })
  const written = values.map((sent, i) => {
    const origin = sources[i]
    const value = omitDerived(codec, sent, before[replaced?.[i] ?? -1])
    if (origin === undefined) {
      return { item: codec.write(value, codec.revises ? copyWithoutIds(before, named?.[i]) : undefined), origin }
    }
    if (deepEqual(shown[origin], requested[i])) return { item: before[origin], origin }
    return codec.revises
      ? { item: codec.write(value, before[origin]), origin }
      : { item: codec.write(value, undefined), origin: undefined }
  })
  let next = 0
  const slots = before.flatMap((item, i) =>
    shown[i] === undefined ? [{ item, origin: i }] : next < written.length ? [written[next++]!] : []
  )
  const positioned = [...slots, ...written.slice(next)]
  return { items: positioned.map(slot => slot.item), origins: positioned.map(slot => slot.origin) }
}

type Sources = ReturnType<typeof findEqual>

/** For each value the item that it represents: its source, the one that a JSON Patch names, or the one in its place. */
function findReplacedItems (
  sources: Sources,
  { named, shown }: { readonly named: ReturnType<typeof findOrigins>, readonly shown: readonly unknown[] }
): Sources {
  if (named !== undefined) return sources.map((source, i) => source ?? named[i]?.index)
  return findAtSamePosition(sources, shown, () => false)
}

/** The items that values revise, found by what they have in common. */
function findSources<T> (codec: Codec<T>, requested: readonly T[], shown: readonly unknown[]): Sources {
  const identified = findIdentifiedSources(codec, { requested, shown })
  return codec.revises
    ? findAtSamePosition(identified, shown, (value, index) => isOther(codec, requested[value], shown[index]))
    : identified
}

interface Lists<T> { readonly requested: readonly T[], readonly shown: readonly unknown[] }

function findIdentifiedSources<T> (codec: Codec<T>, { requested, shown }: Lists<T>, known?: Sources): Sources {
  const equal = findEqual(requested, shown, known)
  return codec.identify ? findMatching({ values: requested, shown }, equal, codec.identify) : equal
}

/** The items that a JSON Patch names; one that it adds or replaces may still be one that it removed. */
function findPatchSources<T> (
  codec: Codec<T>,
  { requested, shown, named }: Lists<T> & { readonly named: NonNullable<ReturnType<typeof findOrigins>> }
): Sources {
  const certain = named.map(origin => (origin?.how === 'same' ? origin.index : undefined))
  const sources = findIdentifiedSources(codec, { requested, shown }, certain)
  const used = new Set(sources)
  return sources.map((source, i) => {
    const origin = named[i]
    if (source !== undefined || origin?.how !== 'replaced' || used.has(origin.index)) return source
    return isOther(codec, requested[i], shown[origin.index]) ? undefined : origin.index
  })
}

const isOther = ({ identify }: Codec<any>, value: unknown, item: unknown): boolean =>
  areDifferent(identify?.(value) ?? [], identify?.(item) ?? [])

/** The hidden content of the copy of an item: all of the item's except its ids, which are unique in a record. */
const copyWithoutIds = (before: readonly unknown[], origin: ItemOrigin | undefined): unknown =>
  origin?.how === 'copied' ? withoutIds(before[origin.index]) : undefined

function withoutIds (stored: unknown): unknown {
  if (Array.isArray(stored)) return stored.map(withoutIds)
  if (!isElement(stored)) return stored
  const { id: _, ...rest } = stored
  return Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, withoutIds(value)]))
}
