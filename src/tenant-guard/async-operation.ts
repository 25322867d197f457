import type { BackendResponse } from '../backends/backend.js'
import { Failure } from '../envelope/failures.js'
import { sendRequest, sendUnrecorded, unexpectedResponse, type TenantContext } from './tenant-context.js'

/** Statuses of a server that does not offer an operation, or not with these parameters. */
const refusals: ReadonlySet<number> = new Set([400, 404, 405, 422, 501])

/**
 * Starts a datastore operation that runs after its response: http://hl7.org/fhir/R4/async.html.
 * @param reason for the log, if the response of the datastore is unexpected
 * @returns the response that accepts it, with the URL of its status in `content-location`; undefined if the datastore
 * does not offer it
 */
export async function kickOff (
  context: TenantContext,
  { path, parameter, reason }: { readonly path: string; readonly parameter: readonly object[]; readonly reason: string }
): Promise<BackendResponse | undefined> {
  const response = await sendUnrecorded(context, {
    method: 'POST',
    path,
    headers: { prefer: 'respond-async' },
    body: JSON.stringify({ resourceType: 'Parameters', parameter })
  })
  if (refusals.has(response.status)) return undefined
  if (response.status !== 202) throw unexpectedResponse(response, reason)
  return response
}

/**
 * Fetches the status of an operation.
 * @returns undefined once it has failed: HAPI responds 500 to every poll then
 */
export async function fetchOperationStatus (
  context: TenantContext, path: string
): Promise<BackendResponse | undefined> {
  try {
    return await sendRequest(context, { method: 'GET', path })
  } catch (error) {
    if (error instanceof Failure && (error.cause as { status?: unknown } | undefined)?.status === 500) return undefined
    throw error
  }
}
