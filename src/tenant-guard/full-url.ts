import { isId } from '../fhir/names.js'
import { isTenantType } from '../fhir/resource-types.js'

/** A reference or fullUrl without the version that it names: `Patient/1` of `Patient/1/_history/2`. */
export const withoutVersion = (url: string): string => url.replace(/\/_history\/[^/]*$/, '')

/**
 * `Patient/1102` of `http://ehr.example.com/fhir/Patient/1102`, and of itself; undefined for a fullUrl of another form.
 */
export function parseRecordReference (fullUrl: string): string | undefined {
  const [id, type, ...base] = withoutVersion(fullUrl).split('/').reverse()
  const isBelowBase = base.length === 0 || /^https?:\/\/./.test(fullUrl)
  return isBelowBase && type !== undefined && isTenantType(type) && isId(id) ? `${type}/${id}` : undefined
}

/** The base URL of a server in the fullUrl of one of its records; undefined for a fullUrl of another form. */
export function parseBaseUrl (fullUrl: unknown): string | undefined {
  if (typeof fullUrl !== 'string' || !/^https?:\/\//.test(fullUrl)) return undefined
  const record = parseRecordReference(fullUrl)
  return record === undefined ? undefined : fullUrl.slice(0, fullUrl.lastIndexOf(`/${record}`))
}
