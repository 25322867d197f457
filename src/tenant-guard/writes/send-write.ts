import type { BackendRequest, BackendResponse } from '../../backends/backend.js'
import type { MadeChange, OpenChange, PlannedChange } from '../../events/intent.js'
import { parseEntityTag } from '../../envelope/preconditions.js'
import { isId } from '../../fhir/names.js'
import { sendUnrecorded, type TenantContext } from '../tenant-context.js'
import { parseLocation } from './stored-resource.js'
import { Failure } from '../../envelope/failures.js'

/** A write of the guard's, and what it changes. */
interface WriteRequest {
  readonly request: BackendRequest
  /** One for each entry if the request is a transaction. */
  readonly changes: readonly PlannedChange[]
}

/**
 * Sends a write to the datastore. This is the only way for writes of a tenant's records: each change is written down as
 * an intent before it is sent, and as an event, by what the response says, before it returns.
 * @throws {Failure} BACKEND_UNAVAILABLE if it can't be written down
 */
export async function sendWrite (
  context: TenantContext,
  { request, changes }: WriteRequest
): Promise<BackendResponse> {
  if (context.changes === undefined) return await sendUnrecorded(context, request)
  const open = await context.changes.begin(changes)
  const response = await sendUnrecorded(context, request).catch((error: unknown) => {
    open.unknown()
    throw error
  })
  await recordOutcome(open, response, { request, changes })
  return response
}

async function recordOutcome (
  open: OpenChange,
  response: BackendResponse,
  { request: { path }, changes }: WriteRequest
): Promise<void> {
  if (response.status >= 400) return response.status === 501 ? open.unknown() : open.refused()
  const made =
    path === '' ? toTransactionChanges(response, changes) : [toMadeChange(changes[0]!, toSingleOutcome(response))]
  if (made === undefined || made.includes('unknown')) return open.unknown()
  await open.made(made as ReadonlyArray<MadeChange | undefined>)
}

/** The outcome of one write in a response. */
interface WriteOutcome {
  readonly status: number
  readonly location: unknown
  readonly etag: unknown
  /** The record, if it is in the response. */
  readonly record: () => unknown
}

/** The change that a write made; undefined if it changed nothing. */
function toMadeChange (planned: PlannedChange, outcome: WriteOutcome): MadeChange | 'unknown' | undefined {
  const { kind, type, id, before } = planned
  const { status } = outcome
  if (kind === 'deleted') return { kind, type, id: id!, version: parseVersion(outcome.etag) }
  // A conditional create that found a record: it stays as it was.
  if (kind === 'created' && id === undefined && status === 200) return undefined
  if (status !== 200 && status !== 201) return 'unknown'
  const known = parseLocation(outcome.location, { type, id })
  const version = known?.version ?? parseVersion(outcome.etag)
  const found = (id ?? known?.id) !== undefined && version !== undefined
    ? { id: (id ?? known?.id)!, version }
    : parseIdentity(outcome.record(), { type, id })
  const made = { id: id ?? known?.id ?? found?.id, version: version ?? found?.version }
  if (made.id === undefined) return 'unknown'
  if (made.version !== undefined && made.version === before) return undefined
  return { kind: status === 201 ? 'created' : 'updated', type, id: made.id, version: made.version }
}

function toSingleOutcome ({ status, headers, body }: BackendResponse): WriteOutcome {
  return {
    status,
    location: headers.location ?? headers['content-location'],
    etag: headers.etag,
    record: () => parseJsonOrUndefined(body)
  }
}

/** Undefined if the response is not one about these entries. */
function toTransactionChanges (
  { status, body }: BackendResponse,
  changes: readonly PlannedChange[]
): ReadonlyArray<MadeChange | 'unknown' | undefined> | undefined {
  const { entry } = (status === 200 ? parseJsonOrUndefined(body) ?? {} : {}) as { readonly entry?: unknown }
  if (!Array.isArray(entry) || entry.length !== changes.length) return undefined
  return changes.map((change, at) => {
    const { resource, response = {} } = (entry[at] ?? {}) as Partial<Record<'resource' | 'response', unknown>>
    const { status, location, etag } = Object(response) as Record<string, unknown>
    return toMadeChange(change, { status: Number.parseInt(String(status), 10), location, etag, record: () => resource })
  })
}

/** JSON whose numbers do not matter. Undefined if it is not JSON. */
function parseJsonOrUndefined (body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function parseIdentity (
  record: unknown,
  expected: { readonly type: string; readonly id: string | undefined }
): { readonly id: string; readonly version?: string } | undefined {
  const { resourceType, id, meta } = Object(record) as Record<string, unknown>
  if (resourceType !== expected.type || !isId(id) || (expected.id !== undefined && id !== expected.id)) return undefined
  const { versionId } = Object(meta) as Record<string, unknown>
  return { id, ...isId(versionId) && { version: versionId } }
}

/** The version in an entity tag, if it is no step in a path. */
function parseVersion (etag: unknown): string | undefined {
  const version = parseEntityTag(String(etag))
  return isId(version) ? version : undefined
}

/**
 * A datastore's refusal of a record, which has the form of R4. Its own words are not for the client.
 * @param hasCriteria whether it was to be made unless some record meets criteria
 */
export function rejection (cause: unknown, { hasCriteria = false } = {}): Failure {
  const message = hasCriteria
    ? "The datastore rejected this record. It must match its own criteria and meet the datastore's own rules."
    : 'The record has the form of FHIR R4, but the datastore rejected it by rules of its own. $validate in raw FHIR lists what it has against the record.'
  return new Failure('VALIDATION_ERROR', { message, cause })
}
