import type { BackendResponse } from '../../backends/backend.js'
import { fetchOperationStatus, kickOff } from '../async-operation.js'
import { toRelativeUrl } from '../public-urls.js'
import { parseJson, sendUnrecorded, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import { encodeTenantCriteria } from '../restrict.js'
import type { TypeSearch } from './searches.js'

/**
 * A file of the datastore's native export, relative to its base URL, with its number of lines if the datastore states
 * it.
 */
export interface NativeFile { readonly type: string, readonly path: string, readonly count: number | undefined }

/** The datastore's status of an export. */
export type NativeState =
  | { readonly kind: 'in-progress'; readonly retryAfterMs: number | undefined }
  | { readonly kind: 'lost' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'done'; readonly files: readonly NativeFile[] }

/** The only type that HAPI does not export, because it stores its files as such records. */
const notExported = 'Binary'

/**
 * Whether the datastore's native export does for a type: HAPI takes several filters of one type for alternatives, and a
 * type without one whole.
 */
export const isExportable = ({ type, searches }: TypeSearch): boolean => searches.length === 1 && type !== notExported

/**
 * Starts a native export: each type is named and has one filter, of which the tenant's tag is a condition.
 * @returns the URL of its status, relative to the base URL; undefined when the datastore does not offer it, or its
 * status is elsewhere
 */
export async function beginNativeExport (
  context: TenantContext,
  types: readonly TypeSearch[],
  since: string | undefined
): Promise<string | undefined> {
  const parameter = [
    { name: '_outputFormat', valueString: 'application/fhir+ndjson' },
    { name: '_type', valueString: types.map(({ type }) => type).join(',') },
    ...(since === undefined ? [] : [{ name: '_since', valueInstant: since }]),
    // Encoded, so that no comma or question mark of a value is taken for the end of it.
    ...types.map(({ type, searches }) => ({
      name: '_typeFilter',
      valueString: `${type}?${encodeTenantCriteria({ type, parameters: searches[0]! }, context.tenant)}`
    }))
  ]
  const response = await kickOff(context, { path: '$export', parameter, reason: 'an export was not begun' })
  return response && toRelativeUrl(String(response.headers['content-location']), context)
}

/** How far it is. */
export async function fetchNativeExportState (
  context: TenantContext,
  job: string,
  types: readonly string[]
): Promise<NativeState> {
  const response = await fetchOperationStatus(context, job)
  if (response === undefined) return { kind: 'failed' }
  if (response.status === 202) return { kind: 'in-progress', retryAfterMs: getRetryAfterMs(response) }
  if (response.status === 404 || response.status === 410) return { kind: 'lost' }
  if (response.status !== 200) throw unexpectedResponse(response, 'an export was not told of')
  return parseManifest(context, response, types)
}

/** Cancels the export, if the datastore supports that. */
export async function endNativeExport (context: TenantContext, job: string): Promise<void> {
  await sendUnrecorded(context, { method: 'DELETE', path: job })
}

function parseManifest (context: TenantContext, response: BackendResponse, types: readonly string[]): NativeState {
  const { output, error } = (parseJson(response) ?? {}) as { output?: unknown, error?: unknown }
  if (!Array.isArray(output)) throw unexpectedResponse(response, 'an export has no manifest')
  // Something is missing from it.
  if (Array.isArray(error) && error.length > 0) return { kind: 'failed' }
  const files = output.map(({ type, url, count }) => ({
    type: String(type),
    path: toRelativeUrl(String(url), context),
    count: Number.isInteger(count) ? (count as number) : undefined
  }))
  // Azure leaves them in a storage account, where the gateway does not go.
  if (!files.every((file): file is NativeFile => file.path !== undefined)) return { kind: 'failed' }
  if (!files.every(({ type }) => types.includes(type))) {
    throw unexpectedResponse(response, 'an export holds a type that was not asked for')
  }
  // The order is the same at each request, because checkpoints store a position in it.
  const rank = ({ type, path }: NativeFile): string => `${String(types.indexOf(type)).padStart(4, '0')} ${path}`
  return { kind: 'done', files: files.sort((one, other) => rank(one) < rank(other) ? -1 : 1) }
}

function getRetryAfterMs ({ headers }: BackendResponse): number | undefined {
  const seconds = Number(headers['retry-after'])
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined
}
