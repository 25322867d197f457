import { identifier, identifierExcept } from '../datatypes/complex.js'
import { datatype, type Datatype } from '../core/datatype.js'
import type { ElementOptions } from '../core/element.js'
import { isElement, itemsAt } from '../core/path.js'
import type { Rule } from '../core/rule.js'
import { inItemWithUse } from './list-items.js'

/** The business identifiers of a resource, without those of systems that have a field of their own. */
export const identifiers = (...ownSystems: readonly string[]) =>
  identifierExcept(...ownSystems).list('identifier', { filter: 'identifier', filterName: 'identifier' })

/** The one business identifier of a resource whose R4 type has 0..1. */
export const oneIdentifier = () => identifier('identifier', { filter: 'identifier' })

/** The identifier system of the US National Provider Identifier. */
export const npiSystem = 'http://hl7.org/fhir/sid/us-npi'

const digits = datatype<string>({
  schema: { type: 'string', format: 'npi', 'x-expects': 'ten digits' },
  kind: 'token',
  read: stored => typeof stored === 'string' ? stored : undefined,
  write: value => value
})

/** The NPI in use among the identifiers, as its ten digits. */
export const npi = <const O extends ElementOptions = object>(options?: O) =>
  inItemWithUse('identifier', npiSystem, digits('value', options))

/** Advice on an NPI whose last digit is not the check digit of the others: R4 has no such rule, so it is stored. */
export const npiCheckDigit: Rule = {
  severity: 'warning',
  fields: ['npi'],
  message: 'the last digit is not the check digit of the other nine; look for a mistyped digit',
  holds: resource => itemsAt(resource, 'identifier').every(item =>
    !isElement(item) || item.system !== npiSystem || typeof item.value !== 'string' ||
    !/^\d{10}$/.test(item.value) || hasCheckDigit(item.value)
  )
}

/** Whether the last digit is the Luhn digit over the prefix 80840. */
function hasCheckDigit (npi: string): boolean {
  const sum = [...`80840${npi}`].reverse()
    .map((digit, index) => Number(digit) * (index % 2 + 1))
    .reduce((total, product) => total + (product > 9 ? product - 9 : product), 0)
  return sum % 10 === 0
}

/** The identifier system of the unique identifiers that DICOM gives: http://hl7.org/fhir/R4/imagingstudy.html#notes */
export const dicomSystem = 'urn:dicom:uid'

/** The prefix of a UID that is the value of an identifier in FHIR. */
export const oidPrefix = 'urn:oid:'

/** A DICOM UID: numbers joined by dots, 64 characters at most. */
export const dicomUid: Datatype<string> = datatype<string>({
  schema: {
    type: 'string',
    pattern: '^[0-2](?:\\.(?:0|[1-9][0-9]*))+$',
    maxLength: 64,
    'x-expects': 'a DICOM UID: numbers joined by dots, at most 64 characters'
  },
  kind: 'token',
  read: stored => (typeof stored === 'string' && stored !== '' ? stored : undefined),
  write: value => value
})

const asUrn = datatype<string>({
  ...dicomUid.codec,
  read: stored =>
    typeof stored === 'string'
      ? dicomUid.codec.read(stored.startsWith(oidPrefix) ? stored.slice(oidPrefix.length) : stored)
      : undefined,
  write: value => oidPrefix + value
})

/** The Study Instance UID in use among the identifiers of an imaging study. */
export const studyUid = <const O extends ElementOptions = object>(options?: O) =>
  inItemWithUse('identifier', dicomSystem, asUrn('value', options))
