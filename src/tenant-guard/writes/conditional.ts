import { setTimeout as pause } from 'node:timers/promises'
import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { printJson } from '../../json/json.js'
import type { StoredResource } from '../../mappings/fhir.js'
import {
  sendRequest,
  parseJson,
  notFound,
  verifyAndRememberOwned,
  reportIncident,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type {
  ConditionalCreate,
  ConditionalDelete,
  ConditionalPatch,
  ConditionalUpdate
} from '../interaction.js'
import { requireSearchable } from '../reads/require-searchable.js'
import { withStoredResource, type StoredResponse } from './stored-resource.js'
import { fhirUpdate, toWriteResponse } from './fhir-writes.js'
import { fhirPatch } from './patch.js'
import { requireMutable } from '../policy.js'
import { encodeTenantCriteria } from '../restrict.js'
import { sendWrite } from './send-write.js'
import { withCriteriaLock } from './criteria-lock.js'
import { findSingleMutableMatch, findSingleMatch } from './single-match.js'
import {
  uncertainOutcomeMessage,
  toCreateFailure,
  remove,
  createRequest,
  sendCreate,
  update,
  preferRepresentation,
  toWriteResult,
  toWritten,
  type Written
} from './writes.js'

/** How often a write is tried when another one with the same criteria interferes. */
const maxTries = 6
const tryAgainMs = 50
const settleMs = 250

/** A new record, unless one of the tenant's meets the criteria: then that one, unchanged. */
export async function conditionalCreate (context: TenantContext, request: ConditionalCreate): Promise<FhirResponse> {
  const made = await withCriteriaLock(context, request.criteria, () => makeOrFind(context, request))
  return toWriteResponse(context, made, made.isMade ? 201 : 200)
}

/** The new record, or the one of the tenant's that meets the criteria. */
async function makeOrFind (
  context: TenantContext,
  { type, resource, criteria }: Omit<ConditionalCreate, 'kind'>
): Promise<Written & { readonly isMade: boolean }> {
  requireSearchable(context, type, criteria.parameters)
  const checked = await createRequest(context, { type, resource })
  const condition = encodeTenantCriteria(criteria, context.tenant)
  for (let attempt = 1; ; attempt++) {
    const response = await sendCreate(context, { type, resource: checked.resource }, condition)
    if (response.status === 412 || isForeign(context, response, type)) {
      return await findOrMake(context, { type, criteria, resource: checked.resource })
    }
    if (response.status === 201 || response.status === 200) {
      return toMadeOrFound(context, response, { type, resource: checked.resource })
    }
    // While the first is being stored, HAPI refuses the others instead of returning it.
    if (response.status !== 409 || attempt === maxTries) {
      throw await toCreateFailure(context, response, { ...checked, hasCriteria: true })
    }
    await pause(tryAgainMs * attempt)
  }
}

/** A record that was found is not compared with what was sent: it stays as it was. */
function toMadeOrFound (
  context: TenantContext,
  response: StoredResponse,
  { type, resource }: Omit<ConditionalCreate, 'kind' | 'criteria'>
): Written & { readonly isMade: boolean } {
  const written = { kind: 'conditional-create', type } as const
  return response.status === 201
    ? { ...toWritten(context, response, { ...written, sent: resource }), isMade: true }
    : { record: toWriteResult(context, response, written), response, warnings: [], isMade: false }
}

/** Whether the datastore found a record that is not the tenant's. */
function isForeign (context: TenantContext, response: BackendResponse, type: string): boolean {
  if (
    response.status !== 200 ||
    verifyAndRememberOwned(context, parseJson(response, uncertainOutcomeMessage), { type }) !== undefined
  ) { return false }
  reportIncident(context, { kind: 'foreign-match', interaction: 'conditional-create', type, records: 1 })
  return true
}

/** The same for a datastore that finds several records, or one of another tenant: only the tenant's own count. */
async function findOrMake (
  context: TenantContext,
  { type, criteria, resource }: Omit<ConditionalCreate, 'kind'>
): Promise<Written & { readonly isMade: boolean }> {
  const found = await findSingleMatch(context, criteria)
  const received = found === undefined
    ? await sendWrite(context, {
      request: { method: 'POST', path: type, headers: preferRepresentation, body: printJson(resource) },
      changes: [{ kind: 'created', type }]
    })
    : await sendRequest(context, { method: 'GET', path: `${type}/${found.id}` })
  const response = await withStoredResource(context, received, { type })
  if (response.status !== 201 && (found === undefined || response.status !== 200)) {
    throw unexpectedResponse(response, 'a conditional create was not answered')
  }
  return toMadeOrFound(context, response, { type, resource })
}

/**
 * An update of the one record that meets the criteria, or a new record where none does. A new record never gets a
 * client's id, so a resource that comes with an id and meets nothing is not found.
 */
export async function conditionalUpdate (context: TenantContext, request: ConditionalUpdate): Promise<FhirResponse> {
  return await withCriteriaLock(context, request.criteria, () => updateOrCreate(context, request))
}

async function updateOrCreate (context: TenantContext, request: ConditionalUpdate): Promise<FhirResponse> {
  for (let attempt = 1; ; attempt++) {
    const found = await findSingleMutableMatch(context, request.criteria)
    const response =
      found === undefined ? await updateOfNone(context, request) : await updateFound(context, request, found)
    if (response !== undefined) return response
    if (attempt === maxTries) throw new Failure('CONFLICT')
    await pause(tryAgainMs * attempt)
  }
}

async function updateFound (
  context: TenantContext,
  { type, resource, version }: ConditionalUpdate,
  found: StoredResource
): Promise<FhirResponse> {
  if (resource.id !== undefined && resource.id !== found.id) {
    throw new Failure('BAD_REQUEST', { message: otherId })
  }
  return await fhirUpdate(context, {
    kind: 'update',
    type,
    id: found.id,
    resource,
    ...(version !== undefined && { version })
  })
}

/**
 * A new record where none met the criteria. When another request made one in the meantime, that one is changed, if it
 * is still as that request left it: otherwise it is unknown whether it meets the criteria.
 * @returns undefined when it is not, and nothing was done
 */
async function updateOfNone (
  context: TenantContext,
  { type, resource, criteria, version }: ConditionalUpdate
): Promise<FhirResponse | undefined> {
  if (version !== undefined) throw new Failure('PRECONDITION_FAILED')
  if (resource.id !== undefined) throw noMatchForId()
  const made = await makeOrFind(context, { type, resource, criteria })
  const { record, isMade } = made
  if (isMade) return toWriteResponse(context, made, 201)
  context.onMatch?.(record.id)
  requireMutable(type, record.id)
  // Other gateways may still be making theirs: HAPI refuses them while this record is as it was made.
  await pause(settleMs)
  try {
    return toWriteResponse(
      context,
      await update(context, { type, id: record.id, resource, version: record.meta.versionId })
    )
  } catch (error) {
    if (error instanceof Failure && (error.code === 'CONFLICT' || error.code === 'NOT_FOUND')) return undefined
    throw error
  }
}

/** For an update whose resource has another id than the record that its criteria lead to. */
export const otherId = 'id: leave out the id, or send that of the matching record.'

/** For an update whose resource has an id while nothing meets its criteria. */
export const noMatchForId = (): Failure =>
  new Failure('NOT_FOUND', {
    message: 'id: no record matches the criteria, and a new one gets its id from the datastore. Leave out the id.'
  })

/** A patch of the one record that meets the criteria. */
export async function conditionalPatch (
  context: TenantContext,
  { type, patch, criteria, version }: ConditionalPatch
): Promise<FhirResponse> {
  const found = await findSingleMutableMatch(context, criteria)
  if (found === undefined) throw notFound()
  return await fhirPatch(context, {
    kind: 'patch',
    type,
    id: found.id,
    patch,
    ...(version !== undefined && { version })
  })
}

/** Deletes the one record that meets the criteria; it is no failure if none does, unless a version is required. */
export async function conditionalDelete (
  context: TenantContext,
  { type, criteria, version }: ConditionalDelete
): Promise<FhirResponse> {
  const found = await findSingleMutableMatch(context, criteria)
  if (found === undefined && version !== undefined) throw new Failure('PRECONDITION_FAILED')
  if (found !== undefined) {
    await remove(context, { kind: 'delete', type, id: found.id, ...(version !== undefined && { version }) })
  }
  return { status: 204 }
}
