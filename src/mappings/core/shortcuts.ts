/** Fields that show a part of what another field shows whole, where a client sends both. */
import { fieldIssue, type Issue } from '../../envelope/failures.js'
import type { FhirElement } from '../fhir.js'
import { deepEqual, type Element, type Elements } from './element.js'
import { getAt, isElement, itemsAt, withAt } from './path.js'

type Fields = Readonly<Record<string, unknown>>

interface ShortcutOptions { readonly full: string, readonly changes: Fields }

/**
 * The holder, in which a whole field is written already, with the shortcuts to it that were sent: where they show an
 * item of the list, it becomes the first, and where they show none, one is added. What contradicts the whole field is
 * left out.
 */
export function withShortcuts (holder: FhirElement, fields: Elements, { full, changes }: ShortcutOptions): FhirElement {
  const sent = Object.entries(fields).filter(
    ([name, { options }]) => options.shortcutOf === full && (changes[name] ?? undefined) !== undefined
  )
  const open = sent.filter(([name, element]) => !deepEqual(element.read(holder), element.accept(changes[name])))
  if (open.length === 0) return holder
  const { path } = fields[full]!
  if (!Array.isArray(getAt(holder, path))) {
    // What a stored value leaves in the whole field is not what the client sent in it.
    const fullOnly = fields[full]!.write({}, changes[full])
    return open.reduce(
      (rest, [name, element]) => (element.read(fullOnly) === undefined ? element.write(rest, changes[name]) : rest),
      holder
    )
  }
  const added = itemsAt(
    sent.reduce((rest, [name, element]) => element.write(rest, changes[name]), {} as FhirElement),
    path
  )
  return added
    .toReversed()
    .reduce<FhirElement>(
      (rest, item) => withItemFirst(rest, path, { item, shortcuts: sent.map(([, element]) => element) }),
      holder
    )
}

interface AddedItem { readonly item: unknown, readonly shortcuts: readonly Element[] }

function withItemFirst (holder: FhirElement, path: string, { item, shortcuts }: AddedItem): FhirElement {
  const readFromItems = (element: Element, ...items: readonly unknown[]): unknown =>
    element.read(withAt({}, path, items))
  const concerned = shortcuts.filter(element => readFromItems(element, item) !== undefined)
  const items = itemsAt(holder, path)
  const isShownBy = (...shown: readonly unknown[]): boolean =>
    concerned.every(element => deepEqual(readFromItems(element, ...shown), readFromItems(element, item)))
  if (isShownBy(...items)) return holder
  const found = items.findIndex(other => isShownBy(other))
  if (found >= 0) return withAt(holder, path, [items[found], ...items.toSpliced(found, 1)])
  return concerned.some(({ options }) => options.partOfItem) ? holder : withAt(holder, path, [item, ...items])
}

/**
 * An issue for each of two fields that were sent and that cannot both be shown as they were sent; null removes one.
 * @param patch makes the record that should show the fields of such pairs
 */
export function checkContradictions (
  fields: Elements, changes: Fields, patch: (changes: Fields) => FhirElement
): Issue[] {
  const pairs = Object.entries(fields).flatMap(([name, { options }]) => {
    const full = options.shortcutOf
    const areSent = full !== undefined && Object.hasOwn(changes, name) && Object.hasOwn(changes, full)
    return areSent && (changes[name] ?? changes[full] ?? undefined) !== undefined ? [{ name, full }] : []
  })
  if (pairs.length === 0) return []
  const resource = patch(
    Object.fromEntries(
      pairs.flatMap(({ name, full }) => [
        [name, changes[name]],
        [full, changes[full]]
      ])
    )
  )
  const isShown = (name: string): boolean => {
    const { accept, read } = fields[name]!
    const [value, shown] = [changes[name] ?? undefined, read(resource)]
    if (value === undefined) return shown === undefined
    // A value that another system stored in a form of its own stays in it.
    const forms = Array.isArray(value) ? value.map(item => [item, accept([item])]) : [[value, accept(value)]]
    return forms.every(alternatives => alternatives.some(form => contains(shown, form)))
  }
  return pairs.filter(({ name, full }) => !isShown(name) || !isShown(full)).flatMap(({ name, full }) => [
    fieldIssue(name, `contradicts ${full}; send one of the two, or the same in both`, 'invariant'),
    fieldIssue(full, `contradicts ${name}; send one of the two, or the same in both`, 'invariant')
  ])
}

/** Whether a value has all that another has; a list may have more items, and an object more members. */
function contains (shown: unknown, sent: unknown): boolean {
  const items = [shown ?? []].flat()
  return [sent ?? []].flat().every(item => items.some(other => hasMembers(other, item)))
}

function hasMembers (shown: unknown, sent: unknown): boolean {
  if (!isElement(shown) || !isElement(sent)) return deepEqual(shown, sent)
  return Object.keys(sent).every(name => deepEqual(shown[name], sent[name]))
}
