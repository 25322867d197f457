import { Failure } from '../../envelope/failures.js'
import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import type { ChainedCondition, SearchParameter } from '../interaction.js'
import { mapConcurrently } from '../map-concurrently.js'
import { getIdentityElements, toSinglePageCacheControl, restrict, strictHandling } from '../restrict.js'
import { getIncludedElements, countReferencesTo } from './includes.js'
import { countForeignIn, searchOwn } from './own-matches.js'
import { requireBundle, type BackendBundle } from './backend-bundle.js'
import { rejectedSearch } from './require-searchable.js'

/**
 * A first phase that finds this many records or follows this many references is refused: the second could not name them
 * all.
 */
const maxFound = 1_000

/**
 * Joins as plain conditions on the records of a type. Each is resolved by a search among the tenant's own records
 * first, because a datastore follows a reference to any tenant; that the reference and its condition hold for one and
 * the same record needs no tag in the second phase.
 * @returns undefined when nothing can match
 * @throws {Failure} BAD_REQUEST when one of them leads over too many records or references
 */
export async function resolveChains (
  context: TenantContext,
  type: string,
  joins: readonly ChainedCondition[]
): Promise<readonly SearchParameter[] | undefined> {
  if (joins.length === 0) return []
  const conditions = await mapConcurrently(joins, join =>
    join.direction === 'chain' ? resolveChain(context, join) : resolveReverseChain(context, type, join)
  )
  return conditions.every(condition => condition !== undefined) ? conditions : undefined
}

/** `subject:Patient.name=x` as `subject=Patient/1,Patient/2`. */
async function resolveChain (
  context: TenantContext,
  { types, reference, condition }: ChainedCondition
): Promise<SearchParameter | undefined> {
  const found = await Promise.all(
    types.map(async type => (await findMatchingIds(context, type, condition)).map(id => `${type}/${id}`))
  )
  const records = found.flat()
  requireFewMatches(records.length)
  return records.length === 0 ? undefined : [reference, records.join(',')]
}

/**
 * The ids of the tenant's records of a type that match a condition.
 * @throws {Failure} BAD_REQUEST when they are too many to be named
 */
export async function findMatchingIds (
  context: TenantContext,
  type: string,
  condition: SearchParameter
): Promise<string[]> {
  const { matches } = await searchFirstPhase(context, {
    type,
    condition,
    shape: getIdentityElements(type),
    cacheControl: toSinglePageCacheControl(maxFound)
  })
  return matches.map(match => verifyAndRememberOwned(context, match, { type })?.id).filter(id => id !== undefined)
}

/** `_has:Observation:patient:code=x` as `_id=1,2`: the datastore itself says where the references lead. */
async function resolveReverseChain (
  context: TenantContext,
  type: string,
  { types, reference, condition }: ChainedCondition
): Promise<SearchParameter | undefined> {
  const from = types[0]!
  const elements = getIncludedElements(from, reference)
  const shape: readonly SearchParameter[] = [
    ['_include', `${from}:${reference}:${type}`],
    ...getIdentityElements(from, elements)
  ]
  // With no-store, HAPI would leave out included records.
  const { matches, included, isCut } = await searchFirstPhase(context, {
    type: from,
    condition,
    shape,
    cacheControl: 'no-cache',
    isWithIncludes: true
  })
  // HAPI follows at most a thousand references, several of which may lead to one record, and does not say when there
  // are more.
  const followed = matches.reduce<number>((sum, match) => sum + countReferencesTo(type, match, elements), 0)
  requireFewMatches(isCut ? maxFound : Math.max(matches.length, included.length, followed))
  const ids = included.map(item => verifyAndRememberOwned(context, item, { type })?.id).filter(id => id !== undefined)
  return ids.length === 0 ? undefined : ['_id', ids.join(',')]
}

/** The first phase of a join. */
interface FirstPhase {
  readonly type: string
  readonly condition: SearchParameter
  readonly shape: readonly SearchParameter[]
  readonly cacheControl: string
  readonly isWithIncludes?: boolean
}

async function searchFirstPhase (
  context: TenantContext,
  { type, condition, shape, cacheControl, isWithIncludes = false }: FirstPhase
): Promise<BackendBundle> {
  const run = (parameters: readonly SearchParameter[]) =>
    sendFirstPhase(
      context,
      restrict({ type, parameters, count: maxFound, total: 'none', shape }, context.tenant),
      { cacheControl, conditions: [condition] }
    )
  const found = await searchOwn(context, {
    type,
    parameters: [condition],
    run,
    countForeign: ({ matches }) => countForeignIn(context, type, matches),
    isComplete: ({ matches }) => !isWithIncludes && matches.length < maxFound
  })
  requireFewMatches(
    found.next === undefined
      ? found.matches.filter(match => verifyAndRememberOwned(context, match, { type }) !== undefined).length
      : maxFound
  )
  return found
}

async function sendFirstPhase (
  context: TenantContext,
  search: ReturnType<typeof restrict>,
  { cacheControl, conditions }: { readonly cacheControl: string, readonly conditions: readonly SearchParameter[] }
): Promise<BackendBundle> {
  const response = await sendRequest(context, {
    ...search,
    headers: { 'cache-control': cacheControl, ...strictHandling }
  })
  if ([400, 405, 422].includes(response.status)) {
    throw rejectedSearch(response, conditions)
  }
  return requireBundle(response, 'the first phase of a joined search was not answered')
}

/** @throws {Failure} BAD_REQUEST, with what to do */
export function requireFewMatches (
  found: number,
  message = `A chain or _has can lead over at most ${maxFound - 1} records and references. Narrow its condition, or search in two steps.`
): void {
  if (found < maxFound) return
  throw new Failure('BAD_REQUEST', {
    message,
    issues: [{ severity: 'error', code: 'too-costly', diagnostics: message }]
  })
}
