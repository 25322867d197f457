import type { PlannedChange } from '../../events/intent.js'
import { Failure } from '../../envelope/failures.js'
import { toEntityTag, parseEntityTag } from '../../envelope/preconditions.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { notFound, type TenantContext } from '../tenant-context.js'
import type { BundleEntry, ConditionalDelete, ConditionalUpdate, Create, Criteria } from '../interaction.js'
import { noMatchForId, otherId } from '../writes/conditional.js'
import { requireValidVersion } from '../writes/fhir-writes.js'
import { preparePatch } from '../writes/patch.js'
import { encodeTenantCriteria } from '../restrict.js'
import { findSingleMutableMatch } from '../writes/single-match.js'
import { withIdempotencyTag, tagForTenant } from '../writes/tag-record.js'
import { readMeta } from '../reads/read-record.js'

/** One write of a transaction as the gateway sends it to the datastore; nothing is forwarded. */
export interface Write {
  readonly type: string
  /** The record that is written; absent for a new one. */
  readonly id?: string
  /** The text that the datastore replaces in References to the record that this write creates. */
  readonly placeholder?: string
  /** Of a conditional create. */
  readonly criteria?: Criteria
  /** The position of the entry before that creates the same under the same criteria, and is sent for both. */
  readonly sameAs?: number
  readonly resource?: FhirResource
  /** Undefined where there is nothing to do. */
  readonly request:
    | {
      readonly method: 'POST' | 'PUT' | 'DELETE'
      readonly url: string
      readonly ifMatch?: string
      readonly ifNoneExist?: string
    }
    | undefined
  /** Whether the client requires a version. */
  readonly isVersioned: boolean
  /** Whether a record that the datastore finds in place of making this one would have to be changed. */
  readonly isUpdate?: boolean
}

/** The planned change of a write. */
export function toPlannedChange ({ type, id, request }: Write): PlannedChange {
  if (id === undefined) return { kind: 'created', type }
  if (request?.method === 'DELETE') return { kind: 'deleted', type, id }
  const before = parseEntityTag(request?.ifMatch ?? '')
  return { kind: 'updated', type, id, ...before !== undefined && { before } }
}

/**
 * An entry as a write by id, also if it came with criteria or as a patch. @throws {Failure} as the same request alone
 */
export async function prepareWrite (context: TenantContext, { interaction }: BundleEntry): Promise<Write> {
  switch (interaction.kind) {
    case 'create':
      return toCreate(context, interaction)
    case 'conditional-create':
      return toCreate(context, interaction)
    case 'update':
      await requireValidVersion(context, interaction)
      return toUpdate(context, interaction)
    case 'conditional-update':
      return await toUpdateOrCreate(context, interaction)
    case 'patch':
      return await toPatch(context, interaction)
    case 'conditional-patch':
      return await toPatch(context, {
        ...interaction,
        id: ((await findSingleMutableMatch(context, interaction.criteria)) ?? throwNotFound()).id
      })
    case 'delete':
      return await toDelete(context, interaction)
    case 'conditional-delete':
      return await toDeleteFound(context, interaction)
    default:
      throw new Failure('METHOD_NOT_ALLOWED')
  }
}

function toCreate (
  context: TenantContext,
  { type, resource: { id: _, ...content }, criteria }: Pick<Create, 'type' | 'resource'> & Partial<Pick<ConditionalUpdate, 'criteria'>>
): Write {
  const resource = withIdempotencyTag(tagForTenant(content as FhirResource, context.tenant), context.tenant)
  const ifNoneExist = criteria && encodeTenantCriteria(criteria, context.tenant)
  return {
    type,
    resource,
    request: { method: 'POST', url: type, ...(ifNoneExist !== undefined && { ifNoneExist }) },
    ...(criteria && { criteria }),
    isVersioned: false
  }
}

interface Updating {
  readonly type: string
  readonly id: string
  readonly resource: FhirResource
  readonly before?: FhirResource
  readonly version?: string | undefined
}

function toUpdate (context: TenantContext, { type, id, resource, before, version }: Updating): Write {
  const request = {
    method: 'PUT',
    url: `${type}/${id}`,
    ...(version !== undefined && { ifMatch: toEntityTag(version) })
  } as const
  return {
    type,
    id,
    resource: tagForTenant({ ...resource, id }, context.tenant, before),
    request,
    isVersioned: version !== undefined
  }
}

async function toUpdateOrCreate (
  context: TenantContext,
  { type, resource, criteria, version }: ConditionalUpdate
): Promise<Write> {
  const found = await findSingleMutableMatch(context, criteria)
  if (found !== undefined) {
    if (resource.id !== undefined && resource.id !== found.id) {
      throw new Failure('BAD_REQUEST', { message: otherId })
    }
    if (version !== undefined && version !== found.meta.versionId) throw new Failure('PRECONDITION_FAILED')
    return toUpdate(context, { type, id: found.id, resource, version })
  }
  if (version !== undefined) throw new Failure('PRECONDITION_FAILED')
  if (resource.id !== undefined) throw noMatchForId()
  return { ...toCreate(context, { type, resource, criteria }), isUpdate: true }
}

async function toPatch (
  context: TenantContext,
  request: { readonly type: string; readonly id: string; readonly patch: readonly unknown[]; readonly version?: string }
): Promise<Write> {
  const { resource, before } = await preparePatch(context, request)
  return {
    ...toUpdate(context, { ...request, resource, before, version: resource.meta.versionId }),
    isVersioned: request.version !== undefined
  }
}

/** HAPI ignores If-Match on a delete, so the version is checked just before. */
async function toDelete (
  context: TenantContext,
  { type, id, version }: { readonly type: string; readonly id: string; readonly version?: string }
): Promise<Write> {
  if (version !== undefined && (await readMeta(context, type, id)).meta.versionId !== version) {
    throw new Failure('PRECONDITION_FAILED')
  }
  return { type, id, request: { method: 'DELETE', url: `${type}/${id}` }, isVersioned: version !== undefined }
}

async function toDeleteFound (context: TenantContext, { type, criteria, version }: ConditionalDelete): Promise<Write> {
  const found = await findSingleMutableMatch(context, criteria)
  if (found === undefined && version !== undefined) throw new Failure('PRECONDITION_FAILED')
  if (found === undefined) return { type, request: undefined, isVersioned: false }
  return await toDelete(context, { type, id: found.id, ...version !== undefined && { version } })
}

function throwNotFound (): never {
  throw notFound()
}
