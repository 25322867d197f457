import { datatype, type Datatype } from '../core/datatype.js'
import type { ElementOptions } from '../core/element.js'
import { inItemWithUse } from './in-item.js'

/** The identifier system of the unique identifiers that DICOM gives: http://hl7.org/fhir/R4/imagingstudy.html#notes */
export const dicomSystem = 'urn:dicom:uid'

/** What FHIR has before a UID that is the value of an identifier. */
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
