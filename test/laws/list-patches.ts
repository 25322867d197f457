/** JSON Patches of the items of a list, and the position of each stored item after them. */
import fc, { type Arbitrary } from 'fast-check'
import { deepEqual, type Element } from '../../src/mappings/core/element.js'
import { toSiblingPath } from '../../src/mappings/core/outdated.js'
import { isElement, itemsAt, withAt, withMember } from '../../src/mappings/core/path.js'
import type { FhirElement } from '../../src/mappings/fhir.js'

/** Numbers from which operations are built, whatever the list is by then. */
interface Step { readonly kind: 'remove' | 'move' | 'copy' | 'add' | 'change', readonly at: number, readonly to: number }

export const steps: Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('remove', 'move', 'copy', 'add', 'change', 'change'),
    at: fc.nat(1000),
    to: fc.nat(1000)
  }),
  { minLength: 1, maxLength: 4 }
)

/** An item after a patch: its marker, if it is a stored one, and whether the patch changed its shown part. */
interface Expected { readonly marker?: string, readonly isChanged?: true, readonly isCopy?: true }

interface ListPatch { readonly operations: readonly object[], readonly expected: readonly Expected[] }

const markerUrl = 'http://example.org/mark'

/**
 * A resource with a marker in each item of a list that no field shows; undefined where the list has no items, or they
 * are shown in another way than one by one.
 */
export function addMarkers (element: Element, resource: FhirElement): FhirElement | undefined {
  const items = itemsAt(resource, element.path)
  const shown = element.read(resource)
  // A single remark is shown as a text, which has no items.
  if (!Array.isArray(shown) || shown.length !== listShownIndexes(element, resource).length) return undefined
  if (items.every(item => typeof item === 'string')) {
    return withAt(resource, toSiblingPath(element.path), items.map((_, i) => ({ id: `m${i}` })))
  }
  const markedItems = items.map((item, i) =>
    isElement(item)
      ? { ...item, extension: [...itemsAt(item, 'extension'), { url: markerUrl, valueString: `m${i}` }] }
      : item
  )
  const after = withAt(resource, element.path, markedItems)
  return deepEqual(element.read(after), element.read(resource)) ? after : undefined
}

/** The positions of the items that an element shows, each by itself. */
function listShownIndexes ({ path, read }: Element, resource: FhirElement): readonly number[] {
  return itemsAt(resource, path).flatMap((item, i) => {
    const alone = [read(withAt({}, path, [item])) ?? []].flat()
    return alone.length === 1 ? [i] : []
  })
}

/** The marker of each item that is shown. */
export function listMarkers (element: Element, resource: FhirElement): ReadonlyArray<string | undefined> {
  const siblings = itemsAt(resource, toSiblingPath(element.path))
  return listShownIndexes(element, resource).map(i => {
    const item = itemsAt(resource, element.path)[i]
    if (!isElement(item)) return isElement(siblings[i]) ? (siblings[i].id as string | undefined) : undefined
    const marker = itemsAt(item, 'extension').find(extension => isElement(extension) && extension.url === markerUrl)
    return isElement(marker) ? (marker.valueString as string) : undefined
  })
}

/** The operations of some steps on a list, with values of other items of its field. */
export function buildListPatch (
  name: string,
  { shown, others, markers }: {
    readonly shown: readonly unknown[]
    readonly others: readonly unknown[]
    readonly markers: ReadonlyArray<string | undefined>
  },
  steps: readonly Step[]
): ListPatch {
  const values = [...shown]
  const expected: Expected[] = markers.map(marker => (marker === undefined ? {} : { marker }))
  const operations = steps.flatMap(({ kind, at, to }): object[] => {
    const other = others[to % others.length]
    const [from, target] = [at % Math.max(values.length, 1), to % (values.length + 1)]
    if (kind === 'add') {
      values.splice(target, 0, other)
      expected.splice(target, 0, {})
      return [{ op: 'add', path: `/${name}/${target}`, value: other }]
    }
    if (values.length === 0) return []
    if (kind === 'copy') {
      values.splice(target, 0, values[from])
      expected.splice(target, 0, { isCopy: true })
      return [{ op: 'copy', from: `/${name}/${from}`, path: `/${name}/${target}` }]
    }
    if (kind === 'change') return changeItem(name, { values, expected, other }, { from, to })
    const [value, item] = [values.splice(from, 1)[0], expected.splice(from, 1)[0]!]
    if (kind === 'remove') return [{ op: 'remove', path: `/${name}/${from}` }]
    const there = to % (values.length + 1)
    values.splice(there, 0, value)
    expected.splice(there, 0, item)
    return [{ op: 'move', from: `/${name}/${from}`, path: `/${name}/${there}` }]
  })
  return { operations, expected }
}

/** One member of an item, with another item's value, or the whole item where it has no members. */
function changeItem (
  name: string,
  { values, expected, other }: { readonly values: unknown[]; readonly expected: Expected[]; readonly other: unknown },
  { from, to }: { readonly from: number; readonly to: number }
): object[] {
  const value = values[from]
  if (!isElement(value) || !isElement(other)) {
    values[from] = other
    expected[from] = {}
    return [{ op: 'replace', path: `/${name}/${from}`, value: other }]
  }
  const members = Object.keys(other).filter(member => !deepEqual(other[member], value[member]))
  const member = members[to % members.length]
  if (member === undefined) return []
  values[from] = withMember(value, member, other[member])
  expected[from] = { ...expected[from], isChanged: true }
  return [{ op: 'add', path: `/${name}/${from}/${member}`, value: other[member] }]
}
