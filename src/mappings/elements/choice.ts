import { ExactNumber } from '../../json.js'
import { put, type Codec } from '../kit/codec.js'
import type { Element, ElementOptions } from '../kit/element.js'
import type { FhirElement } from '../fhir.js'
import { withMember } from '../kit/path.js'

/** One form that a choice element may take: the suffix of its name in FHIR, and its datatype. */
export interface Variant {
  readonly suffix: string

  readonly codec: Codec<any>
  /** Whether a simple value is of this form; the first variant for which it holds is written. */
  readonly is: (value: unknown) => boolean
}

/**
 * A choice element shown as one field, told apart by the form of its value: `deceased` is a boolean or a dateTime.
 * A form that no variant shows is kept until the field is set.
 */
export function choice<T, const O extends ElementOptions = object> (base: string, variants: readonly Variant[], options: O = {} as O): Element<T, O> {
  const schemas = variants.map(variant => variant.codec.schema)
  const variantOf = (value: unknown): Variant | undefined => variants.find(variant => variant.is(value))
  const stored = (holder: FhirElement): Variant | undefined => variants.find(variant => variant.codec.read(holder[base + variant.suffix]) !== undefined)
  return {
    schema: { anyOf: schemas, 'x-expects': schemas.map(schema => schema['x-expects']).join('; or '), ...options.about && { description: options.about } },
    path: base,
    kind: variants[0]!.codec.kind,
    options,
    accept: value => variantOf(value)?.codec.accept?.(value) as T ?? value,
    read (holder) {
      const variant = stored(holder)
      return variant && variant.codec.read(holder[base + variant.suffix]) as T
    },
    write (holder, value) {
      const before = stored(holder)
      const after = value === undefined || holds(before, holder, value) ? before : variantOf(value)
      if (after === undefined) return holder
      const name = base + after.suffix
      const written = withMember(holder, name, put(after.codec, value, holder[name]))
      if (value === undefined) return written
      const others = Object.keys(written).filter(key => key !== name && key !== `_${name}` && new RegExp(`^_?${base}[A-Z]`).test(key))
      return others.reduce((element, key) => withMember(element, key, undefined), written)
    }
  }

  // A value that is shown alike by two forms (text alone, a concept of text alone) stays in the form that is stored.
  function holds (variant: Variant | undefined, holder: FhirElement, value: unknown): boolean {
    if (variant === undefined) return false
    const member = holder[base + variant.suffix]
    return put(variant.codec, value, member) === member
  }
}

export const isText = (value: unknown): boolean => typeof value === 'string'
/** A JavaScript number, or one that keeps its text. */
export const isNumber = (value: unknown): boolean => typeof value === 'number' || value instanceof ExactNumber
export const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
/** An object that has one of these names. */
export const has = (...names: readonly string[]) => (value: unknown): boolean =>
  typeof value === 'object' && value !== null && names.some(name => Object.hasOwn(value, name))
