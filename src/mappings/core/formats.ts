/**
 * The text forms of R4's primitive types: http://hl7.org/fhir/R4/datatypes.html. Each is true for a text of that form.
 */
import type { Format } from './schema.js'

const year = '(?!0000)\\d{4}'
const month = '(?:0[1-9]|1[0-2])'
const day = '(?:0[1-9]|[12]\\d|3[01])'
// A minute has a leap second at times, and R4 bounds no fraction.
const clock = '(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?'
const zone = '(?:Z|[+-](?:(?:0\\d|1[0-3]):[0-5]\\d|14:00))'

const dateForm = new RegExp(`^${year}(?:-${month}(?:-${day})?)?$`)
const buildDateOrTimeForm = (time: string): RegExp =>
  new RegExp(`^${year}(?:-${month}(?:-${day}(?:T${time}${zone})?)?)?$`)
const dateTimeForm = buildDateOrTimeForm(clock)
const searchDateForm = buildDateOrTimeForm(clock.replace('|60', ''))
const instantForm = new RegExp(`^${year}-${month}-${day}T${clock}${zone}$`)
const timeForm = new RegExp(`^${clock}$`)
const shortTimeForm = new RegExp(`^(?:${clock}|(?:[01]\\d|2[0-3]):[0-5]\\d)$`)
const instantOrDayForm = new RegExp(`^${year}-${month}-${day}(?:T${clock}${zone})?$`)
const base64Form = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/
// Base64 in lines, as mail and PEM have it.
const quad = '(?:[A-Za-z0-9+/]\\s*){4}'
const lastQuad = '(?:[A-Za-z0-9+/]\\s*[AQgw]\\s*=\\s*=\\s*|(?:[A-Za-z0-9+/]\\s*){2}[AEIMQUYcgkosw048]\\s*=\\s*)'
// R4 strings have no control characters but tab, line feed and carriage return.
const controls = '\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F\\x7F'
const spaceOrControl = '\\s\\x00-\\x1F\\x7F'
const control = new RegExp(`[${controls}]`)
// A no-break space is part of a word.
const plainTextForm = /^[^ \t\r\n\v\f]+(?: [^ \t\r\n\v\f]+)*$/
const codeForm = new RegExp(`^[^${spaceOrControl}]+(?: [^${spaceOrControl}]+)*$`)
const uriForm = new RegExp(`^[^"<>\\\\^\`{|}${spaceOrControl}]+$`)

const absoluteUriForm = new RegExp(`^[A-Za-z][A-Za-z0-9+.-]*:${uriForm.source.slice(1)}`)

export const formats: Readonly<Record<Format, (text: string) => boolean>> = {
  text: text => /\S/.test(text) && text === text.trim() && !control.test(text),
  words: text => plainTextForm.test(text) && text === text.trim() && !control.test(text),
  code: text => codeForm.test(text),
  date: text => dateForm.test(text) && isOnCalendar(text),
  'fhir-dateTime': text => dateTimeForm.test(text) && isOnCalendar(text),
  'fhir-instant': text => instantForm.test(text) && isOnCalendar(text),
  'fhir-time': text => timeForm.test(text),
  uri: text => absoluteUriForm.test(text),
  'time-of-day': text => shortTimeForm.test(text),
  'instant-or-day': text => instantOrDayForm.test(text) && isOnCalendar(text),
  'uri-reference': text => uriForm.test(text),
  base64: isBase64,
  npi: text => /^\d{10}$/.test(text)
}

/** How messages describe the form that is expected. */
export const formatDescriptions = {
  date: 'a date such as 1990-03-14, 1990-03 or 1990',
  'fhir-dateTime': 'a time with a time zone such as 2026-03-14T09:30:00Z, or a date',
  'fhir-instant': 'a time with seconds and a time zone, such as 2026-03-14T09:30:00Z',
  'fhir-time': 'a time of day such as 09:30:00',
  'time-of-day': 'a time of day such as 09:30:00 or 09:30',
  'instant-or-day': 'a time with seconds and a time zone, such as 2026-03-14T09:30:00Z, or a day, whose start in UTC is meant'
} satisfies Partial<Record<Format, string>>

/**
 * The forms as patterns, for readers of the schema that do not know our names; what a pattern cannot say is checked
 * besides.
 */
export const patterns: Readonly<Record<Format, string>> = {
  text: `^[^${spaceOrControl}](?:[^${controls}]*[^${spaceOrControl}])?$`,
  words: codeForm.source,
  code: codeForm.source,
  date: dateForm.source,
  'fhir-dateTime': dateTimeForm.source,
  'fhir-instant': instantForm.source,
  'fhir-time': timeForm.source,
  uri: absoluteUriForm.source,
  'time-of-day': shortTimeForm.source,
  'instant-or-day': instantOrDayForm.source,
  'uri-reference': uriForm.source,
  base64: `^\\s*(?=\\S)(?:${quad})*${lastQuad}?$`,
  npi: '^\\d{10}$'
}

/** A date or a time to search by: servers store leap seconds, and refuse to search by one. */
export const searchDate = {
  isValid: (text: string): boolean => searchDateForm.test(text) && isOnCalendar(text),
  pattern: searchDateForm.source
}

/** Whether the month has this day: 2026-02-30 has the right form but does not exist. */
function isOnCalendar (text: string): boolean {
  const day = Number(text.slice(8, 10))
  if (text.length < 10 || day < 29) return true
  return day <= new Date(Date.UTC(2000 + Number(text.slice(0, 4)) % 400, Number(text.slice(5, 7)), 0)).getUTCDate()
}

/** Canonical base64: one text for the same bytes, but for line breaks and spaces. */
function isBase64 (text: string): boolean {
  return base64Form.test(/\s/.test(text) ? text.replaceAll(/\s+/g, '') : text) && /\S/.test(text)
}
