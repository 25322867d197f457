import type { Backend, BackendRequest, BackendResponse, ReadRequest } from '../backends/backend.js'
import { Failure } from '../envelope/failures.js'
import { parseStored } from '../json/json.js'
import type { StoredResource } from '../mappings/fhir.js'
import type { Mode } from '../config/mode.js'
import type { ChangeRecorder } from '../events/intent.js'
import type { Access } from './access.js'
import { verifyOwned } from './verify-owned.js'
import type { CursorBinding, Cursors } from './cursor.js'
import type { InteractionKind } from './interaction.js'
import type { OwnershipScope, Ownership } from './ownership.js'
import type { Tenant } from './tenant.js'

/** One request's access to one tenant's records in one datastore. */
export interface TenantContext {
  readonly backend: Backend
  readonly tenant: Tenant
  readonly mode: Mode
  readonly ownership: Ownership
  readonly cursors: Cursors
  /** The permissions of a key with limits; absent for a key without limits, and for the gateway's own work. */
  readonly access?: TypeAccess
  /** Writes down each change of the tenant's records as an event; absent where none are recorded. */
  readonly changes?: ChangeRecorder
  /** The request's id, which the datastore gets for its own log. */
  readonly requestId?: string
  /** Measures how long the request waits for its datastore; absent where that is of no interest. */
  readonly timer?: ResponseTimer
  /** Where clients reach raw FHIR: `https://api.example.org/v1/fhir`. */
  readonly fhirBase: string
  readonly onIncident: (incident: Incident) => void
  /** Called when the datastore stored a record differently than it was sent; absent where that is of no interest. */
  readonly onDifferences?: (differences: StoredDifferences) => void
  /** Called for each access to the tenant's records; absent if accesses are not recorded. */
  readonly onAccess?: (access: Access) => void
  /** Called with the id of the record that the criteria of a write lead to, before anything is done with it. */
  readonly onMatch?: (id: string) => void
  /** Called when the gateway or the datastore fails at one entry of a batch, which no error handler sees. */
  readonly onError: (failure: Failure) => void
}

/** Measures how long responses of a datastore are waited for, and passes them on. */
interface ResponseTimer { measure<T>(datastore: string, send: () => Promise<T>): Promise<T> }

/**
 * The types of records that a key with limits may work with, in the form in which a request shows them: raw FHIR, or
 * the simple form.
 */
export interface TypeAccess {
  readonly mayRead: (type: string) => boolean
  /** Whether records of the type may be looked up by their ids, to be referred to. */
  readonly mayReferTo: (type: string) => boolean
  /** The same text for the same limits: a cursor is valid for no other ones. */
  readonly limits: string
}

/** Whether a request may show records of a type. */
export function mayRead ({ access }: Pick<TenantContext, 'access'>, type: string): boolean {
  return access === undefined || access.mayRead(type)
}

/** A datastore responded as it never should, so an operator must look into it. Names no record. */
export interface Incident {
  /** A match, or the response to a write, without the tenant's tag alone; a change that brought a record into being. */
  readonly kind: 'foreign-match' | 'foreign-response' | 'created-by-update'
  readonly interaction: InteractionKind
  readonly type: string
  readonly datastore: string
  readonly mode: Mode
  readonly tenantId: string
  /** How many records it concerns. */
  readonly records: number
}

/** The parts that a datastore stored differently than they were sent. Names no record and has no values. */
export interface StoredDifferences {
  readonly datastore: string
  readonly type: string
  /** Expressions such as `Patient.name[0].given`. */
  readonly paths: readonly string[]
}

/** Sends what the guard built and what changes nothing. Writes of a tenant's records go through sendWrite. */
export function sendRequest (context: TenantContext, request: ReadRequest): Promise<BackendResponse> {
  return sendUnrecorded(context, request)
}

/**
 * Sends what may change something of which no event is written here. For sendWrite, which writes the events, and for
 * what is no client's change of a record: operations of the datastore, their jobs, and the gateway's own AuditEvents.
 */
export function sendUnrecorded (
  { backend, requestId, timer }: TenantContext,
  request: BackendRequest
): Promise<BackendResponse> {
  const sent = requestId === undefined
    ? request
    : { ...request, headers: { ...request.headers, 'x-request-id': requestId } }
  const send = () => backend.send(sent)
  return timer === undefined ? send() : timer.measure(backend.name, send)
}

/** Reports what must never happen; `records` is how many it concerns. */
export function reportIncident (
  { backend, mode, tenant, onIncident }: TenantContext,
  incident: Pick<Incident, 'kind' | 'interaction' | 'type' | 'records'>
): void {
  onIncident({ ...incident, datastore: backend.name, mode, tenantId: tenant.id })
}

export function getOwnershipScope ({ backend, tenant }: TenantContext): OwnershipScope {
  return { datastore: backend.name, tenant: tenant.id }
}

/** The binding of a cursor that a request through this context gets. */
export function getCursorBinding (
  { tenant, mode, backend, access }: TenantContext,
  { route, type }: Pick<CursorBinding, 'route' | 'type'>
): CursorBinding {
  return { tenant: tenant.id, mode, datastore: backend.name, route, type, limits: access?.limits }
}

/** The tenant's record in a response, remembered as its own; undefined when the response holds anything else. */
export function verifyAndRememberOwned (
  context: TenantContext,
  value: unknown,
  request: { readonly type: string; readonly id?: string }
): StoredResource | undefined {
  const record = verifyOwned(value, { ...request, tenant: context.tenant })
  if (record !== undefined) context.ownership.remember(getOwnershipScope(context), `${record.resourceType}/${record.id}`)
  return record
}

/**
 * The JSON of a response, in which numbers retain their text.
 * @param message for the client if the JSON is incomplete, in place of the catalog's remedy
 */
export function parseJson (response: BackendResponse, message?: string): unknown {
  return parseWith(response, parseStored, message)
}

/** The JSON of a response that is passed on as text, for the checks alone: its numbers are JavaScript's. */
export function parseCheckedJson (response: BackendResponse): unknown {
  return parseWith(response, JSON.parse)
}

function parseWith (response: BackendResponse, parse: (text: string) => unknown, message?: string): unknown {
  try {
    return parse(response.body)
  } catch {
    // The parser's message quotes the body, so it must not reach the log.
    throw new Failure('BACKEND_ERROR', {
      message,
      cause: { ...toFailureCause(response), reason: 'the answer is not whole JSON' }
    })
  }
}

/**
 * The failure for a response that this interaction should never get. A method or an operation that the datastore does
 * not have is missing the next time as well, so the client must not try again.
 */
export function unexpectedResponse (response: BackendResponse, reason: string): Failure {
  if (response.status === 405 || response.status === 501) {
    return new Failure('NOT_IMPLEMENTED', {
      message: 'The datastore behind this gateway does not support this interaction with this resource type.',
      cause: { ...toFailureCause(response), reason }
    })
  }
  return new Failure('BACKEND_ERROR', { cause: { ...toFailureCause(response), reason } })
}

/** The same failure for unknown, deleted and foreign records. */
export function notFound (): Failure {
  return new Failure('NOT_FOUND')
}

/** The facts about a response that the log may contain: its status and HAPI's error codes, but none of its text. */
export function toFailureCause ({ status, body }: BackendResponse): { status: number, code?: string } {
  const codes = body.match(/HAPI-\d{4}/g)
  return codes === null ? { status } : { status, code: codes.join(' ') }
}
