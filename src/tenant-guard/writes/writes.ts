import type { BackendResponse } from '../../backends/backend.js'
import { Failure, type Issue } from '../../envelope/failures.js'
import { toEntityTag } from '../../envelope/preconditions.js'
import { printJson } from '../../json/json.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import {
  toFailureCause, parseJson, notFound, verifyAndRememberOwned, getOwnershipScope, reportIncident, unexpectedResponse,
  type TenantContext, type Incident
} from '../tenant-context.js'
import type { Create, Delete, Update } from '../interaction.js'
import { filterOwned } from '../reads/fetch-owned.js'
import { forgetAndNotFound, readMeta } from '../reads/read-record.js'
import { findReferrers, toIssues } from './referrers.js'
import { warnAboutDifferences } from './stored-differences.js'
import { withStoredResource, type StoredResponse } from './stored-resource.js'
import { rejection, sendWrite } from './send-write.js'
import { collectReferences, ReferenceFailure, collectRecords } from './references.js'
import { isId } from '../../fhir/names.js'
import { withIdempotencyTag, tagForTenant } from './tag-record.js'

export const preferRepresentation = { prefer: 'return=representation' }
export const uncertainOutcomeMessage = 'Before you repeat the change, check whether it was made.'

/** A record as it was stored. */
export interface WrittenRecord {
  readonly record: StoredResource
  /** One for each part that the datastore stored differently than it was sent. */
  readonly warnings: readonly Issue[]
}

/** The same with the datastore's response. */
export interface Written extends WrittenRecord { readonly response: BackendResponse }

/** Stores a new record under an id that the datastore chooses. */
export async function create (context: TenantContext, { type, resource }: Omit<Create, 'kind'>): Promise<Written> {
  const checked = await createRequest(context, { type, resource })
  const response = await sendCreate(context, { type, resource: checked.resource })
  if (response.status === 201) return toWritten(context, response, { kind: 'create', type, sent: checked.resource })
  throw await toCreateFailure(context, response, checked)
}

/**
 * Sends a new resource to be stored, unless a record meets the criteria, where there are some: then the response has
 * that one. The response has the record also where the datastore leaves it out.
 */
export async function sendCreate (
  context: TenantContext, { type, resource }: Pick<Create, 'type' | 'resource'>, criteria?: string
): Promise<StoredResponse> {
  const headers = { ...preferRepresentation, ...criteria !== undefined && { 'if-none-exist': criteria } }
  const response = await sendWrite(context, {
    request: { method: 'POST', path: type, headers, body: printJson(resource) },
    changes: [{ kind: 'created', type }]
  })
  return await withStoredResource(context, response, { type })
}

/**
 * A new resource as it is sent to the datastore: without the client's id, with the tenant's tag, its references
 * checked.
 */
export async function createRequest (
  context: TenantContext,
  { type, resource }: Omit<Create, 'kind'>,
  idempotencyTag?: Parameters<typeof withIdempotencyTag>[2]
): Promise<Checked> {
  const { id: _, ...content } = resource
  return await requireOwnReferences(
    context,
    withIdempotencyTag(tagResource(context, type, content as FhirResource), context.tenant, idempotencyTag)
  )
}

const notCreatedText =
  'The datastore did not create the record: another write came in between, or it cannot index a value, such as a number of more than 17 digits. Send it once more; if that fails too, change the value.'

/** Why a create was not performed. */
export async function toCreateFailure (
  context: TenantContext,
  response: BackendResponse,
  checked: Checked
): Promise<Failure> {
  if ([400, 409, 412, 422].includes(response.status)) return await toWriteFailure(context, response, checked)
  return unexpectedResponse(response, 'a create was not answered')
}

/** A full update. Only `version`, if present, may be replaced: the one that was read, or the client's If-Match. */
type Replacement = Omit<Update, 'kind'> & Pick<Update, 'before'>

/**
 * Replaces a record of the tenant's. HAPI would create one that does not exist, hence the look-up, which costs nothing
 * after a read. A deleted record has another version, so with a version it cannot come back.
 * @throws {Failure} CONFLICT when another version is stored
 */
export async function update (
  context: TenantContext,
  { type, id, resource, version, before }: Replacement
): Promise<Written> {
  const record = `${type}/${id}`
  if (!(await filterOwned(context, [record])).has(record)) throw notFound()
  if (version !== undefined && !isId(version)) throw new Failure('CONFLICT')
  const body = tagResource(context, type, { ...resource, id }, before)
  const checked = await requireOwnReferences(context, body)
  const headers = { ...preferRepresentation, ...(version !== undefined && { 'if-match': toEntityTag(version) }) }
  const response = await withStoredResource(
    context,
    await sendWrite(context, {
      request: { method: 'PUT', path: record, headers, body: printJson(body) },
      changes: [{ kind: 'updated', type, id, ...version !== undefined && { before: version } }]
    }),
    { type, id }
  )
  // 201 is for a record of the tenant's that another gateway deleted since this one saw it, stored again under its id.
  // With a version that can't be: then the datastore made a record that was not there.
  if (response.status === 201 && version !== undefined) throw reportCreatedByUpdate(context, type)
  if (response.status === 200 || response.status === 201) {
    return toWritten(context, response, { kind: 'update', type, id, sent: body })
  }
  if (response.status === 404 || response.status === 410) throw forgetAndNotFound(context, record)
  if (response.status === 409 || response.status === 412) {
    throw new Failure('CONFLICT', { cause: toFailureCause(response) })
  }
  if (response.status === 400 || response.status === 422) throw await toWriteFailure(context, response, checked)
  throw unexpectedResponse(response, 'an update was not answered')
}

/**
 * Deletes the tenant's record if it still has the version that the client means.
 * @throws {Failure} CONFLICT, which lists the tenant's records that refer to it, where the request says so
 */
export async function remove (context: TenantContext, request: Delete): Promise<void> {
  const { type, id, version } = request
  const record = `${type}/${id}`
  const stored = await readMeta(context, type, id)
  if (version !== undefined && version !== stored.meta.versionId) throw new Failure('PRECONDITION_FAILED')
  context.ownership.forget(getOwnershipScope(context), record)
  // HAPI ignores If-Match here; other servers close the gap between the check and the delete.
  const condition = version !== undefined && { headers: { 'if-match': toEntityTag(version) } }
  const response = await sendWrite(context, {
    request: { method: 'DELETE', path: record, ...condition },
    changes: [{ kind: 'deleted', type, id }]
  })
  if (response.status === 404 || response.status === 410) throw notFound()
  if (response.status === 409) throw await toReferredFailure(context, request, response)
  if (response.status === 412) throw new Failure('PRECONDITION_FAILED', { cause: toFailureCause(response) })
  if (response.status >= 300) throw unexpectedResponse(response, 'a delete was not answered')
}

async function toReferredFailure (
  context: TenantContext,
  { type, id, listsReferrers = false }: Delete,
  response: BackendResponse
): Promise<Failure> {
  const message = 'Other records still refer to this one. Delete or change them first.'
  const cause = toFailureCause(response)
  // Where the search for them fails, it stays true that the record cannot be deleted.
  const details = listsReferrers ? await findReferrers(context, `${type}/${id}`).catch(ignoreFailure) : undefined
  if (details === undefined) return new Failure('CONFLICT', { message, cause })
  return new Failure('CONFLICT', { message, cause, details, issues: toIssues(details) })
}

function ignoreFailure (error: unknown): undefined {
  if (!(error instanceof Failure)) throw error
  return undefined
}

function tagResource (
  context: TenantContext,
  type: string,
  ...[resource, before]: readonly [FhirResource, FhirResource?]
): FhirResource {
  if (resource.resourceType !== type) throw new Error('a resource is written where another type belongs')
  return tagForTenant(resource, context.tenant, before)
}

/** A resource whose references were checked. */
interface Checked {
  readonly resource: FhirResource
  /** Records that it refers to, taken for the tenant's without a look-up. */
  readonly believed: readonly string[]
  /** Whether it is created unless a record meets criteria; a datastore may require that it meets them itself. */
  readonly hasCriteria?: true
}

async function requireOwnReferences (
  context: TenantContext,
  resource: FhirResource,
  cause?: unknown
): Promise<Checked> {
  const links = collectReferences(resource, [context.backend.baseUrl], context.fhirBase)
  const records = collectRecords(links)
  const believed = [...records].filter(record => context.ownership.isKnown(getOwnershipScope(context), record))
  const owned = await filterOwned(context, records)
  const refused = links.filter(({ record }) => record === undefined || !owned.has(record))
  if (refused.length > 0) throw new ReferenceFailure(refused, cause)
  return { resource, believed }
}

/**
 * Why a datastore refused a write. Records that were believed to be there may have been deleted through another
 * gateway, so they are looked up again.
 */
async function toWriteFailure (
  context: TenantContext,
  response: BackendResponse,
  { resource, believed, hasCriteria }: Checked
): Promise<Failure> {
  for (const record of believed) context.ownership.forget(getOwnershipScope(context), record)
  await requireOwnReferences(context, resource, toFailureCause(response))
  if (response.status === 409 || response.status === 412) {
    const cause = toFailureCause(response)
    // A new record has no version to read again. HAPI responds so where its index has no room for a value.
    return new Failure('CONFLICT', { cause, ...(hasCriteria !== true && { message: notCreatedText }) })
  }
  return rejection(toFailureCause(response), { hasCriteria })
}

/** The result of a write that sent a resource. @throws {Failure} as {@link toWriteResult} */
export function toWritten (
  context: TenantContext,
  response: StoredResponse,
  { sent, ...written }: Parameters<typeof toWriteResult>[2] & { readonly sent: FhirResource }
): Written {
  const record = toWriteResult(context, response, written)
  // What was read afterwards may be a later version.
  const warnings = response.isLatest === true ? [] : warnAboutDifferences(context, sent, { record })
  return { record, response, warnings }
}

/** The stored record in the response to a write. The write is done, even if the response is not readable. */
export function toWriteResult (
  context: TenantContext,
  response: BackendResponse,
  { kind, type, id }: { kind: Incident['interaction']; type: string; id?: string }
): StoredResource {
  const record = verifyAndRememberOwned(context, parseJson(response, uncertainOutcomeMessage), { type, id })
  if (record !== undefined) return record
  reportIncident(context, { kind: 'foreign-response', interaction: kind, type, records: 1 })
  throw new Failure('INTERNAL_ERROR', {
    message: uncertainOutcomeMessage,
    cause: { ...toFailureCause(response), reason: "the answer to a write is not the tenant's record" }
  })
}

function reportCreatedByUpdate (context: TenantContext, type: string): Failure {
  reportIncident(context, { kind: 'created-by-update', interaction: 'update', type, records: 1 })
  return new Failure('INTERNAL_ERROR', {
    message: uncertainOutcomeMessage,
    cause: { reason: 'an update made a record that was not there' }
  })
}
