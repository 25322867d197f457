import type { FhirElement } from '../fhir.js'
import type { Element, ElementOptions } from '../core/element.js'
import { createFinder, isElement, itemsAt, toItems, withAt } from '../core/path.js'
import { encodeText, getNameIds, type JsonNode, type JsonNodes } from '../../json/nodes/json-nodes.js'
import { put, type Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { toNameIds, printAt, withPrinter, getPrinter, type Print } from '../core/print.js'
import { display, parseLocalReference } from '../datatypes/reference.js'
import type { ListOptions } from '../core/cardinality.js'

/** Which item of a list a field lives in. */
interface ItemChoice {
  /** The item is the first for which this holds. */
  readonly find: (item: FhirElement) => boolean
  /** The same for an object in a text; absent where that would be no faster. */
  readonly matchesNode?: (nodes: JsonNodes, item: JsonNode) => boolean
  /** The other content of a new item. */
  readonly create?: FhirElement
  /** The item is more than the field: it goes only when nothing is left in it. */
  readonly isRetained?: boolean
}

/**
 * A field in one item of a list: an e-mail address among the telecoms. The other items remain unchanged; the item
 * itself is removed when the element that the field shows is removed from it, unless `isRetained`.
 */
export function inMatchingItem<T, O extends ElementOptions> (
  path: string,
  { find, matchesNode = createNodeMatcher(find), create = {}, isRetained = false }: ItemChoice,
  inner: Element<T, O>
): Element<T, O> {
  const root = inner.path.split('.')[0]!
  const isOver = (item: FhirElement): boolean =>
    isRetained ? Object.keys(item).length === 0 : item[root] === undefined
  const locate = createFinder(path)
  const findIndex = (holder: FhirElement): number =>
    toItems(locate(holder)).findIndex(item => isElement(item) && find(item))
  return {
    ...inner,
    path: `${path}.${inner.path}`,
    read: withPrinter(
      (holder: FhirElement) => {
        for (const item of toItems(locate(holder))) if (isElement(item) && find(item)) return inner.read(item)
        return undefined
      },
      printMatchingItem(path, matchesNode, getPrinter(inner.read))
    ),
    write (holder, value) {
      const items = itemsAt(holder, path)
      const found = findIndex(holder)
      const before = found < 0 ? create : (items[found] as FhirElement)
      const after = inner.write(before, value)
      if (after === before) return holder
      const remaining = isOver(after) ? [] : [after]
      const changed = found < 0 ? [...items, ...remaining] : items.toSpliced(found, 1, ...remaining)
      return withAt(holder, path, changed.length === 0 ? undefined : changed)
    }
  }
}

type NodeMatcher = (nodes: JsonNodes, item: JsonNode) => boolean

const createNodeMatcher =
  (find: ItemChoice['find']): NodeMatcher =>
    (nodes, item) =>
      find(nodes.getValue(item) as FhirElement)

function printMatchingItem (path: string, matchesNode: NodeMatcher, print: Print): Print {
  const names = toNameIds(path)
  return (nodes, holder, prefix) => {
    const list = nodes.findAt(holder, names)
    for (let item = nodes.firstItem(list); item !== 0; item = nodes.nextItem(list, item)) {
      if (nodes.isObject(item) && matchesNode(nodes, item)) return print(nodes, item, prefix)
    }
    return false
  }
}

const ids = getNameIds('system', 'use', 'value')
const oldText = encodeText('old')

/**
 * The value of the first ContactPoint or Identifier of a system that is in use. One that is out of use, by its modifier
 * `use`, stays stored but is not shown: a number that is out of use is no phone, and a new one in its place would not
 * be in use either.
 */
export function inItemWithUse<T, O extends ElementOptions> (
  path: string,
  system: string,
  value: Element<T, O>
): Element<T, O> {
  const systemText = encodeText(system)
  return inMatchingItem(
    path,
    {
      matchesNode (nodes, item) {
        const [own, use, text] = [nodes.find(item, ids.system), nodes.find(item, ids.use), nodes.find(item, ids.value)]
        return own !== 0 && nodes.isSame(own, systemText) && (use === 0 || !nodes.isSame(use, oldText)) &&
          text !== 0 && nodes.isString(text)
      },
      find: item => item.system === system && item.use !== 'old' && typeof item.value === 'string',
      create: { system }
    },
    value
  )
}

/** A field inside the first item of a list. */
export function inFirst<T, O extends ElementOptions> (path: string, inner: Element<T, O>): Element<T, O> {
  return inMatchingItem(path, { find: () => true, matchesNode: () => true }, inner)
}

/** A field of the first item of a list, next to others. */
export function fromFirstItem<T, O extends ElementOptions> (path: string, inner: Element<T, O>): Element<T, O> {
  return inMatchingItem(path, { find: () => true, matchesNode: () => true, isRetained: true }, inner)
}

/** The place of an item in a list; -1 where a new one is to be added. */
type ListItemLens = (items: readonly unknown[]) => number

export const firstItemLens: ListItemLens = items => items.length === 0 ? -1 : 0

/**
 * A field that shows one item of a list as a codec does, even if the codec shows nothing of it yet: a Dosage that so
 * far has only a text accepts a dose. The other items remain unchanged, and so do the parts of this one that the codec
 * does not show.
 */
export function listItemField<T, const O extends ElementOptions = object> (
  codec: Codec<T>,
  { path, lens }: { readonly path: string, readonly lens: ListItemLens },
  options: O = {} as O
): Element<T, O> {
  const read = (holder: FhirElement): T | undefined => {
    const items = itemsAt(holder, path)
    return codec.read(items[lens(items)])
  }
  return {
    ...datatype(codec)(path, options),
    read: withPrinter(read, printAt(path, read)),
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

/**
 * The first Reference that leads to a record of the store, as the field with the id shows it; where none does, the
 * first of any kind.
 */
const lens: ListItemLens = items => {
  const found = items.findIndex(item => isElement(item) && parseLocalReference(item.reference) !== undefined)
  return found < 0 ? firstItemLens(items) : found
}

/** The display of the first Reference of a list: a person by name, next to the field with the id or alone. */
export function firstDisplay (path: string, options: ElementOptions & { readonly max?: number } = {}): Element<string> {
  return { ...listItemField(display(options.max).codec, { path, lens }, options), path: `${path}.display` }
}

/**
 * A list of backbone elements that hold themselves: their definition stands at the root of the field's schema, where
 * `$ref` looks for it.
 */
export function recursiveList<T, const O extends ListOptions = object> (
  { codec }: Datatype<T>,
  path: string,
  options: O = {} as O
): Element<T[], O> {
  const { $defs, ...schema } = codec.schema
  const element = datatype<T>({ ...codec, schema }).list(path, options)
  return { ...element, schema: { ...element.schema, $defs } }
}
