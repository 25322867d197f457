import { ExactNumber, toPlainNumbers } from '../../json/json.js'
import { mapItems, getOrigins, type ItemOrigin } from '../../json/list-origins.js'
import { deepEqual } from './element.js'
import { isElement } from './path.js'
import { canonicalJson } from './canonical-json.js'

/** For each value of a list the place of the item that it was before; undefined for a new one. */
type Sources = ReadonlyArray<number | undefined>

/**
 * Finds the items that are still wanted, in their own place or elsewhere. Like {@link findMatching} it takes time in
 * proportion to the lists' length, which clients choose, and not to its square.
 * @param shown the items before, undefined for those that are not shown
 * @param known the places of items that are certain
 */
export function findEqual (values: readonly unknown[], shown: readonly unknown[], known?: Sources): Sources {
  const order = listShownPositions(shown)
  const sources = known ?? values.map((value, i) =>
    order[i] !== undefined && deepEqual(shown[order[i]], value) ? order[i] : undefined
  )
  return claim(sources, { values, free: getFreeItems(shown, sources) }, value => [canonicalJson(value)])
}

/** Finds for each of the other values the item that it revises, by what identifies them. */
export function findMatching (
  { values, shown }: { readonly values: readonly unknown[]; readonly shown: readonly unknown[] },
  equal: Sources,
  identify: (value: unknown) => readonly string[]
): Sources {
  return claim(equal, { values, free: getFreeItems(shown, equal) }, identify)
}

/**
 * Gives each value that is left the item in its own place, where the list has the same length and order as before and
 * the value is not another thing.
 */
export function findAtSamePosition (
  sources: Sources,
  shown: readonly unknown[],
  isOther: (value: number, index: number) => boolean
): Sources {
  if (!sources.includes(undefined)) return sources
  const order = listShownPositions(shown)
  const isInOrder =
    order.length === sources.length && sources.every((source, i) => source === undefined || source === order[i])
  return isInOrder ? sources.map((source, i) => source ?? (isOther(i, order[i]!) ? undefined : order[i])) : sources
}

const listShownPositions = (shown: readonly unknown[]): readonly number[] =>
  shown.flatMap((item, index) => (item === undefined ? [] : [index]))

/**
 * For each value of a list that a JSON Patch made of the shown items its origin, with the place among all items;
 * undefined for any other list.
 */
export function findOrigins (
  values: readonly unknown[],
  shown: readonly unknown[]
): ReadonlyArray<ItemOrigin | undefined> | undefined {
  const origins = getOrigins(values)
  if (origins === undefined) return undefined
  const order = listShownPositions(shown)
  // Moved to another place of the record, a list is of other items.
  if (!deepEqual(origins.before, order.map(index => shown[index]))) return undefined
  if (origins.items === undefined) return order.map(index => ({ index, how: 'same' }))
  return origins.items.map(origin => origin && { ...origin, index: order[origin.index]! })
}

/** The values, and the items shown before with their places that no value has claimed. */
interface Lists { readonly values: readonly unknown[], readonly free: Map<number, unknown> }

function getFreeItems (shown: readonly unknown[], sources: Sources): Lists['free'] {
  const taken = new Set(sources)
  return new Map(shown.flatMap((item, index) => item === undefined || taken.has(index) ? [] : [[index, item]]))
}

/** The maximum number of items that are compared by one trait; a trait of more items hardly distinguishes them. */
const maxCompared = 20

/** Gives each value that is left the free item with which it has most traits in common, the first of several. */
function claim (sources: Sources, { values, free }: Lists, getTraits: (value: unknown) => readonly string[]): Sources {
  if (free.size === 0 || sources.every(source => source !== undefined)) return sources
  const positions = new Map<string, number[]>()
  for (const [index, item] of free) {
    for (const trait of getTraits(item)) positions.get(trait)?.push(index) ?? positions.set(trait, [index])
  }
  const findFreeWith = (trait: string): readonly number[] => {
    const all = positions.get(trait) ?? []
    while (all.length > 0 && !free.has(all[0]!)) all.shift()
    return all.slice(0, maxCompared).filter(index => free.has(index))
  }
  return values.map((value, i) => {
    const source = sources[i] ?? findMostFrequent(getTraits(value).flatMap(findFreeWith))
    if (source !== undefined) free.delete(source)
    return source
  })
}

/** The number that stands most often in a list, the smallest of several. */
function findMostFrequent (numbers: readonly number[]): number | undefined {
  const counts = new Map<number, number>()
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1)
  return [...counts].sort(([a, x], [b, y]) => y - x || a - b)[0]?.[0]
}

/**
 * The sent value, with each text, number and boolean chosen by `choose`, which also receives the shown value at the
 * same position: in an object the member of the same name, in a list the same item, or else the one with most members
 * in common.
 * @param choose returns the value for the position; `shown` is undefined where nothing is shown
 */
export function mapWithShown (
  sent: unknown,
  shown: unknown,
  choose: (sent: unknown, shown: unknown) => unknown
): unknown {
  if (Array.isArray(sent) && Array.isArray(shown)) {
    const positions = findShownPositions(sent, shown)
    return mapItems(sent, (item, i) => mapWithShown(item, shown[positions[i] ?? -1], choose))
  }
  if (!isElement(sent) || !isElement(shown)) return choose(sent, shown)
  return Object.fromEntries(Object.entries(sent).map(([name, item]) => [name, mapWithShown(item, shown[name], choose)]))
}

/** For each sent item the position of the equal stored one; the precision of its numbers does not matter. */
function findShownPositions (sent: readonly unknown[], shown: readonly unknown[]): Sources {
  return findMatching({ values: sent, shown }, findEqual(toPlainNumbers(sent), toPlainNumbers(shown)), toMemberTexts)
}

/** A number with a precision does not distinguish items. */
function toMemberTexts (item: unknown): readonly string[] {
  if (!isElement(item)) return []
  return Object.entries(item)
    .filter(([, value]) => !(value instanceof ExactNumber))
    .map(([name, value]) => `${name} ${canonicalJson(toPlainNumbers(value))}`)
}
