import type { BackendResponse } from '../backends/backend.js'
import { printJson } from '../json/json.js'
import type { FhirResource } from '../mappings/fhir.js'
import { parseJson, sendUnrecorded, unexpectedResponse, type TenantContext } from './tenant-context.js'
import { tagForTenant } from './writes/tag-record.js'

/** An AuditEvent of the gateway's own, under an id made by toAccessEventId. */
export interface AccessEvent extends FhirResource { readonly resourceType: 'AuditEvent', readonly id: string }

/** The outcome for one event: it is stored, the datastore refuses it, or it may be sent again. */
export type AccessEventOutcome = 'stored' | 'refused' | 'again'

/**
 * Stores AuditEvents about access to the tenant's records in one transaction, or one by one if the datastore rejects
 * that. Storing an event again changes nothing. The events contain no literal references, so there is nothing to look
 * up.
 * @returns the outcome of each, in the same order
 * @throws {Failure} 5xx for an error of the datastore; then they may be sent again
 */
export async function storeAccessEvents (
  context: TenantContext,
  events: readonly AccessEvent[]
): Promise<readonly AccessEventOutcome[]> {
  const entry = events.map(event => ({
    resource: tagForTenant(event, context.tenant),
    request: { method: 'PUT', url: `AuditEvent/${event.id}` }
  }))
  const together = await send(context, 'transaction', entry)
  if (together.status === 200) return entry.map(() => 'stored')
  const separate = await send(context, 'batch', entry)
  if (separate.status === 200) return parseOutcomes(separate, events.length)
  if (refusals.has(separate.status)) return entry.map(() => 'refused')
  throw unexpectedResponse(separate, 'AuditEvents were not answered')
}

function send (
  context: TenantContext,
  type: 'batch' | 'transaction',
  entry: readonly object[]
): Promise<BackendResponse> {
  return sendUnrecorded(context, {
    method: 'POST',
    path: '',
    headers: { prefer: 'return=minimal' },
    body: printJson({ resourceType: 'Bundle', type, entry })
  })
}

function parseOutcomes (response: BackendResponse, expected: number): AccessEventOutcome[] {
  const { entry } = (parseJson(response) ?? {}) as {
    entry?: ReadonlyArray<{ readonly response?: { readonly status?: unknown } }>
  }
  if (!Array.isArray(entry) || entry.length !== expected) {
    throw unexpectedResponse(response, 'AuditEvents were not answered one by one')
  }
  return entry.map(received => toOutcome(Number.parseInt(String(received?.response?.status), 10)))
}

/** Statuses that would be the same for another attempt. */
const refusals = new Set([400, 404, 405, 410, 413, 422, 501])

function toOutcome (status: number): AccessEventOutcome {
  if (status === 200 || status === 201) return 'stored'
  return refusals.has(status) ? 'refused' : 'again'
}
