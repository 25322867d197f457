import { isNumber } from '../../json.js'
import { formats, formatWords } from '../kit/formats.js'

/** A primitive type of R4. */
interface Primitive {
  /** What is expected, in words. */
  readonly says: string
  /** Whether a value is of the type that JSON has for it. */
  readonly isKind: (value: unknown) => boolean
  /** Whether one of that type has the form that R4 demands beside; absent where that is not looked at. */
  readonly hasForm?: (value: unknown) => boolean
}

const isText = (value: unknown): value is string => typeof value === 'string'
const text: Primitive = { says: 'a string', isKind: isText }

/** A text with spaces around it makes HAPI fail where it has a day. */
function time (format: keyof typeof formatWords): Primitive {
  return { says: formatWords[format], isKind: value => isText(value) && value === value.trim(), hasForm: value => value === '' || formats[format](value as string) }
}

/** The root of a narrative; another one makes HAPI fail, with all that comes in the same transaction. */
const root = /^\s*(?:<\?[^>]*>\s*)?<((?:[\w-]+:)?[\w.-]+)/
const hasDivAsRoot = (value: unknown): boolean => isText(value) && /^(?:[\w-]+:)?div$/.test(root.exec(value)?.[1] ?? 'div')

function whole (says: string, least: number): Primitive {
  return { says, isKind: isNumber, hasForm: value => /^-?\d+$/.test(String(value)) && Number(value) >= least && Number(value) <= 2_147_483_647 }
}

/** http://hl7.org/fhir/R4/datatypes.html#primitive */
export const primitives: ReadonlyMap<string, Primitive> = new Map(Object.entries({
  base64Binary: text,
  boolean: { says: 'true or false', isKind: value => typeof value === 'boolean' },
  canonical: text,
  code: text,
  date: time('date'),
  dateTime: time('fhir-dateTime'),
  decimal: { says: 'a number', isKind: isNumber },
  id: text,
  instant: time('fhir-instant'),
  integer: whole('a whole number', -2_147_483_648),
  markdown: text,
  oid: text,
  positiveInt: whole('a whole number of at least 1', 1),
  string: text,
  time: time('fhir-time'),
  unsignedInt: whole('a whole number of at least 0', 0),
  uri: text,
  url: text,
  uuid: text,
  xhtml: { says: 'XHTML within <div>', isKind: hasDivAsRoot }
} satisfies Record<string, Primitive>))
