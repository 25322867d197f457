/** What a change of one field did to FHIR content that the field does not show. */
import type { FhirElement } from '../../src/mappings/fhir.js'
import { deepEqual, type Element } from '../../src/mappings/core/element.js'
import { isElement, itemsAt } from '../../src/mappings/core/path.js'

/** Each place where something changed that the field does not show; empty when the change was clean. */
export function strays (element: Element, before: FhirElement, after: FhirElement): string[] {
  return strayMembers(before, after, {
    element,
    steps: element.path.split('.'),
    way: '',
    whole: holder => holder as FhirElement
  })
}

interface Place {
  readonly element: Element
  readonly steps: readonly string[]
  readonly way: string
  /** The resource as it was before, with another value at this place. */
  readonly whole: (value: unknown) => FhirElement
}

function strayMembers (before: FhirElement, after: FhirElement, place: Place): string[] {
  const [name, ...further] = place.steps as [string, ...string[]]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const others = [...names].filter(
    other => other !== name && !deepEqual(before[other], after[other]) && !isOwned(other, place, { before, after })
  )
  const inner = {
    ...place,
    steps: further,
    way: `${place.way}.${name}`,
    whole: (value: unknown) => place.whole({ ...before, [name]: value })
  }
  return [...others.map(other => `${place.way}.${other} changed`), ...strayValues(before[name], after[name], inner)]
}

/** Members that change with the field by design: rival choices, extras that move with their list, a name's old text. */
function isOwned (
  other: string,
  { element, steps, way }: Place,
  { before, after }: { before: FhirElement; after: FhirElement }
): boolean {
  const [name, ...further] = steps as [string, ...string[]]
  const { choice } = element.options
  if (isOfTitle(element.path, other)) return true
  if (further.length > 0) return false
  if (choice !== undefined && other.replace(/^_/, '').startsWith(choice)) return true
  if (
    element.path === name &&
    name !== other.replace(/^_/, '') &&
    other.replace(/^_/, '').startsWith(name) &&
    before[name] === undefined
  ) { return true }
  if (/^\.name\[/.test(way) && ['text', '_text'].includes(other)) return after[other] === undefined
  return other === `_${name}` && areExtrasInStep(name, before, after)
}

/** The title of a note is its description and stands a second time beside its text. */
const isOfTitle = (path: string, other: string): boolean =>
  (path === 'description' && other === 'content') || (path === 'content.attachment' && other === 'description')

/** Whether each primitive of a list that stands once before and after still has its own extra. */
function areExtrasInStep (name: string, before: FhirElement, after: FhirElement): boolean {
  const [old, now] = [before, after].map(holder => ({
    values: listOf(holder[name]),
    extras: listOf(holder[`_${name}`])
  })) as [Extended, Extended]
  const once = ({ values }: Extended, value: unknown): boolean => values.filter(other => other === value).length === 1
  return now.values.every((value, i) => value === null || !once(now, value) || !once(old, value) ||
    deepEqual(now.extras[i] ?? null, old.extras[old.values.indexOf(value)] ?? null))
}

interface Extended { readonly values: readonly unknown[], readonly extras: readonly unknown[] }

const listOf = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []

function strayValues (before: unknown, after: unknown, place: Place): string[] {
  if (before === after) return []
  if (Array.isArray(before) || Array.isArray(after)) return strayItems(listOf(before), listOf(after), place)
  if (place.steps.length === 0) return []
  return strayMembers(isElement(before) ? before : {}, isElement(after) ? after : {}, place)
}

function strayItems (before: readonly unknown[], after: readonly unknown[], place: Place): string[] {
  if (place.steps.length === 0) return lostItems(before, after, place)
  const changed = before.flatMap((item, i) => deepEqual(item, after[i]) ? [] : [i])
  if (after.length > before.length) {
    return changed.length > 0 || after.length > before.length + 1 ? [`${place.way} changed beside the added item`] : []
  }
  if (after.length < before.length) return isWithoutOne(before, after) ? [] : [`${place.way} lost more than one item`]
  if (changed.length !== 1) return [`${place.way} changed in ${changed.length} items`]
  const i = changed[0]!
  return strayValues(before[i], after[i], {
    ...place,
    way: `${place.way}[${i}]`,
    whole: item => place.whole(before.with(i, item))
  })
}

const isWithoutOne = (before: readonly unknown[], after: readonly unknown[]): boolean =>
  before.some((_, i) => deepEqual(before.toSpliced(i, 1), after))

/** Items of the field's own list that it does not show and that are gone or have another order. */
function lostItems (before: readonly unknown[], after: readonly unknown[], place: Place): string[] {
  let from = 0
  for (const item of before.filter((_, i) => !isShown(before, i, place))) {
    const found = after.findIndex(
      (other, i) => i >= from && (deepEqual(other, item) || deepEqual(beside(other, place), item))
    )
    if (found < 0) return [`${place.way} lost an item that the field does not show`]
    from = found + 1
  }
  return []
}

/**
 * What an item has beside what the field shows of it: an item that the field did not show may have become part of it.
 */
function beside (item: unknown, { element, whole }: Place): unknown {
  return itemsAt(element.write(whole([item]), undefined), element.path)[0]
}

function isShown (items: readonly unknown[], place: number, { element, whole }: Place): boolean {
  const canBe = (item: unknown): boolean => element.read(whole([item, ...isLaterGiven ? [item] : []])) !== undefined
  const isLaterGiven = element.path === 'name.given' && element.read(whole(['A'])) === undefined
  const isFirst = !items.slice(0, place).some(canBe)
  return canBe(items[place]) && (isLaterGiven ? !isFirst : isFirst || isList(element))
}

/** Whether a field shows all items of a list. */
export const isList = ({ schema }: Element): boolean =>
  schema.anyOf?.some(form => form.type === 'array' || form.anyOf?.[0]?.type === 'array') === true
