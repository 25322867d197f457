import { ExactNumber } from '../../json/json.js'
import type { FhirElement } from '../fhir.js'
import type { FilterKind, Schema } from './schema.js'

/** The inputs of a default besides the fields: the request that creates the record. */
export interface CreateContext {
  /** The time of the request, an instant. */
  readonly now: string
  /** The name of the key that sent it. */
  readonly keyName: string
  /** A new URL that names nothing yet. It is an http URL, because datastores find definitions only by those. */
  readonly newUrl: () => string
}

/** The inputs of a default: the request and the other fields that were sent. */
export interface DefaultContext extends CreateContext { readonly simple: Readonly<Record<string, unknown>> }

/** The options of a field besides its datatype and path. */
export interface ElementOptions {
  /**
   * The field is required: sent on create unless there is a default, never removed. Any field of a `choice` satisfies
   * its group.
   */
  readonly required?: boolean
  /** Shown, never accepted. */
  readonly readOnly?: boolean
  /** Filled in on create when the field is absent. */
  readonly default?: unknown
  /** The R4 search parameter behind the filter of the same name; `noParameter` where R4 has none. */
  readonly filter?: string
  /** The filter's name where it is not the field's. */
  readonly filterName?: string
  /** Inside a structure: whether a filter of the resource searches this element. */
  readonly searched?: boolean
  /** The R4 choice element (`value` for `value[x]`) of which at most one may be sent and is stored. */
  readonly choice?: string
  /** The field whose time this one's must not be before: that of the start, for an end. */
  readonly notBefore?: string
  /** The field that shows the whole of what this one shows a part of; sent together, both have to be true. */
  readonly shortcutOf?: string
  /** Of a shortcut to a list: what it shows is no item of its own, so none is added for it. */
  readonly partOfItem?: boolean
  /** For a canonical: the type of the records whose id may be sent in place of their `url`. */
  readonly canonicalOf?: string
  /** For a field of names: the field next to it that has the id of the same record. */
  readonly displayOf?: string
  /** Another name under which the field may be sent; it is shown under its own alone. */
  readonly alias?: string
  /** For the documentation: one sentence. */
  readonly about?: string
  readonly example?: unknown
}

/**
 * One field of the simple form as a lens on the FHIR element that holds it.
 * Laws: `write(f, read(f)) === f`; `read(write(f, x))` equals `accept(x)`; `write` leaves alone everything that `read`
 * does not show.
 * `read` never throws on valid R4.
 */
export interface Element<T = unknown, O extends ElementOptions = ElementOptions> {
  readonly schema: Schema
  /** FHIR names from the holder down, joined by dots. */
  readonly path: string
  readonly kind: FilterKind
  readonly options: O
  /** The form in which a value is read back: aliases replaced, one item of a list as a list or the other way round. */
  accept (value: T): T
  read (holder: FhirElement): T | undefined
  write (holder: FhirElement, value: T | undefined): FhirElement
}

/** Fields by their simple names. */
export type Elements = Readonly<Record<string, Element<any, ElementOptions>>>

type RequiredNames<E extends Elements> = {
  [K in keyof E]: E[K]['options'] extends { required: true } ? K : never
}[keyof E]
type ValueOf<E> = E extends Element<infer T, ElementOptions> ? T : never

/** The TypeScript type of the simple form, inferred from its elements. */
export type InferFields<E extends Elements> =
  { [K in RequiredNames<E>]: ValueOf<E[K]> } & { [K in Exclude<keyof E, RequiredNames<E>>]?: ValueOf<E[K]> }

/** Deep equality of JSON values, in which 1.10 is not 1.1. `isDeepStrictEqual` of Node takes ten times as long. */
export function deepEqual (a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (a instanceof ExactNumber || b instanceof ExactNumber) {
    return a instanceof ExactNumber && b instanceof ExactNumber && a.text === b.text
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => deepEqual(item, b[i]))
  }
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && deepEqual(a[name as never], b[name as never]))
  )
}
