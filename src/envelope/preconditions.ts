import { isValidId, idPattern } from '../fhir/names.js'
import { Failure } from './failures.js'

/** The entity tag of a stored version (RFC 9110). It is weak, since the same version has several representations. */
export const toEntityTag = (version: string): string => `W/"${version}"`

/** The version that an entity tag of a FHIR server names; undefined if the text is none. */
export const parseEntityTag = (tag: string): string | undefined => tagForm.exec(tag)?.[1]

const tagForm = new RegExp(`^(?:W/)?"(${idPattern})"$`)

/**
 * The versions in an If-Match or If-None-Match header. `*` is any version.
 * @throws {Failure} BAD_REQUEST for anything but entity tags
 */
export function parseVersions (header: string | undefined, name: string): readonly string[] | '*' | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (text === '*') return '*'
  const tags = parseEntityTags(text)
  if (tags === undefined) {
    throw new Failure('BAD_REQUEST', { message: `${name}: expected the ETag of an earlier response, such as W/"1".` })
  }
  return tags
}

/** @throws {Failure} PRECONDITION_FAILED if the stored version is none of those in If-Match */
export function requireIfMatch (header: string | undefined, version: string | undefined): void {
  const versions = parseVersions(header, 'If-Match')
  if (versions === undefined || versions === '*') return
  if (version === undefined || !versions.includes(version)) throw new Failure('PRECONDITION_FAILED')
}

/** Whether a request has a precondition that is supported for reads only, or not at all. */
export const hasOtherPrecondition = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['if-none-match'] !== undefined || headers['if-unmodified-since'] !== undefined

/**
 * The refusal of a write with such a precondition. If it were ignored, the write could replace a record that its sender
 * wants to preserve. RFC 9110, section 13.1
 */
export const unsupportedPrecondition = (): Failure =>
  new Failure('BAD_REQUEST', {
    message:
      'Writes do not support If-None-Match and If-Unmodified-Since. To replace a certain version, send If-Match with its ETag. To create raw FHIR only if no match exists, send If-None-Exist.'
  })

/** Whether the client already has the stored version. A header that is no list of entity tags names none. */
export function etagMatches (header: string | undefined, version: string | undefined): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  // Some clients, such as fhirpy, send the bare versionId of meta.
  const versions = isValidId(header) ? [header] : parseEntityTags(header)
  return version !== undefined && versions?.includes(version) === true
}

function parseEntityTags (text: string): readonly string[] | undefined {
  const tags = text.split(',').map(tag => parseEntityTag(tag.trim()))
  return tags.some(tag => tag === undefined) ? undefined : tags as string[]
}

const httpDate =
  /^(?:[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT|[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d\d \d\d:\d\d:\d\d GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})$/

/**
 * A date of HTTP in one of its three forms (RFC 9110, section 5.6.7), as an instant; undefined for any other text,
 * which a server ignores.
 */
export function parseHttpDate (text: string | undefined): string | undefined {
  if (text === undefined || !httpDate.test(text)) return undefined
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/**
 * The conditions of a read: the versions that the client has, and the instant since which the record must have
 * changed.
 */
export interface ReadConditions {
  readonly ifNoneMatch?: string | undefined
  readonly ifModifiedSince?: string | undefined
}

/** Whether the client already has the record in its present state. RFC 9110, section 13 */
export function isUnchanged (
  { ifNoneMatch, ifModifiedSince = '' }: ReadConditions,
  { versionId, lastUpdated }: { readonly versionId?: string | undefined; readonly lastUpdated?: unknown }
): boolean {
  if (ifNoneMatch !== undefined) return etagMatches(ifNoneMatch, versionId)
  return (
    typeof lastUpdated === 'string' &&
    Math.floor(Date.parse(lastUpdated) / 1_000) * 1_000 <= Date.parse(ifModifiedSince)
  )
}
