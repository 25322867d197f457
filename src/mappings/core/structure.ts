import type { FhirElement } from '../fhir.js'
import type { Codec } from './codec.js'
import { datatype, type Datatype } from './datatype.js'
import { deepEqual, type Element, type Elements, type InferFields } from './element.js'
import { listItemIdentity } from './identity.js'
import { withoutOutdated, type Description } from './outdated.js'
import { isElement, withMember } from './path.js'
import { withPrinter, createStructurePrinter } from './print.js'
import type { FilterKind, Schema } from './schema.js'

/** The options of a structure besides its elements. */
interface StructureOptions {
  readonly kind?: FilterKind
  /** More of JSON Schema: `dependentRequired`, `anyOf`, `x-ordered`. */
  readonly schema?: Schema
  readonly expects?: string
  /** The fields that together say which item of a list it is, where that is not what R4 requires. */
  readonly identity?: readonly string[]
  /** Which stored items are of this structure; the others are not shown and remain unchanged. */
  readonly where?: (stored: FhirElement) => boolean
  /** The parts that a change of other parts removes, since they describe only the old values. */
  readonly described?: readonly Description[]
  /** The parts that say what the whole means: with another one of them nothing of the old stays. */
  readonly meaning?: readonly string[]
  /**
   * A member that no part shows and that changes the meaning of the parts: an element that has it is not shown, and a
   * change removes it.
   */
  readonly alteredBy?: string
}

/** A backbone element: a change edits it in place, and what the simple form does not show of it stays. */
export function backbone<E extends Elements> (elements: E, options: StructureOptions = {}): Datatype<InferFields<E>> {
  return datatype(createStructureCodec(elements, options))
}

/** A datatype of several parts, such as Quantity: a change edits it in place too, and null removes all of it. */
export function record<E extends Elements> (elements: E, options: StructureOptions = {}): Datatype<InferFields<E>> {
  return datatype({ ...createStructureCodec(elements, options), withoutValue: () => undefined })
}

/**
 * A backbone element that holds itself, such as Consent.provision; `name` is unique among the definitions of its field.
 */
export function recursiveBackbone<T> (name: string, build: (self: Datatype<T>) => Elements): Datatype<T> {
  const reference: Schema = { $ref: `#/$defs/${name}`, 'x-expects': 'an object of the same shape' }
  let own: Codec<T> | undefined
  const getCodec = (): Codec<T> => (own ??= createStructureCodec(build(self), {}) as unknown as Codec<T>)
  const self = datatype<T>({
    schema: reference,
    kind: 'token',
    revises: true,
    accept: value => getCodec().accept?.(value) ?? value,
    read: stored => getCodec().read(stored),
    write: (value, before) => getCodec().write(value, before),
    withoutValue: before => getCodec().withoutValue?.(before),
    identify: value => getCodec().identify?.(value) ?? []
  })
  return datatype<T>({ ...self.codec, schema: { ...reference, $defs: { [name]: getCodec().schema } } })
}

/** The JSON Schema of an object with these elements. */
function buildObjectSchema (elements: Elements): Schema {
  const entries = Object.entries(elements)
  const required = entries
    .filter(([, element]) => element.options.required === true && element.options.default === undefined)
    .map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, element]) => [name, element.schema])),
    ...required.length > 0 ? { required } : { minProperties: 1 },
    additionalProperties: false
  }
}

function createStructureCodec<E extends Elements> (elements: E, options: StructureOptions): Codec<InferFields<E>> {
  const entries = Object.entries(elements)
  const readInto = createReader(elements)
  // Without a part that R4 requires, the rest would not be valid.
  const needsAny = entries.some(([, element]) => element.options.required)
  const { alteredBy } = options
  const read = (stored: unknown) => (isShown(stored) ? readInto(stored) : undefined)
  const isShown = (stored: unknown): stored is FhirElement =>
    isElement(stored) &&
    (options.where?.(stored) ?? true) &&
    (alteredBy === undefined || stored[alteredBy] === undefined)
  return {
    schema: {
      ...buildObjectSchema(elements),
      'x-expects': options.expects ?? `an object with ${Object.keys(elements).join(', ')}`,
      ...options.schema
    },
    kind: options.kind ?? 'token',
    revises: true,
    identify: listItemIdentity(elements, options.identity),
    accept: value => mapValues(value, (item, name) => elements[name]?.accept(item) ?? item) as InferFields<E>,
    read: options.where === undefined ? withPrinter(read, createStructurePrinter(elements, alteredBy)) : read,
    write (value, before) {
      const sent = value as Record<string, unknown>
      const write = (stored: FhirElement, [name, element]: [string, Element]): FhirElement =>
        sent[name] !== undefined
          ? element.write(stored, sent[name])
          : before === undefined
            ? stored
            : clearElement(element, stored)
      if (!isElement(before)) return entries.reduce(write, {})
      const after = entries.reduce(write, alteredBy === undefined ? before : withMember(before, alteredBy, undefined))
      if (options.meaning?.some(name => !deepEqual(before[name], after[name]))) return entries.reduce(write, {})
      return withoutOutdated(before, after, options.described)
    },
    withoutValue (before) {
      if (needsAny) return undefined
      const rest = entries.reduce((stored, [, element]) => clearElement(element, stored), before as FhirElement)
      return Object.keys(rest).length === 0 ? undefined : rest
    }
  }
}

/**
 * The holder with nothing left that an element shows, also where it shows the first of several: a structure is sent
 * whole.
 */
function clearElement (element: Element, holder: FhirElement): FhirElement {
  const rest = element.write(holder, undefined)
  return rest === holder ? holder : clearElement(element, rest)
}

/**
 * Makes the simple object that the elements show of a holder, with other members before theirs if any are given.
 * The reader returns undefined when there is neither.
 */
export function createReader<E extends Elements> (
  elements: E
): (holder: FhirElement, others?: Record<string, unknown>) => InferFields<E> | undefined {
  // Every record goes through this, so the elements are examined once.
  const readers = Object.entries(elements).map(([name, { read }]) => ({ name, read }))
  return (holder, shown) => {
    for (const { name, read } of readers) {
      const value = read(holder)
      if (value !== undefined) (shown ??= {})[name] = value
    }
    return shown as InferFields<E> | undefined
  }
}

function mapValues (value: object, change: (item: unknown, name: string) => unknown): object {
  const changed: Record<string, unknown> = { ...value }
  for (const name of Object.keys(changed)) changed[name] = change(changed[name], name)
  return changed
}
