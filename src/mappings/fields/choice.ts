import type { Schema } from '../core/schema.js'
import { Failure, fieldIssue } from '../../envelope/failures.js'
import { put, type Codec } from '../core/codec.js'
import { deepEqual, type Element, type ElementOptions } from '../core/element.js'
import type { FhirElement } from '../fhir.js'
import { withPrimitive } from '../core/outdated.js'
import { createConflictPredicate, withoutMembers } from '../core/cardinality.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { isElement, withMember } from '../core/path.js'
import { withPrinter, getPrinter, type Print } from '../core/print.js'
import { isNumber } from '../../json/json.js'
import { getNameId } from '../../json/nodes/json-nodes.js'
import { positiveInteger, text } from '../datatypes/primitives.js'

/**
 * The part of an object's JSON Schema, besides its properties, that allows at most one of these fields: a choice
 * element inside a structure.
 */
export function atMostOne (...names: readonly string[]): Schema {
  const nothing: Schema = { not: {}, 'x-expects': `at most one of ${names.join(', ')}` }
  const forbidOthers = (name: string) =>
    Object.fromEntries(names.filter(other => other !== name).map(other => [other, nothing]))
  return { dependentSchemas: Object.fromEntries(names.map(name => [name, { properties: forbidOthers(name) }])) }
}

/** The same for a choice element that R4 requires. */
export function exactlyOne (...names: readonly string[]): Schema {
  return { ...atMostOne(...names), anyOf: names.map(name => ({ required: [name] })) }
}

/** One form that a choice element may take: the suffix of its name in FHIR, and its datatype. */
interface Variant {
  readonly suffix: string
  readonly codec: Codec<any>
  /** Whether a simple value is of this form; the first variant for which it holds is written. */
  readonly is: (value: unknown) => boolean
}

/**
 * A choice element shown as one field; the form of its value determines the type: `deceased` is a boolean or a
 * dateTime. A form that no variant shows stays stored until the field is set. `write` throws a Failure
 * (VALIDATION_ERROR) for a value of no form, which the schema rejects before.
 */
export function choice<T, const O extends ElementOptions = object> (
  base: string,
  variants: readonly Variant[],
  options: O = {} as O
): Element<T, O> {
  const forms = variants.map(variant => ({
    ...variant,
    name: base + variant.suffix,
    isRival: createConflictPredicate(base, base + variant.suffix)
  }))
  const expects = variants.map(({ codec }) => codec.schema['x-expects']).join('; or ')
  const findStoredForm = (holder: FhirElement) => forms.find(form => form.codec.read(holder[form.name]) !== undefined)
  const read = (holder: FhirElement): unknown => {
    const form = findStoredForm(holder)
    return form && form.codec.read(holder[form.name])
  }
  const readBack = ({ name, codec }: (typeof forms)[number], value: unknown): unknown =>
    read({ [name]: codec.write(value, undefined) })
  // A faulty value that another system stored may look like no form; then it is of the one that shows it.
  const findForm = (value: unknown) =>
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
    accept: value => (findForm(value)?.codec.accept?.(value) as T) ?? value,
    read: withPrinter((holder: FhirElement) => read(holder) as T | undefined, printFirst(variants, base)),
    write (holder, value) {
      const before = findStoredForm(holder)
      // A value that is shown alike by two forms (text alone, a concept of text alone) stays in the form that is
      // stored.
      const isHeld = before !== undefined && put(before.codec, value, holder[before.name]) === holder[before.name]
      const form = value === undefined || isHeld ? before : findForm(value)
      if (form === undefined) {
        if (value === undefined) return holder
        throw new Failure('VALIDATION_ERROR', { issues: [fieldIssue(base, `expected ${expects}`)] })
      }
      const written = withPrimitive(holder, form.name, put(form.codec, value, holder[form.name]))
      return value === undefined ? written : withoutMembers(written, form.isRival)
    }
  }
}

/** Writes the first form of a choice element that is shown. */
function printFirst (variants: readonly Variant[], base: string): Print {
  const forms = variants.map(({ suffix, codec }) => ({ name: getNameId(base + suffix), print: getPrinter(codec.read) }))
  return (nodes, holder, prefix) => forms.some(({ name, print }) => {
    const node = nodes.find(holder, name)
    return node !== 0 && print(nodes, node, prefix)
  })
}

export const isText = (value: unknown): boolean => typeof value === 'string'
export const isBoolean = (value: unknown): boolean => typeof value === 'boolean'
/** An object that has one of these names. */
export const hasChoice = (...names: readonly string[]) => (value: unknown): boolean =>
  typeof value === 'object' && value !== null && names.some(name => Object.hasOwn(value, name))

interface ChoiceForms {
  /** The choice element, and the field of the structure that shows it in every stored form. */
  readonly base: string
  readonly field: string
  /** Other fields that belong to a value of one form, and that no other form is sent with. */
  readonly separate?: readonly string[]
  /** The codecs of the forms by their suffixes in FHIR: `Quantity`. */
  readonly forms: Readonly<Record<string, Codec<any>>>
}

/**
 * A structure with a choice element that is shown as one field and may also be sent under FHIR's own names, such as
 * `valueQuantity`: a name says which form is stored where the value alone would not, as of a time sent as text.
 */
export function withChoiceForms<T extends object> (
  inner: Datatype<T>,
  { base, field, separate = [], forms }: ChoiceForms
): Datatype<T> {
  const { codec } = inner
  const names = Object.fromEntries(Object.entries(forms).map(([suffix, form]) => [base + suffix, form]))
  const findFormName = (sent: T): string | undefined => Object.keys(sent).find(name => Object.hasOwn(names, name))
  const write = (sent: T, before: unknown): unknown => {
    const name = findFormName(sent)
    if (name === undefined) return codec.write(sent, before)
    const { [name]: value, ...others } = sent as Record<string, unknown>
    const shown = codec.read(withForm({}, name, value))
    const written = codec.write({ ...others, ...shown } as T, before)
    return isElement(written) ? withForm(written, name, value) : written
  }
  const withForm = (holder: FhirElement, name: string, value: unknown): FhirElement => {
    const { [name]: _, ...rest } = withoutMembers(holder, createConflictPredicate(base, name))
    return withMember(withPrimitive(rest, name, undefined), name, names[name]!.write(value, undefined))
  }
  return datatype<T>({
    ...codec,
    schema: { ...withForms(codec.schema, names, [field, ...separate]), 'x-shown': codec.schema },
    accept: sent =>
      findFormName(sent) === undefined ? codec.accept?.(sent) ?? sent : codec.read(write(sent, undefined)) ?? sent,
    write
  })
}

function withForms (
  schema: Schema,
  forms: Readonly<Record<string, Codec<unknown>>>,
  fields: readonly string[]
): Schema {
  const properties = Object.fromEntries(Object.entries(forms).map(([name, { schema }]) => [name, schema]))
  const exclusive = atMostOne(fields[0]!, ...Object.keys(forms)).dependentSchemas!
  const others = Object.fromEntries(Object.entries(exclusive).map(([name, rule]) => {
    const nothing = Object.values(rule.properties!)[0]!
    const separate = name === fields[0] ? [] : fields.map(field => [field, nothing] as const)
    return [name, { properties: { ...rule.properties, ...Object.fromEntries(separate) } }]
  }))
  const forbidForms = (field: string): [string, Schema] => {
    const own = schema.dependentSchemas?.[field]
    return [field, { ...own, properties: { ...exclusive[fields[0]!]!.properties, ...own?.properties } }]
  }
  return {
    ...schema,
    properties: { ...schema.properties, ...properties },
    dependentSchemas: {
      ...schema.dependentSchemas,
      ...others,
      ...Object.fromEntries(fields.slice(1).map(forbidForms))
    }
  }
}

/** A number of doses, or the words for it where they are not counted: doseNumber[x] and seriesDoses[x]. */
export const intOrString = <const O extends ElementOptions = object>(base: string, options?: O) =>
  choice<number | string, O>(
    base,
    [
      { suffix: 'PositiveInt', codec: positiveInteger.codec, is: isNumber },
      { suffix: 'String', codec: text.codec, is: isText }
    ],
    options
  )
