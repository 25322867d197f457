import type { FhirElement } from '../fhir.js'
import { acceptValue, put, putList, type Codec, type ReorderedList } from './codec.js'
import type { Element, ElementOptions } from './element.js'
import { toSiblingPath, withPrimitive } from './outdated.js'
import { getAt, createFinder, isElement, itemsAt, toItems, withAt, withMember } from './path.js'
import { toNameIds, withPrinter, printItems, getPrinter } from './print.js'
import type { Schema } from './schema.js'

/** Most items that a list may have where the contract says no number. */
const defaultMaxItems = 1000

/** Options of a list field. */
export interface ListOptions extends ElementOptions {
  readonly maxItems?: number
  readonly minItems?: number
}

/** A field that shows the one value at its path. */
export function one<T, const O extends ElementOptions> (codec: Codec<T>, path: string, options: O): Element<T, O> {
  const dot = path.lastIndexOf('.')
  const find = createFinder(path)
  const [names, print] = [toNameIds(path), getPrinter(codec.read)]
  const isRival =
    options.choice === undefined ? undefined : createConflictPredicate(options.choice, path.slice(dot + 1))
  return {
    schema: withDescription(codec.schema, options),
    path,
    kind: codec.kind,
    options,
    accept: value => acceptValue(codec, value),
    read: withPrinter(
      (holder: FhirElement) => {
        const stored = find(holder)
        return stored === undefined ? undefined : codec.read(stored)
      },
      (nodes, holder, prefix) => {
        const node = nodes.findAt(holder, names)
        return node !== 0 && print(nodes, node, prefix)
      }
    ),
    write (holder, value) {
      const after = withPrimitive(holder, path, put(codec, value, find(holder)))
      if (isRival === undefined || value === undefined) return after
      return dot < 0
        ? withoutMembers(after, isRival)
        : withAt(after, path.slice(0, dot), withoutMembers(getAt(after, path.slice(0, dot)) as FhirElement, isRival))
    }
  }
}

/** A field that shows all items of a list. */
export function list<T, const O extends ListOptions> (codec: Codec<T>, path: string, options: O): Element<T[], O> {
  const items = listLens(codec, path)
  const array = buildArraySchema(codec.schema, options)
  return {
    schema: withDescription(
      {
        anyOf: [array, codec.schema],
        'x-shown': array,
        'x-expects': `a list; each item ${codec.schema['x-expects'] ?? 'as documented'}`
      },
      options
    ),
    path,
    kind: codec.kind,
    options,
    accept: value => toList(value).map(item => acceptValue(codec, item)),
    read: items.read,
    write: (holder, value) => items.write(holder, value === undefined ? [] : toList(value))
  }
}

/** A field that shows the first item of a list that it can show; the other items remain unchanged. */
export function first<T, const O extends ElementOptions> (codec: Codec<T>, path: string, options: O): Element<T, O> {
  const sibling = toSiblingPath(path)
  const find = createFinder(path)
  const [names, print] = [toNameIds(path), getPrinter(codec.read)]
  const indexOfItem = (items: readonly unknown[]): number => items.findIndex(item => codec.read(item) !== undefined)
  return {
    schema: withDescription(codec.schema, options),
    path,
    kind: codec.kind,
    options,
    accept: value => acceptValue(codec, value),
    read: withPrinter(
      (holder: FhirElement) => {
        for (const item of toItems(find(holder))) {
          const shown = codec.read(item)
          if (shown !== undefined) return shown
        }
        return undefined
      },
      (nodes, holder, prefix) => {
        const list = nodes.findAt(holder, names)
        for (let item = nodes.firstItem(list); item !== 0; item = nodes.nextItem(list, item)) {
          if (print(nodes, item, prefix)) return true
        }
        return false
      }
    ),
    write (holder, value) {
      const items = getSlots(holder, path, sibling)
      const index = indexOfItem(items) >= 0 ? indexOfItem(items) : items.length
      const item = put(codec, value, items[index])
      if (item === items[index]) return holder
      const changed = item === undefined ? [] : [item]
      // The extensions next to a primitive describe the old value.
      const origins = items.map((_, origin) => origin === index && !isElement(item) ? undefined : origin)
      return withList(holder, { path, sibling }, {
        items: items.toSpliced(index, 1, ...changed),
        origins: item === undefined ? origins.toSpliced(index, 1) : origins
      })
    }
  }
}

/** The shown items of a list element. */
function listLens<T> (codec: Codec<T>, path: string) {
  const sibling = toSiblingPath(path)
  const find = createFinder(path)
  const [names, item] = [toNameIds(path), getPrinter(codec.read)]
  return {
    read: withPrinter(
      (holder: FhirElement): T[] | undefined => {
        let shown: T[] | undefined
        for (const item of toItems(find(holder))) {
          const value = codec.read(item)
          if (value !== undefined) (shown ??= []).push(value)
        }
        return shown
      },
      (nodes, holder, prefix) => {
        const list = nodes.findAt(holder, names)
        const from = nodes.firstItem(list)
        return from !== 0 && printItems(nodes, { list, from }, { item, prefix })
      }
    ),
    write (holder: FhirElement, values: readonly T[]): FhirElement {
      const before = getSlots(holder, path, sibling)
      const after = putList(codec, values, before)
      const isSame = after.items.length === before.length && after.items.every((item, i) => item === before[i])
      return isSame ? holder : withList(holder, { path, sibling }, after)
    }
  }
}

/**
 * The items of a list with a null for each that has an id or extensions alone, as R4's JSON has it where any item has a
 * value.
 */
function getSlots (holder: FhirElement, path: string, sibling: string): readonly unknown[] {
  const items = itemsAt(holder, path)
  const extras = itemsAt(holder, sibling)
  return extras.length <= items.length ? items : extras.map((_, i) => items[i] ?? null)
}

/** The holder with another list at the path; what stood next to a primitive in the `_name` list moves with it. */
function withList (
  holder: FhirElement,
  { path, sibling }: { path: string; sibling: string },
  { items, origins }: ReorderedList
): FhirElement {
  const after = withAt(holder, path, items.length === 0 ? undefined : items)
  const extras = itemsAt(holder, sibling)
  if (extras.length === 0) return after
  const moved = items.map((_, i) => extras[origins[i] ?? -1] ?? null)
  return withAt(after, sibling, moved.every(extra => extra === null) ? undefined : moved)
}

/**
 * Whether a member is another form of a choice element: of `value[x]` written as valueString, `valueCode` and
 * `_valueCode` are.
 */
export function createConflictPredicate (choice: string, name: string): (key: string) => boolean {
  const ofChoice = new RegExp(`^_?${choice}[A-Z]`)
  return key => ofChoice.test(key) && key !== name && key !== `_${name}`
}

/** The holder without some members; the same object when it has none of them. */
export function withoutMembers (holder: FhirElement, isForbidden: (key: string) => boolean): FhirElement {
  return Object.keys(holder).filter(isForbidden).reduce((element, key) => withMember(element, key, undefined), holder)
}

const toList = <T>(value: T | readonly T[]): readonly T[] => Array.isArray(value) ? value : [value as T]

function buildArraySchema (items: Schema, { maxItems = defaultMaxItems, minItems = 1 }: ListOptions): Schema {
  return { type: 'array', items, minItems, maxItems }
}

function withDescription (schema: Schema, { about, example, readOnly, displayOf }: ElementOptions): Schema {
  return {
    ...schema,
    ...(about && { description: about }),
    ...(example !== undefined && { examples: [example] }),
    ...(readOnly && { readOnly }),
    ...(displayOf !== undefined && { 'x-display-of': displayOf })
  }
}
