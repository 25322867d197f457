/** R4's primitive types: http://hl7.org/fhir/R4/datatypes.html#primitive */
import { ExactNumber } from '../../json/json.js'
import type { Codec } from '../core/codec.js'
import { datatype, type Datatype } from '../core/datatype.js'
import { formatDescriptions } from '../core/formats.js'
import { copyNode, withPrinter, printText } from '../core/print.js'
import type { FilterKind, Format } from '../core/schema.js'

const readText = withPrinter(
  (stored: unknown) => typeof stored === 'string' && stored !== '' ? stored : undefined,
  printText
)

const readNumber = withPrinter(
  (stored: unknown) => {
    if (typeof stored === 'number') return stored
    return stored instanceof ExactNumber ? stored as unknown as number : undefined
  },
  (nodes, node, prefix) => nodes.isNumber(node) && copyNode(nodes, node, prefix)
)

/** The longest text that a field takes where the contract gives no length: R4's own limit for a string, 1 MiB. */
const maxText = 1024 * 1024

/** A string element of at most `max` characters. */
export const textUpTo = (max = maxText): Datatype<string> =>
  createTextDatatype('text', {
    expects: `text${max < maxText ? ` of 1 to ${max} characters` : ''}, without leading or trailing spaces or line breaks`,
    kind: 'string',
    maxLength: max
  })

export const text = textUpTo()

/** Words with one space between them, stored as one list item each where a mapping says so. */
export const nonBlankText = createTextDatatype('words', {
  expects: 'words separated by single spaces', kind: 'string', maxLength: 1000
})

/** An element of type `code` that takes any code. */
export const openCode = createTextDatatype('code', {
  expects: 'a code, without leading, trailing or double spaces', kind: 'token', maxLength: 1000
})

export const date = createTimeDatatype('date', 'date')
export const dateTime = createTimeDatatype('fhir-dateTime', 'date')
export const instant = createTimeDatatype('fhir-instant', 'date')
/** An instant that may be sent as a day, when something was noted or published: its start in UTC. */
export const instantOrDay = withLooseForm(instant, {
  format: 'instant-or-day',
  complete: text => /^[\d-]{10}$/.test(text) ? `${text}T00:00:00Z` : text
})
/** A time of day; seconds that are left out are zero. */
export const time = withLooseForm(createTimeDatatype('fhir-time', 'string'), {
  format: 'time-of-day',
  complete: text => /^\d\d:\d\d$/.test(text) ? `${text}:00` : text
})
const absoluteExpects = 'an absolute URI, which begins with a scheme: https://example.org/it or urn:oid:1.2.3'

export const uri = createTextDatatype('uri-reference', { expects: 'a URI without spaces', kind: 'uri' })

/** A URI that R4 wants absolute: the system of a code, identifier or unit, and the canonical URL of a definition. */
export const absoluteUri = createTextDatatype('uri', { expects: absoluteExpects, kind: 'uri' })

/** An absolute URI of at most `max` characters. */
export const absoluteUriUpTo = (max: number): Datatype<string> =>
  createTextDatatype('uri', {
    expects: `${absoluteExpects}, of at most ${max} characters`,
    kind: 'uri',
    maxLength: max
  })

/** A URI of at most `max` characters. */
export const uriUpTo = (max: number): Datatype<string> =>
  createTextDatatype('uri-reference', {
    expects: `a URI of at most ${max} characters, without spaces`, kind: 'uri', maxLength: max
  })

export const base64 = createTextDatatype('base64', { expects: 'base64 text', kind: 'string', maxLength: 16 * maxText })

export const boolean = datatype<boolean>({
  schema: { type: 'boolean', 'x-expects': 'true or false' },
  kind: 'boolean',
  read: withPrinter(
    (stored: unknown) => typeof stored === 'boolean' ? stored : undefined,
    (nodes, node, prefix) => nodes.isBoolean(node) && copyNode(nodes, node, prefix)
  ),
  write: value => value
})

/** A decimal that retains its text: 1.10 comes back as 1.10. */
export const decimal = datatype<number>({
  schema: { type: 'number', 'x-expects': 'a number' },
  kind: 'number',
  read: readNumber,
  write: value => value
})

/** A decimal from one number to another; a stored one beyond them is shown. */
export const decimalWithin = (minimum: number, maximum: number): Datatype<number> =>
  datatype({
    ...decimal.codec,
    schema: { type: 'number', minimum, maximum, 'x-expects': `a number from ${minimum} to ${maximum}` }
  })

/** A decimal that is not below zero; a stored one that is, is shown. */
export const nonNegativeDecimal = datatype({
  ...decimal.codec,
  schema: { type: 'number', minimum: 0, 'x-expects': 'a number of 0 or more' }
})

const int32 = 2 ** 31 - 1
export const integer = createIntegerDatatype(-int32 - 1)
export const unsignedInteger = createIntegerDatatype(0)
export const positiveInteger = createIntegerDatatype(1)

interface LooseForm {
  readonly format: keyof typeof formatDescriptions
  /** The form of R4 of a text in the looser form. */
  readonly complete: (text: string) => string
}

/** The same datatype, of which clients may send a looser form; R4's is shown. */
function withLooseForm ({ codec }: Datatype<string>, { format, complete }: LooseForm): Datatype<string> {
  const { schema } = codec
  return datatype<string>({
    ...codec,
    schema: { ...schema, format, 'x-expects': formatDescriptions[format], 'x-shown': schema },
    accept: complete,
    write: complete
  })
}

function createTimeDatatype (format: keyof typeof formatDescriptions, kind: FilterKind): Datatype<string> {
  return createTextDatatype(format, { expects: formatDescriptions[format], kind })
}

interface TextForm {
  readonly expects: string
  readonly kind: FilterKind
  readonly maxLength?: number
}

function createTextDatatype (format: Format, { expects, kind, ...bounds }: TextForm): Datatype<string> {
  return datatype<string>({
    schema: { type: 'string', format, minLength: 1, ...bounds, 'x-expects': expects },
    kind,
    read: readText,
    write: value => value
  })
}

function createIntegerDatatype (minimum: number): Datatype<number> {
  const codec: Codec<number> = {
    schema: {
      type: 'integer',
      minimum,
      maximum: int32,
      'x-expects': minimum < 0 ? 'a whole number' : `a whole number from ${minimum}`
    },
    kind: 'number',
    accept: Number,
    read: readNumber,
    write: Number
  }
  return datatype(codec)
}
