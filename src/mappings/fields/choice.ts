import { Failure, fieldIssue } from '../../envelope/failures.js'
import { put, type Codec } from '../core/codec.js'
import { deepEqual, type Element, type ElementOptions } from '../core/element.js'
import type { FhirElement } from '../fhir.js'
import { withPrimitive } from '../core/outdated.js'
import { conflictingFields, without } from '../core/cardinality.js'

/** One form that a choice element may take: the suffix of its name in FHIR, and its datatype. */
interface Variant {
  readonly suffix: string
  readonly codec: Codec<any>
  /** Whether a simple value is of this form; the first variant for which it holds is written. */
  readonly is: (value: unknown) => boolean
}

/**
 * A choice element shown as one field, told apart by the form of its value: `deceased` is a boolean or a dateTime.
 * A form that no variant shows is kept until the field is set. `write` throws a Failure (VALIDATION_ERROR) for a value
 * of no form, which the schema refuses before.
 */
export function choice<T, const O extends ElementOptions = object> (
  base: string,
  variants: readonly Variant[],
  options: O = {} as O
): Element<T, O> {
  const forms = variants.map(variant => ({
    ...variant,
    name: base + variant.suffix,
    isRival: conflictingFields(base, base + variant.suffix)
  }))
  const expects = variants.map(({ codec }) => codec.schema['x-expects']).join('; or ')
  const stored = (holder: FhirElement) => forms.find(form => form.codec.read(holder[form.name]) !== undefined)
  const read = (holder: FhirElement): unknown => {
    const form = stored(holder)
    return form && form.codec.read(holder[form.name])
  }
  const readBack = ({ name, codec }: (typeof forms)[number], value: unknown): unknown =>
    read({ [name]: codec.write(value, undefined) })
  // A faulty value that another system stored may look like no form; then it is of the one that shows it.
  const formOf = (value: unknown) =>
    forms.find(form => form.is(value) && readBack(form, value) !== undefined) ??
    forms.find(form => deepEqual(readBack(form, value), value))
  return {
    schema: {
      anyOf: variants.map(({ codec }) => codec.schema),
      'x-expects': expects,
      ...(options.about && { description: options.about })
    },
    path: base,
    kind: variants[0]!.codec.kind,
    options,
    accept: value => (formOf(value)?.codec.accept?.(value) as T) ?? value,
    read: holder => read(holder) as T | undefined,
    write (holder, value) {
      const before = stored(holder)
      // A value that is shown alike by two forms (text alone, a concept of text alone) stays in the form that is
      // stored.
      const isHeld = before !== undefined && put(before.codec, value, holder[before.name]) === holder[before.name]
      const form = value === undefined || isHeld ? before : formOf(value)
      if (form === undefined) {
        if (value === undefined) return holder
        throw new Failure('VALIDATION_ERROR', { issues: [fieldIssue(base, `expected ${expects}`)] })
      }
      const written = withPrimitive(holder, form.name, put(form.codec, value, holder[form.name]))
      return value === undefined ? written : without(written, form.isRival)
    }
  }
}

export const isText = (value: unknown): boolean => typeof value === 'string'
export const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
/** An object that has one of these names. */
export const hasChoice = (...names: readonly string[]) => (value: unknown): boolean =>
  typeof value === 'object' && value !== null && names.some(name => Object.hasOwn(value, name))
