import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { sendRequest, toFailureCause, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import type { Criteria } from '../interaction.js'
import { getIdentityElements, toSinglePageCacheControl, restrict, strictHandling } from '../restrict.js'
import { requireMutable } from '../policy.js'
import { countForeignIn, searchOwn } from '../reads/own-matches.js'
import { requireBundle, type BackendBundle } from '../reads/backend-bundle.js'

/** One more than may be. */
const maxMatches = 2

/**
 * The one record of the tenant's that meets criteria, by its identity and version; undefined when none does. The
 * criteria go no further than this search: the write that follows names the record by its id.
 * @throws {Failure} PRECONDITION_FAILED when several do, BAD_REQUEST for criteria that the datastore does not take
 */
export async function findSingleMatch (
  context: TenantContext,
  { type, parameters }: Criteria
): Promise<StoredResource | undefined> {
  const found = await searchOwn(context, {
    type,
    parameters,
    run: all => searchMatches(context, { type, parameters: all }),
    countForeign: ({ matches }) => countForeignIn(context, type, matches),
    isComplete: ({ matches }) => matches.length < maxMatches
  })
  const own = found.matches
    .map(match => verifyAndRememberOwned(context, match, { type }))
    .filter(record => record !== undefined)
  if (own.length > 1) throw multipleMatches()
  return own[0]
}

async function searchMatches (context: TenantContext, { type, parameters }: Criteria): Promise<BackendBundle> {
  const search = restrict(
    { type, parameters, count: maxMatches, total: 'none', shape: getIdentityElements(type) },
    context.tenant
  )
  const response = await sendRequest(context, {
    ...search,
    headers: { 'cache-control': toSinglePageCacheControl(maxMatches), ...strictHandling }
  })
  if ([400, 405, 422].includes(response.status)) {
    throw new Failure('BAD_REQUEST', {
      message: 'The datastore does not take these criteria.',
      cause: toFailureCause(response)
    })
  }
  return requireBundle(response, 'a search by criteria was not answered')
}

/**
 * The one record of the tenant's that meets criteria and is to be changed.
 * @throws {Failure} as {@link findSingleMatch}, and METHOD_NOT_ALLOWED for what no tenant may change
 */
export async function findSingleMutableMatch (
  context: TenantContext,
  criteria: Criteria
): Promise<StoredResource | undefined> {
  const found = await findSingleMatch(context, criteria)
  if (found === undefined) return undefined
  context.onMatch?.(found.id)
  requireMutable(criteria.type, found.id)
  return found
}

/**
 * Criteria that more than one record meets. Its code differs from that of a version that has changed, after which a
 * client tries again.
 */
function multipleMatches (): Failure {
  const message = 'Several records match the criteria. Narrow them, or use the id of the record.'
  return new Failure('PRECONDITION_FAILED', {
    message,
    issues: [{ severity: 'error', code: 'multiple-matches', diagnostics: message }]
  })
}
