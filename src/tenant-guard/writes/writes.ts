import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { printJson } from '../../json/json.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { sendRequest, failureCause, jsonOf, notFound, verifyAndRememberOwned, ownershipScope, reportIncident, unexpectedResponse, type TenantContext, type Incident } from '../tenant-context.js'
import type { Create, Delete, Update } from '../interaction.js'
import type { FhirUpdate } from '../fhir-interaction.js'
import { filterOwned } from '../fetch-owned.js'
import { forgetAndNotFound, readMeta } from '../reads/read-record.js'
import { withStoredResource } from './stored-resource.js'
import { rejection } from './rejection.js'
import { collectReferences, ReferenceFailure, recordsOf } from './references.js'
import { isId } from '../resource-types.js'
import { withIdempotencyTag, tagForTenant } from './stamp.js'

export const preferRepresentation = { prefer: 'return=representation' }
export const uncertainOutcomeMessage = 'Before you repeat the change, check whether it was made.'

/** A record as it was stored, and the datastore's answer. */
export interface Written { readonly record: StoredResource, readonly answer: BackendResponse }

/** Stores a new record under an id that the datastore chooses. */
export async function create (door: TenantContext, { type, resource }: Omit<Create, 'kind'>): Promise<Written> {
  const checked = await createRequest(door, { type, resource })
  const answer = await withStoredResource(door, await sendRequest(door, { method: 'POST', path: type, headers: preferRepresentation, body: printJson(checked.resource) }), { type })
  if (answer.status === 201) return { record: toWriteResult(door, answer, { kind: 'create', type }), answer }
  throw await notCreated(door, answer, checked)
}

/** A resource as it goes into the datastore for the first time: without the client's id, stamped, its references checked. */
export async function createRequest (door: TenantContext, { type, resource }: Omit<Create, 'kind'>, mark?: Parameters<typeof withIdempotencyTag>[2]): Promise<Checked> {
  const { id: _, ...content } = resource
  return await demandOwnReferences(door, withIdempotencyTag(stamped(door, type, content as FhirResource), door.tenant, mark))
}

/** Why a create was not performed. */
export async function notCreated (door: TenantContext, answer: BackendResponse, checked: Checked): Promise<Failure> {
  if ([400, 409, 412, 422].includes(answer.status)) return await refusal(door, answer, checked)
  return unexpectedResponse(answer, 'a create was not answered')
}

/** What is replaced. Only `version`, if given, may be: the one that was read, or the client's If-Match. */
type Replacement = Omit<FhirUpdate, 'kind'> & Pick<Update, 'before'>

/**
 * Replaces a record of the tenant's. HAPI would create one that does not exist, hence the look-up, which costs nothing after a
 * read. A deleted record has another version, so with a version it cannot come back.
 * @throws {Failure} CONFLICT when another version is stored
 */
export async function update (door: TenantContext, { type, id, resource, version, before }: Replacement): Promise<Written> {
  const record = `${type}/${id}`
  if (!(await filterOwned(door, [record])).has(record)) throw notFound()
  if (version !== undefined && !isId(version)) throw new Failure('CONFLICT')
  const body = stamped(door, type, { ...resource, id }, before)
  const checked = await demandOwnReferences(door, body)
  const headers = { ...preferRepresentation, ...version !== undefined && { 'if-match': `W/"${version}"` } }
  const answer = await withStoredResource(door, await sendRequest(door, { method: 'PUT', path: record, headers, body: printJson(body) }), { type, id })
  if (answer.status === 200) return { record: toWriteResult(door, answer, { kind: 'update', type, id }), answer }
  if (answer.status === 201) return { record: broughtBack(door, answer, { type, id, version }), answer }
  if (answer.status === 404 || answer.status === 410) throw forgetAndNotFound(door, record)
  if (answer.status === 409 || answer.status === 412) throw new Failure('CONFLICT', { cause: failureCause(answer) })
  if (answer.status === 400 || answer.status === 422) throw await refusal(door, answer, checked)
  throw unexpectedResponse(answer, 'an update was not answered')
}

/**
 * A record of the tenant's that another gateway deleted since this one saw it, stored anew under its id. With a version
 * that can't be: then the datastore made a record that was not there.
 */
function broughtBack (door: TenantContext, answer: BackendResponse, { type, id, version }: Omit<Replacement, 'resource'>): StoredResource {
  if (version !== undefined) throw created(door, type)
  return toWriteResult(door, answer, { kind: 'update', type, id })
}

/** Deletes the tenant's record if it still has the version that the client means. */
export async function remove (door: TenantContext, { type, id, version }: Delete): Promise<void> {
  const record = `${type}/${id}`
  const stored = await readMeta(door, type, id)
  if (version !== undefined && version !== stored.meta.versionId) throw new Failure('PRECONDITION_FAILED')
  door.ownership.forget(ownershipScope(door), record)
  // HAPI ignores If-Match here; other servers close the gap between the check and the delete.
  const answer = await sendRequest(door, { method: 'DELETE', path: record, ...version !== undefined && { headers: { 'if-match': `W/"${version}"` } } })
  if (answer.status === 404 || answer.status === 410) throw notFound()
  if (answer.status === 409) throw new Failure('CONFLICT', { message: 'Other records still refer to this one. Delete or change them first.', cause: failureCause(answer) })
  if (answer.status === 412) throw new Failure('PRECONDITION_FAILED', { cause: failureCause(answer) })
  if (answer.status >= 300) throw unexpectedResponse(answer, 'a delete was not answered')
}

function stamped (door: TenantContext, type: string, ...[resource, before]: readonly [FhirResource, FhirResource?]): FhirResource {
  if (resource.resourceType !== type) throw new Error('a resource is written where another type belongs')
  return tagForTenant(resource, door.tenant, before)
}

/** A resource whose references were checked. */
interface Checked {
  readonly resource: FhirResource
  /** Records that it refers to, believed to be the tenant's without asking. */
  readonly believed: readonly string[]
  /** Whether it is made unless some record meets criteria; a datastore may demand that it meets them itself. */
  readonly hasCriteria?: true
}

async function demandOwnReferences (door: TenantContext, resource: FhirResource, cause?: unknown): Promise<Checked> {
  const links = collectReferences(resource, [door.backend.baseUrl], door.fhirBase)
  const records = recordsOf(links)
  const believed = [...records].filter(record => door.ownership.isKnown(ownershipScope(door), record))
  const owned = await filterOwned(door, records)
  const refused = links.filter(({ record }) => record === undefined || !owned.has(record))
  if (refused.length > 0) throw new ReferenceFailure(refused, cause)
  return { resource, believed }
}

/** Why a datastore refused a write. Records that were believed to be there may have been deleted through another gateway, so they are looked up again. */
async function refusal (door: TenantContext, answer: BackendResponse, { resource, believed, hasCriteria }: Checked): Promise<Failure> {
  for (const record of believed) door.ownership.forget(ownershipScope(door), record)
  await demandOwnReferences(door, resource, failureCause(answer))
  if (answer.status === 409 || answer.status === 412) return new Failure('CONFLICT', { cause: failureCause(answer) })
  return rejection(failureCause(answer), { hasCriteria })
}

/** The stored record in the answer to a write. The write is done, whatever the answer holds. */
export function toWriteResult (door: TenantContext, answer: BackendResponse, { kind, type, id }: { kind: Incident['interaction'], type: string, id?: string }): StoredResource {
  const record = verifyAndRememberOwned(door, jsonOf(answer, uncertainOutcomeMessage), { type, id })
  if (record !== undefined) return record
  reportIncident(door, { kind: 'foreign-answer', interaction: kind, type, records: 1 })
  throw new Failure('INTERNAL_ERROR', { message: uncertainOutcomeMessage, cause: { ...failureCause(answer), reason: 'the answer to a write is not the tenant\'s record' } })
}

function created (door: TenantContext, type: string): Failure {
  reportIncident(door, { kind: 'created-by-update', interaction: 'update', type, records: 1 })
  return new Failure('INTERNAL_ERROR', { message: uncertainOutcomeMessage, cause: { reason: 'an update made a record that was not there' } })
}
