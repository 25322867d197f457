import { isValidId, idPattern, typePattern, withArticle } from '../../fhir/names.js'
import type { FhirElement } from '../fhir.js'
import { getNameId } from '../../json/nodes/json-nodes.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { withPrimitive } from '../core/outdated.js'
import { withPrinter, printRead, type Print } from '../core/print.js'
import { isElement } from '../core/path.js'
import type { Schema } from '../core/schema.js'
import { textUpTo, text } from './primitives.js'

interface ReferenceOptions {
  /** Another field shows the display of the same reference, so removing the id keeps it. */
  readonly named?: boolean
}

/**
 * A reference to a resource of the store: the bare id for the first of the types, `Type/id` for the others. A bare id
 * that no record of the first type has is looked for among the others. References of another kind (contained, logical,
 * absolute) stay stored but are not shown. A changed reference is replaced entirely.
 */
export function reference (to: string | readonly string[], options: ReferenceOptions = {}): Datatype<string> {
  const types = typeof to === 'string' ? [to] : to
  const main = `${types[0]}/`
  const shorten = (target: string): string => target.startsWith(main) ? target.slice(main.length) : target
  const read = (stored: unknown): string | undefined => {
    const target = isElement(stored) ? parseLocalReference(stored.reference) : undefined
    return target && shorten(target)
  }
  return datatype<string>({
    schema: buildReferenceSchema(types),
    kind: 'reference',
    accept: value => value.startsWith(main) ? value.slice(main.length) : value,
    read: withPrinter(read, printReference(read, shorten)),
    write: value => ({ reference: value.includes('/') ? value : main + value }),
    withoutValue: options.named ? before => pickDisplay(before as FhirElement) : undefined
  })
}

const referenceName = getNameId('reference')
const quotationMark = Uint8Array.of(0x22)

/** Writes the target of a Reference in a text, as `show` makes it of what {@link parseLocalReference} finds. */
function printReference (read: (stored: unknown) => string | undefined, show: (target: string) => string): Print {
  const print = printRead(read)
  return (nodes, node, prefix) => {
    const text = nodes.find(node, referenceName)
    if (text === 0 || !nodes.isString(text)) return false
    if (nodes.isEscaped(text)) return print(nodes, node, prefix)
    const target = parseLocalReference(nodes.getSource(text).slice(1, -1))
    if (target === undefined) return false
    nodes.write(prefix)
    nodes.write(quotationMark)
    nodes.writeText(show(target))
    nodes.write(quotationMark)
    return true
  }
}

/**
 * The same, always shown as `Type/id`: for a list of people and things of many types, which a bare id would not
 * distinguish.
 */
export function typedReference (types: readonly string[]): Datatype<string> {
  const { codec } = reference(types)
  return datatype<string>({
    ...codec,
    schema: { ...codec.schema, 'x-expects': `Type/id or an id alone, where the type is one of ${types.join(', ')}` },
    accept: value => value.includes('/') ? value : `${types[0]}/${value}`,
    read: stored => isElement(stored) ? parseLocalReference(stored.reference) : undefined
  })
}

/**
 * A canonical: the URL of a definition, with `|version` where one of several is meant, or the bare id of one of the
 * store.
 * Other URIs than http and urn are taken for relative references by servers, so no client may send them.
 */
export function canonical (type: string): Datatype<string> {
  const main = `${type}/`
  const shorten = (value: string): string =>
    value.startsWith(main) && isValidId(value.slice(main.length)) ? value.slice(main.length) : value
  return datatype<string>({
    schema: {
      type: 'string',
      pattern: `^(?:(?:${main})?${idPattern}|(?:https?://|urn:)${uriPart}(?:\\|${uriPart})?)$`,
      maxLength: 4000,
      'x-expects': `the id of ${withArticle(type)} alone, or its canonical URL`
    },
    kind: 'reference',
    accept: shorten,
    read: stored => typeof stored === 'string' && stored !== '' ? shorten(stored) : undefined,
    write: value => isValidId(value) ? main + value : value
  })
}

/** The characters of a URI between the bars that FHIR puts into a canonical. */
const uriPart = '[^\\s\\u0000-\\u001F\\u007F"<>\\\\^`{|}]+'

/** A reference to a resource of any type; a bare id means a Patient, and a record of another type if there is none. */
export const anyReference = datatype<string>({
  ...reference('Patient').codec,
  schema: {
    type: 'string',
    pattern: `^(?:${typePattern}/)?(?!\\.{1,2}$)${idPattern}$`,
    'x-references': ['Patient', 'any'],
    'x-expects': 'Type/id, such as Observation/123, or an id alone'
  }
})

/** The display of a Reference as a field of its own: the thing by name, next to its id or alone. */
export const display = (max?: number): Datatype<string> => {
  const text = textUpTo(max).codec
  return datatype<string>({
    schema: text.schema,
    kind: 'string',
    revises: true,
    read: stored => isElement(stored) ? text.read(stored.display) : undefined,
    write: (value, before) => withPrimitive(isElement(before) ? before : {}, 'display', value),
    withoutValue (before) {
      const rest = withPrimitive(before as FhirElement, 'display', undefined)
      return Object.keys(rest).length === 0 ? undefined : rest
    }
  })
}

/** `Type/id` of a reference that names a resource of the store, without its version; undefined for any other. */
export function parseLocalReference (text: unknown): string | undefined {
  return typeof text === 'string' ? localForm.exec(text)?.[1] : undefined
}

const localForm = new RegExp(`^(${typePattern}/${idPattern})(?:/_history/${idPattern})?$`)

function buildReferenceSchema (types: readonly string[]): Schema {
  return {
    type: 'string',
    pattern: `^(?:(?:${types.join('|')})/)?(?!\\.{1,2}$)${idPattern}$`,
    'x-references': types,
    'x-expects':
      types.length === 1
        ? `the id of ${withArticle(types[0]!)} alone, without the type`
        : `an id alone or Type/id, where the type is one of ${types.join(', ')}`
  }
}

function pickDisplay (before: FhirElement): FhirElement | undefined {
  return typeof before.display === 'string' ? { display: before.display } : undefined
}

/**
 * A record of any type as `Type/id`, also where the type is the usual one: an audit trail leaves nothing to be guessed.
 */
export const anyResourceReference: Datatype<string> = datatype<string>({
  schema: { type: 'string', pattern: `^${typePattern}/${idPattern}$`, 'x-expects': 'Type/id, such as Observation/123' },
  kind: 'reference',
  read: stored => isElement(stored) ? parseLocalReference(stored.reference) : undefined,
  write: value => ({ reference: value })
})

/** A person or thing as `Type/id` of a record of these types; any other text is the name of one that has no record. */
export function referenceOrDisplay (types: readonly string[]): Datatype<string> {
  const isRecord = (value: string): boolean =>
    parseLocalReference(value) === value && types.includes(value.split('/')[0]!)
  return datatype<string>({
    schema: { ...text.codec.schema, 'x-names': types, 'x-expects': `Type/id, where the type is one of ${types.join(', ')}, the id alone, or a name` },
    kind: 'reference',
    read (stored) {
      if (!isElement(stored)) return undefined
      return stored.reference === undefined ? text.codec.read(stored.display) : parseLocalReference(stored.reference)
    },
    write: value => isRecord(value) ? { reference: value } : { display: value }
  })
}
