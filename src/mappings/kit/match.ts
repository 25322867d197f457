import { ExactNumber } from '../../json.js'
import { same } from './element.js'
import { isElement } from './path.js'

/** For each value of a list the place of the item that it was before; undefined for a new one. */
type Sources = Array<number | undefined>

/** The values, and the items shown before with their places that no value has claimed. */
interface Lists { readonly values: readonly unknown[], readonly free: Map<number, unknown> }

/**
 * Finds for each value of a list which item it was: the one in its own place, an equal one elsewhere, or, for items that
 * may be revised, the one with which it shares most. The time is that of the lists' length, which clients choose.
 */
export function match (values: readonly unknown[], shown: readonly unknown[], revises: boolean): Sources {
  const order = shown.flatMap((item, place) => item === undefined ? [] : [place])
  const sources = values.map((value, i) => order[i] !== undefined && same(shown[order[i]], value) ? order[i] : undefined)
  if (sources.every(source => source !== undefined)) return sources
  const taken = new Set(sources)
  const free = new Map(order.filter(place => !taken.has(place)).map(place => [place, shown[place]]))
  claim(sources, { values, free }, value => [textOf(value)])
  if (revises) claim(sources, { values, free }, partsOf)
  return sources
}

/** Most items of one trait that are compared; a trait of more items tells them apart badly anyway. */
const mostCompared = 20

/** Gives each value that is left the free item with which it has most traits in common, the first of several. */
function claim (sources: Sources, { values, free }: Lists, traitsOf: (value: unknown) => readonly string[]): void {
  const places = new Map<string, number[]>()
  for (const [place, item] of free) {
    for (const trait of traitsOf(item)) places.get(trait)?.push(place) ?? places.set(trait, [place])
  }
  const freeWith = (trait: string): readonly number[] => {
    const all = places.get(trait) ?? []
    while (all.length > 0 && !free.has(all[0]!)) all.shift()
    return all.slice(0, mostCompared).filter(place => free.has(place))
  }
  values.forEach((value, i) => {
    if (sources[i] !== undefined) return
    sources[i] = mostFrequent(traitsOf(value).flatMap(freeWith))
    if (sources[i] !== undefined) free.delete(sources[i])
  })
}

/** The number that stands most often in a list, the smallest of several. */
function mostFrequent (numbers: readonly number[]): number | undefined {
  const counts = new Map<number, number>()
  for (const number of numbers) counts.set(number, (counts.get(number) ?? 0) + 1)
  return [...counts].sort(([a, x], [b, y]) => y - x || a - b)[0]?.[0]
}

/** The members of an object as texts that are equal when name and value are. */
function partsOf (value: unknown): string[] {
  return isElement(value) ? Object.entries(value).map(([name, item]) => `${name} ${textOf(item)}`) : []
}

/** A text that two values have in common exactly when they are the same, whatever the order of their members. */
function textOf (value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (!isElement(value)) return value instanceof ExactNumber ? value.text : JSON.stringify(value)
  return `{${Object.keys(value).sort().map(name => `${JSON.stringify(name)}:${textOf(value[name])}`).join()}}`
}
