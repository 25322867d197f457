/** The effect of a change of one field on FHIR content that the field does not show. */
import type { FhirElement } from '../../src/mappings/fhir.js'
import { deepEqual, type Element } from '../../src/mappings/core/element.js'
import { isElement, itemsAt } from '../../src/mappings/core/path.js'

/** Each position where something changed that the field does not show; empty when the change was clean. */
export function findStrayChanges (element: Element, before: FhirElement, after: FhirElement): string[] {
  return findStrayMembers(before, after, {
    element,
    steps: element.path.split('.'),
    path: '',
    rebuild: holder => holder as FhirElement
  })
}

interface Position {
  readonly element: Element
  readonly steps: readonly string[]
  readonly path: string
  /** The previous resource with another value at this position. */
  readonly rebuild: (value: unknown) => FhirElement
}

function findStrayMembers (before: FhirElement, after: FhirElement, position: Position): string[] {
  const [name, ...further] = position.steps as [string, ...string[]]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const others = [...names].filter(
    other => other !== name && !deepEqual(before[other], after[other]) && !isOwned(other, position, { before, after })
  )
  const inner = {
    ...position,
    steps: further,
    path: `${position.path}.${name}`,
    rebuild: (value: unknown) => position.rebuild({ ...before, [name]: value })
  }
  return [...others.map(other => `${position.path}.${other} changed`), ...findStrayValues(before[name], after[name], inner)]
}

/** Members that change with the field by design: other choices, extras that move with their list, a name's old text. */
function isOwned (
  other: string,
  { element, steps, path }: Position,
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
  if (/^\.name\[/.test(path) && ['text', '_text'].includes(other)) return after[other] === undefined
  return other === `_${name}` && areExtrasInStep(name, before, after)
}

/** The title of a note is its description and is stored a second time next to its text. */
const isOfTitle = (path: string, other: string): boolean =>
  (path === 'description' && other === 'content') || (path === 'content.attachment' && other === 'description')

/** Whether each primitive of a list that occurs once before and after still has its own extra. */
function areExtrasInStep (name: string, before: FhirElement, after: FhirElement): boolean {
  const [old, now] = [before, after].map(holder => ({
    values: toList(holder[name]),
    extras: toList(holder[`_${name}`])
  })) as [Extended, Extended]
  const isUnique = ({ values }: Extended, value: unknown): boolean =>
    values.filter(other => other === value).length === 1
  return now.values.every((value, i) => value === null || !isUnique(now, value) || !isUnique(old, value) ||
    deepEqual(now.extras[i] ?? null, old.extras[old.values.indexOf(value)] ?? null))
}

interface Extended { readonly values: readonly unknown[], readonly extras: readonly unknown[] }

const toList = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : []

function findStrayValues (before: unknown, after: unknown, position: Position): string[] {
  if (before === after) return []
  if (Array.isArray(before) || Array.isArray(after)) return findStrayItems(toList(before), toList(after), position)
  if (position.steps.length === 0) return []
  return findStrayMembers(isElement(before) ? before : {}, isElement(after) ? after : {}, position)
}

function findStrayItems (before: readonly unknown[], after: readonly unknown[], position: Position): string[] {
  if (position.steps.length === 0) return findLostItems(before, after, position)
  const changed = before.flatMap((item, i) => deepEqual(item, after[i]) ? [] : [i])
  if (after.length > before.length) {
    return changed.length > 0 || after.length > before.length + 1 ? [`${position.path} changed beside the added item`] : []
  }
  if (after.length < before.length) return isWithoutOne(before, after) ? [] : [`${position.path} lost more than one item`]
  if (changed.length !== 1) return [`${position.path} changed in ${changed.length} items`]
  const i = changed[0]!
  return findStrayValues(before[i], after[i], {
    ...position,
    path: `${position.path}[${i}]`,
    rebuild: item => position.rebuild(before.with(i, item))
  })
}

const isWithoutOne = (before: readonly unknown[], after: readonly unknown[]): boolean =>
  before.some((_, i) => deepEqual(before.toSpliced(i, 1), after))

/** Items of the field's own list that it does not show and that are gone or have another order. */
function findLostItems (before: readonly unknown[], after: readonly unknown[], position: Position): string[] {
  let from = 0
  for (const item of before.filter((_, i) => !isShown(before, i, position))) {
    const found = after.findIndex(
      (other, i) => i >= from && (deepEqual(other, item) || deepEqual(withoutShownPart(other, position), item))
    )
    if (found < 0) return [`${position.path} lost an item that the field does not show`]
    from = found + 1
  }
  return []
}

/**
 * The parts of an item that the field does not show: an item that the field did not show may have become part of it.
 */
function withoutShownPart (item: unknown, { element, rebuild }: Position): unknown {
  return itemsAt(element.write(rebuild([item]), undefined), element.path)[0]
}

function isShown (items: readonly unknown[], index: number, { element, rebuild }: Position): boolean {
  const canBe = (item: unknown): boolean => element.read(rebuild([item, ...isLaterGiven ? [item] : []])) !== undefined
  const isLaterGiven = element.path === 'name.given' && element.read(rebuild(['A'])) === undefined
  const isFirst = !items.slice(0, index).some(canBe)
  return canBe(items[index]) && (isLaterGiven ? !isFirst : isFirst || isList(element))
}

/** Whether a field shows all items of a list. */
export const isList = ({ schema }: Element): boolean =>
  schema.anyOf?.some(form => form.type === 'array' || form.anyOf?.[0]?.type === 'array') === true
