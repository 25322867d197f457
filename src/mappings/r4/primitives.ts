import { isNumber } from '../../json/json.js'
import { formats, formatDescriptions } from '../core/formats.js'
import { isXhtml } from '../fields/narrative.js'

/** A primitive type of R4. */
interface Primitive {
  /** The expected form, in words. */
  readonly message: string
  /** Whether a value has the JSON type and the form that R4 requires. */
  readonly isValid: (value: unknown) => boolean
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Longest text of R4: 1 MiB. */
const maxTextLength = 1024 * 1024

/** Control characters that R4 allows in no text. */
// eslint-disable-next-line no-control-regex -- The expression finds control characters.
const control = /[\x00-\x08\x0B\x0C\x0E-\x1F]/

/** Texts that HAPI treats as empty: they contain only the spaces that Java knows. A no-break space is content. */
// eslint-disable-next-line no-control-regex -- Java has these four among its spaces.
const blank = /^[\s\u001C-\u001F]*$/
const contentSpace = /[\u00A0\u2007\u202F\uFEFF]/

const isPlainText = (value: unknown): boolean =>
  isText(value) && value.length <= maxTextLength && !control.test(value) && !isBlank(value)

/** Whether a text is empty or nothing but space, which a datastore may drop. */
export function isBlank (text: string): boolean {
  const first = text.charCodeAt(0)
  return !(first > 0x20 && first < 0x1680) && blank.test(text) && !contentSpace.test(text)
}

function createFromPattern (form: RegExp, message: string): Primitive {
  return { message, isValid: value => isText(value) && form.test(value) }
}

function createFromFormat (format: keyof typeof formatDescriptions): Primitive {
  return { message: formatDescriptions[format], isValid: value => isText(value) && formats[format](value) }
}

function createInteger (message: string, min: number): Primitive {
  const isWholeNumber = (value: unknown): boolean => isNumber(value) && /^-?\d+$/.test(String(value))
  return { message, isValid: value => isWholeNumber(value) && Number(value) >= min && Number(value) <= 2_147_483_647 }
}

/** Neither space nor a control character. */
const visibleCharacter = '[^\\s\\x00-\\x1F]'

const text: Primitive = {
  message: 'text that is not blank, without control characters, of at most 1 MiB',
  isValid: isPlainText
}
const uri = createFromPattern(new RegExp(`^${visibleCharacter}+$`), 'a URI without spaces')

/** http://hl7.org/fhir/R4/datatypes.html#primitive */
export const primitives: ReadonlyMap<string, Primitive> = new Map(
  Object.entries({
    base64Binary: {
      message: 'base64, complete and with = at its end where it needs it',
      isValid: value => isText(value) && formats.base64(value)
    },
    boolean: { message: 'true or false', isValid: value => typeof value === 'boolean' },
    canonical: uri,
    code: createFromPattern(new RegExp(`^${visibleCharacter}+(?: ${visibleCharacter}+)*$`), 'a code, without leading, trailing or double spaces'),
    date: createFromFormat('date'),
    dateTime: createFromFormat('fhir-dateTime'),
    decimal: { message: 'a number', isValid: isNumber },
    id: createFromPattern(/^[A-Za-z0-9.-]{1,64}$/, 'an id of 1 to 64 letters, digits, - and .'),
    instant: createFromFormat('fhir-instant'),
    integer: createInteger('a whole number', -2_147_483_648),
    markdown: text,
    oid: createFromPattern(/^urn:oid:[0-2](?:\.(?:0|[1-9]\d*))+$/, 'an OID such as urn:oid:1.2.3'),
    positiveInt: createInteger('a whole number of at least 1', 1),
    string: text,
    time: createFromFormat('fhir-time'),
    unsignedInt: createInteger('a whole number of at least 0', 0),
    uri,
    url: uri,
    uuid: createFromPattern(
      /^urn:uuid:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/,
      'a UUID in lower case such as urn:uuid:c757873d-ec9a-4326-a141-556f43239520'
    ),
    xhtml: {
      message: 'well-formed XHTML within one <div>, with text or an image, without scripts',
      isValid: value => isText(value) && isXhtml(value)
    }
  } satisfies Record<string, Primitive>)
)
