import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { findReferencePath, findSearchParameter } from '../../mappings/r4/search-parameters.js'
import {
  sendRequest, toFailureCause, mayRead, notFound, verifyAndRememberOwned, type TenantContext
} from '../tenant-context.js'
import type { Include, RelatedRead } from '../interaction.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { restrict } from '../restrict.js'
import { requireFollowable } from './require-searchable.js'
import { findTruncatedIncludes, formatInclude, filterReadableIncludes } from './includes.js'
import { reportForeign } from './own-matches.js'
import { requireBundle } from './backend-bundle.js'

/** A record and those one reference away, the tenant's own only and each once. */
export interface Related {
  readonly record: StoredResource
  readonly related: readonly StoredResource[]
  /** The types of which records may be missing. */
  readonly cutTypes: ReadonlySet<string>
  /** The types that the includes would lead to, but that the key may not read. */
  readonly closedTypes: readonly string[]
}

const maxIncludes = 60

/** Reads a record and the records that are one reference away from it, in one search. */
export async function readRelated (context: TenantContext, request: RelatedRead): Promise<Related> {
  const { type, id, includes: requested } = request
  requireKnown(type, requested)
  const { followed: includes, closedTypes } = filterReadableIncludes(context, requested)
  requireFollowable(context, includes)
  const search = restrict(
    { type, parameters: [['_id', id]], count: 1, total: 'accurate', shape: includes.map(formatInclude) },
    context.tenant
  )
  // With no-store, HAPI would leave out included records; without both, it repeats an earlier result for a minute.
  const response = await sendRequest(context, { ...search, headers: { 'cache-control': 'no-cache' } })
  if ([400, 405, 422].includes(response.status)) {
    throw new Failure('BAD_REQUEST', {
      message: 'The datastore does not support following one of these references.',
      cause: toFailureCause(response)
    })
  }
  const found = requireBundle(response, 'a read with related records was not answered')
  const record = found.matches
    .map(match => verifyAndRememberOwned(context, match, { type, id }))
    .find(match => match !== undefined)
  reportForeign(context, type, found.matches)
  if (record === undefined) throw notFound()
  const cutTypes = new Set(findTruncatedIncludes(found, includes).flatMap(getTargetTypes))
  return { record, related: filterOwn(context, found.included, record), cutTypes, closedTypes }
}

function requireKnown (type: string, includes: readonly Include[]): void {
  const isKnown = (include: Include): boolean =>
    isTenantType(include.type) &&
    findReferencePath(include.type, include.parameter) !== undefined &&
    (include.direction === 'revinclude' || include.type === type) &&
    (include.target === undefined || isTenantType(include.target))
  if (includes.length > maxIncludes || !includes.every(isKnown)) {
    throw new Failure('BAD_REQUEST', {
      message: `Name at most ${maxIncludes} R4 reference search parameters, as Type:parameter.`
    })
  }
}

/** Records of other tenants, or of none, were included only because of a reference, so they are silently left out. */
function filterOwn (context: TenantContext, included: readonly unknown[], record: StoredResource): StoredResource[] {
  const own = included
    .filter(item => isTenantType(getType(item)) && mayRead(context, getType(item)))
    .map(item => verifyAndRememberOwned(context, item, { type: getType(item) }))
    .filter(item => item !== undefined)
  const once = new Map(own.map(item => [`${item.resourceType}/${item.id}`, item]))
  once.delete(`${record.resourceType}/${record.id}`)
  return [...once.values()]
}

/** The types of the records on a way; `Resource` where it may lead to any. */
function getTargetTypes ({ direction, type, parameter, target }: Include): readonly string[] {
  if (direction === 'revinclude') return [type]
  return target === undefined ? findSearchParameter(type, parameter)?.targets ?? ['Resource'] : [target]
}

function getType (resource: unknown): string {
  const { resourceType } = (resource ?? {}) as { resourceType?: unknown }
  return typeof resourceType === 'string' ? resourceType : ''
}
