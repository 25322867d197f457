import type { FhirElement } from '../fhir.js'
import { accepted, put, putList, type Codec } from './codec.js'
import type { Element, ElementOptions } from './element.js'
import { at, isElement, itemsAt, withAt, withMember } from './path.js'
import type { Schema } from './schema.js'

/** Most items that a list may have where the contract says no number. */
export const defaultMaxItems = 1000

/** Options of a list field. */
export interface ListOptions extends ElementOptions {
  readonly maxItems?: number
  readonly minItems?: number
}

/** A field that shows the one value at its path. */
export function one<T, const O extends ElementOptions> (codec: Codec<T>, path: string, options: O): Element<T, O> {
  return {
    schema: described(codec.schema, options),
    path,
    kind: codec.kind,
    options,
    accept: value => accepted(codec, value),
    read: holder => codec.read(at(holder, path)),
    write (holder, value) {
      const after = withAt(holder, path, put(codec, value, at(holder, path)))
      return options.choice === undefined || value === undefined ? after : withoutSiblings(after, path, options.choice)
    }
  }
}

/** A field that shows all items of a list. */
export function list<T, const O extends ListOptions> (codec: Codec<T>, path: string, options: O): Element<T[], O> {
  const items = listLens(codec, path)
  return {
    schema: described({ anyOf: [arrayOf(codec.schema, options), codec.schema], 'x-expects': `a list; each item ${codec.schema['x-expects'] ?? 'as documented'}` }, options),
    path,
    kind: codec.kind,
    options,
    accept: value => asList(value).map(item => accepted(codec, item)),
    read: items.read,
    write: (holder, value) => items.write(holder, value === undefined ? [] : asList(value))
  }
}

/** A field that shows one value where exactly one is stored, else a list. */
export function oneOrList<T, const O extends ListOptions> (codec: Codec<T>, path: string, options: O): Element<T | T[], O> {
  const items = listLens(codec, path)
  return {
    ...list(codec, path, options),
    accept: value => alone(asList(value).map(item => accepted(codec, item))),
    read: holder => alone(items.read(holder)),
    write: (holder, value) => items.write(holder, value === undefined ? [] : asList(value))
  }
}

/** A field that shows the first item of a list that it can show; the others are kept. */
export function first<T, const O extends ElementOptions> (codec: Codec<T>, path: string, options: O): Element<T, O> {
  const items = listLens(codec, path)
  return {
    schema: described(codec.schema, options),
    path,
    kind: codec.kind,
    options,
    accept: value => accepted(codec, value),
    read: holder => items.read(holder)?.[0],
    write (holder, value) {
      const [, ...others] = items.read(holder) ?? []
      return items.write(holder, value === undefined ? others : [value, ...others])
    }
  }
}

/** The shown items of a list element, with the `_name` list beside a list of primitives kept in step. */
function listLens<T> (codec: Codec<T>, path: string) {
  return {
    read (holder: FhirElement): T[] | undefined {
      const shown = itemsAt(holder, path).map(item => codec.read(item)).filter(item => item !== undefined)
      return shown.length === 0 ? undefined : shown
    },
    write (holder: FhirElement, values: readonly T[]): FhirElement {
      const before = itemsAt(holder, path)
      const { items, origins } = putList(codec, values, before)
      if (items.length === before.length && items.every((item, i) => item === before[i])) return holder
      const sibling = siblingPath(path)
      const extras = itemsAt(holder, sibling)
      const after = withAt(holder, path, items.length === 0 ? undefined : items)
      if (extras.length === 0) return after
      const moved = origins.map(origin => origin === undefined ? null : extras[origin] ?? null)
      return withAt(after, sibling, moved.every(extra => extra === null) ? undefined : moved)
    }
  }
}

/** `name.given` → `name._given`, where R4's JSON keeps ids and extensions of primitives. */
const siblingPath = (path: string): string => path.replace(/[^.]+$/, '_$&')

function withoutSiblings (holder: FhirElement, path: string, choice: string): FhirElement {
  const dot = path.lastIndexOf('.')
  const name = path.slice(dot + 1)
  const parent = dot < 0 ? holder : at(holder, path.slice(0, dot))
  if (!isElement(parent)) return holder
  const others = Object.keys(parent).filter(key => isOfChoice(key, choice) && key !== name && key !== `_${name}`)
  if (others.length === 0) return holder
  const cleared = others.reduce((element, key) => withMember(element, key, undefined), parent)
  return dot < 0 ? cleared : withAt(holder, path.slice(0, dot), cleared)
}

const isOfChoice = (key: string, choice: string): boolean => new RegExp(`^_?${choice}[A-Z]`).test(key)

const asList = <T>(value: T | readonly T[]): readonly T[] => Array.isArray(value) ? value : [value as T]

const alone = <T>(items: T[] | undefined): T | T[] => (items?.length === 1 ? items[0] : items) as T | T[]

function arrayOf (items: Schema, { maxItems = defaultMaxItems, minItems = 1 }: ListOptions): Schema {
  return { type: 'array', items, minItems, maxItems }
}

function described (schema: Schema, { about, example, readOnly }: ElementOptions): Schema {
  return { ...schema, ...about && { description: about }, ...example !== undefined && { examples: [example] }, ...readOnly && { readOnly } }
}
