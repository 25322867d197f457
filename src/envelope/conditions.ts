import { hasIdForm, idForm } from '../fhir-names.js'
import { Failure } from './failures.js'

/** The entity tag of a stored version: RFC 9110, weak since the same version can be printed in more than one form. */
export const entityTag = (version: string): string => `W/"${version}"`

const tagForm = new RegExp(`^(?:W/)?"(${idForm})"$`)

/**
 * The versions that an If-Match or If-None-Match header names; `*` is any.
 * @throws {Failure} BAD_REQUEST for anything else than entity tags
 */
export function versionsIn (header: string | undefined, name: string): readonly string[] | '*' | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (text === '*') return '*'
  const tags = text.split(/\s*,\s*/).map(tag => tagForm.exec(tag)?.[1])
  if (tags.some(tag => tag === undefined)) throw new Failure('BAD_REQUEST', { message: `${name}: expected the ETag of an earlier response, such as W/"1".` })
  return tags as string[]
}

/** @throws {Failure} PRECONDITION_FAILED when the stored version is none of those that the client demands. */
export function demandVersion (header: string | undefined, version: string | undefined): void {
  const versions = versionsIn(header, 'If-Match')
  if (versions === undefined || versions === '*') return
  if (version === undefined || !versions.includes(version)) throw new Failure('PRECONDITION_FAILED')
}

/** Whether a request has a precondition that is looked at in reads alone, or nowhere. */
export const hasOtherPrecondition = (headers: Readonly<Record<string, unknown>>): boolean => headers['if-none-match'] !== undefined || headers['if-unmodified-since'] !== undefined

/** Of a write whose sender counts on such a precondition: made all the same, it could replace what was to be kept. RFC 9110, section 13.1 */
export const otherPrecondition = (): Failure =>
  new Failure('BAD_REQUEST', { message: 'Writes do not support If-None-Match and If-Unmodified-Since. To replace a certain version, send If-Match with its ETag. To create raw FHIR only if no match exists, send If-None-Exist.' })

/** Whether the client has the stored version already. */
export function isKnown (header: string | undefined, version: string | undefined): boolean {
  const versions = versionsIn(header, 'If-None-Match')
  return versions !== undefined && (versions === '*' || (version !== undefined && versions.includes(version)))
}

/** On what a read depends: the versions that its sender has, and the time as of which. */
export interface ReadConditions { readonly ifNoneMatch?: string | undefined, readonly ifModifiedSince?: string | undefined }

/** Whether the sender of a read has the record as it is already. RFC 9110, section 13 */
export function isUnchanged ({ ifNoneMatch, ifModifiedSince = '' }: ReadConditions, { versionId, lastUpdated }: { readonly versionId?: string | undefined, readonly lastUpdated?: unknown }): boolean {
  // Some clients, fhirpy for one, send the version as it stands in meta.
  if (ifNoneMatch !== undefined) return isKnown(hasIdForm(ifNoneMatch) ? entityTag(ifNoneMatch) : ifNoneMatch, versionId)
  return typeof lastUpdated === 'string' && Math.floor(Date.parse(lastUpdated) / 1_000) * 1_000 <= Date.parse(ifModifiedSince)
}
