import type { BackendResponse } from '../../backends/backend.js'
import type { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import {
  sendRequest,
  parseJson,
  notFound,
  verifyAndRememberOwned,
  getOwnershipScope,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'

/** The identity and version of a record of the tenant's; unknown, deleted and foreign ones are NOT_FOUND. */
export async function readMeta (context: TenantContext, type: string, id: string): Promise<StoredResource> {
  const response = await sendRequest(context, { method: 'GET', path: `${type}/${id}?_elements=id,meta` })
  return readRecord(context, response, { type, id })
}

/** The record that was requested. */
interface RecordRequest {
  readonly type: string
  readonly id: string
  /** How the response's JSON is had; with exact numbers by default. */
  readonly parse?: (response: BackendResponse) => unknown
}

/** The record that was read; foreign, unknown and deleted ones cause the same failure. */
export function readRecord (
  context: TenantContext,
  response: BackendResponse,
  { parse = parseJson, ...request }: RecordRequest
): StoredResource {
  // Some servers call an id that they could never have issued a bad request.
  if ([400, 404, 410].includes(response.status)) throw forgetAndNotFound(context, `${request.type}/${request.id}`)
  if (response.status !== 200) throw unexpectedResponse(response, 'a read was not answered')
  const record = verifyAndRememberOwned(context, parse(response), request)
  if (record === undefined) throw notFound()
  return record
}

/** Forgets the owner of a record that the datastore no longer has. */
export function forgetAndNotFound (context: TenantContext, record: string): Failure {
  context.ownership.forget(getOwnershipScope(context), record)
  return notFound()
}
