import type { BackendResponse } from '../../backends/backend.js'
import { sendRequest, type TenantContext } from '../tenant-context.js'
import { isId } from '../../fhir/names.js'

/** The response to a write with the record in its body. */
export interface StoredResponse extends BackendResponse {
  /** Whether the record was read after the write without its version, so that it may be another one's. */
  readonly isLatest?: true
}

/** The type and id of a written record, as far as they are known. */
interface ExpectedRecord { readonly type: string, readonly id?: string | undefined }

/**
 * The response to a write with the record in its body. A server that ignores `Prefer` returns only the record's
 * location, or an OperationOutcome; then that version is read. If that fails, the response stays unchanged.
 */
export async function withStoredResource (
  context: TenantContext,
  response: BackendResponse,
  expected: ExpectedRecord
): Promise<StoredResponse> {
  if ((response.status !== 200 && response.status !== 201) || !isWithoutRecord(response.body)) return response
  const { location, 'content-location': contentLocation } = response.headers
  const parsedLocation =
    parseLocation(location, expected) ??
    parseLocation(contentLocation, expected) ??
    (expected.id === undefined ? undefined : { id: expected.id })
  if (parsedLocation === undefined) return response
  const path = `${expected.type}/${parsedLocation.id}`
  const version =
    parsedLocation.version === undefined
      ? undefined
      : await sendRequest(context, { method: 'GET', path: `${path}/_history/${parsedLocation.version}` })
  if (version?.status === 200) return { ...response, body: version.body }
  const read = await sendRequest(context, { method: 'GET', path })
  return read.status === 200 ? { ...response, body: read.body, isLatest: true } : response
}

function isWithoutRecord (body: string): boolean {
  return body === '' || /^\s*\{\s*"resourceType"\s*:\s*"OperationOutcome"/.test(body)
}

/**
 * Where a record and its version are, by an address that ends in `Patient/1/_history/2`; whose address it is doesn't
 * count.
 */
export function parseLocation (
  address: unknown,
  { type, id }: ExpectedRecord
): { readonly id: string; readonly version?: string } | undefined {
  const [, found, named, version] =
    /(?:^|\/)([A-Za-z]+)\/([^/?#]+)(?:\/_history\/([^/?#]+))?$/.exec(String(address)) ?? []
  if (found !== type || !isId(named) || (id !== undefined && named !== id)) return undefined
  return { id: named, ...(isId(version) && { version }) }
}
