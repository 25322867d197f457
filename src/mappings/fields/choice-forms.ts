import type { FhirElement } from '../fhir.js'
import { atMostOne } from './exclusive.js'
import type { Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { withPrimitive } from '../core/outdated.js'
import { isElement, withMember } from '../core/path.js'
import { conflictingFields, without } from '../core/cardinality.js'
import type { Schema } from '../core/schema.js'

interface ChoiceForms {
  /** The choice element, and the field of the structure that shows it in whichever form is stored. */
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
  const nameIn = (sent: T): string | undefined => Object.keys(sent).find(name => Object.hasOwn(names, name))
  const write = (sent: T, before: unknown): unknown => {
    const name = nameIn(sent)
    if (name === undefined) return codec.write(sent, before)
    const { [name]: value, ...others } = sent as Record<string, unknown>
    const shown = codec.read(withForm({}, name, value))
    const written = codec.write({ ...others, ...shown } as T, before)
    return isElement(written) ? withForm(written, name, value) : written
  }
  const withForm = (holder: FhirElement, name: string, value: unknown): FhirElement => {
    const { [name]: _, ...rest } = without(holder, conflictingFields(base, name))
    return withMember(withPrimitive(rest, name, undefined), name, names[name]!.write(value, undefined))
  }
  return datatype<T>({
    ...codec,
    schema: { ...withForms(codec.schema, names, [field, ...separate]), 'x-shown': codec.schema },
    accept: sent =>
      nameIn(sent) === undefined ? codec.accept?.(sent) ?? sent : codec.read(write(sent, undefined)) ?? sent,
    write
  })
}

function withForms (
  schema: Schema,
  forms: Readonly<Record<string, Codec<unknown>>>,
  fields: readonly string[]
): Schema {
  const properties = Object.fromEntries(Object.entries(forms).map(([name, { schema }]) => [name, schema]))
  const alone = atMostOne(fields[0]!, ...Object.keys(forms)).dependentSchemas!
  const others = Object.fromEntries(Object.entries(alone).map(([name, rule]) => {
    const nothing = Object.values(rule.properties!)[0]!
    const separate = name === fields[0] ? [] : fields.map(field => [field, nothing] as const)
    return [name, { properties: { ...rule.properties, ...Object.fromEntries(separate) } }]
  }))
  const withoutForms = (field: string): [string, Schema] => {
    const own = schema.dependentSchemas?.[field]
    return [field, { ...own, properties: { ...alone[fields[0]!]!.properties, ...own?.properties } }]
  }
  return {
    ...schema,
    properties: { ...schema.properties, ...properties },
    dependentSchemas: {
      ...schema.dependentSchemas,
      ...others,
      ...Object.fromEntries(fields.slice(1).map(withoutForms))
    }
  }
}
