import pLimit from 'p-limit'
import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { getCapabilities } from '../capabilities.js'
import { sendRequest, toFailureCause, type TenantContext } from '../tenant-context.js'
import { isTypeServed, toServedTypes } from '../served-types.js'
import { countMatches } from '../reads/count-matches.js'
import { restrict, strictHandling } from '../restrict.js'
import { requireBundle } from '../reads/backend-bundle.js'
import type { ExportSelection, ExportPosition } from './position.js'
import { buildSearches, type Conditions, type TypeSearch } from './searches.js'

/** The context in which an export is planned. */
interface ExportContext {
  readonly context: TenantContext
  /** When the export was requested, ISO 8601. */
  readonly requestedAt: string
  readonly pause: (ms: number) => Promise<unknown>
}

/** Finds out, before anything is exported, the datastore's clock, its native export, and the number of records. */
export async function planExport (
  exportContext: ExportContext,
  requested: ExportSelection,
  members: readonly string[] | undefined
): Promise<ExportPosition> {
  const { context } = exportContext
  const served = toServedTypes(await getCapabilities(context.backend, request => sendRequest(context, request)))
  const asOf = await fetchClock(exportContext)
  const types = await filterServed(context, requested.types, served.tenant)
  const narrowed = buildSearches(requested, types, { members })
  const counted = await mapWithLimit(narrowed, search => countRecords(context, search, requested.since))
  const unnarrowedTypes = members === undefined ? [] : reportTypesNotSearchedByPatient(context, requested, counted)
  const searches = buildSearches(requested, types, { members, unnarrowedTypes })
  const counts = await mapWithLimit(searches, async (search, at) => requireCounted(
    unnarrowedTypes.includes(search.type) ? await countRecords(context, search, requested.since) : counted[at]!
  ))
  const isExact = requested.level === 'system' && searches.every(search => search.searches.length === 1)
  return {
    asOf,
    ...(isExact && !counts.includes(undefined) && { total: counts.reduce<number>((sum, count) => sum + count!, 0) }),
    types: searches.filter((_, at) => counts[at] !== 0).map(({ type }) => type),
    ...(unnarrowedTypes.length > 0 && { unnarrowedTypes }),
    ...(served.hasExport && { own: { file: 0, lines: 0, begun: 0 } }),
    walked: 0
  }
}

const countedAtOnce = 4

async function mapWithLimit<T, R> (items: readonly T[], work: (item: T, at: number) => Promise<R>): Promise<R[]> {
  const atOnce = pLimit(countedAtOnce)
  return await Promise.all(items.map((item, at) => atOnce(() => work(item, at))))
}

/**
 * Those of the types that the datastore serves. A server may serve types that its CapabilityStatement leaves out, and
 * an export without their records would look complete, so such a type is tried.
 */
async function filterServed (
  context: TenantContext,
  types: readonly string[],
  stated: readonly string[]
): Promise<readonly string[]> {
  const isServed = await mapWithLimit(types, async type =>
    stated.includes(type) ||
    isTypeServed(await sendCountRequest(context, type, { since: undefined, conditions: [] }))
  )
  return types.filter((_, at) => isServed[at])
}

/** The types that the datastore can't search by patient. All their records are read, and those of others left out. */
function reportTypesNotSearchedByPatient (
  context: TenantContext,
  { filters = {} }: ExportSelection,
  counted: ReadonlyArray<SearchCount | RefusedSearch>
): readonly string[] {
  return counted.flatMap(result => {
    if (!('response' in result)) return []
    const { type, parameter, response } = result
    // The client's own filter may be the cause; the search without the patients finds out.
    if (parameter !== undefined && !Object.hasOwn(filters, type)) {
      const reason = `records of type ${type} can't be searched by ${parameter}, so each is looked at`
      context.onError(new Failure('NOT_IMPLEMENTED', { cause: { ...toFailureCause(response), reason } }))
    }
    return [type]
  })
}

/** How many records match at most; undefined where the datastore does not count them. */
interface SearchCount { readonly count: number | undefined }

/** A search that the datastore rejected, with the last of its conditions. */
interface RefusedSearch {
  readonly type: string
  readonly parameter: string | undefined
  readonly response: BackendResponse
}

/** @throws {Failure} BAD_REQUEST for a search that the datastore rejected */
function requireCounted (result: SearchCount | RefusedSearch): number | undefined {
  if (!('response' in result)) return result.count
  throw new Failure('BAD_REQUEST', {
    message: `The datastore rejected the search for records of type ${result.type}. Correct _typeFilter.`,
    cause: toFailureCause(result.response)
  })
}

const isRefusedSearch = ({ status }: BackendResponse): boolean => [400, 405, 422].includes(status)

/**
 * The time by the datastore's clock, in whole seconds as in HTTP's Date. It waits for a moment after the request, so
 * that what was stored before the request is before this time too.
 */
async function fetchClock ({ context, requestedAt, pause }: ExportContext): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const response = await sendCountRequest(context, 'Patient', {
      since: undefined,
      conditions: [['_id', 'clinigate-clock']]
    })
    const time = Date.parse(String(response.headers.date))
    if (Number.isNaN(time)) return requestedAt
    const behindMs = Date.parse(requestedAt) - time
    // A clock that is further behind is another clock.
    if (attempt === maxLooks || behindMs <= 0 || behindMs > 2_000) return new Date(time).toISOString()
    // By one clock, its next second is so far away.
    await pause(10 + (behindMs < 1_000 ? 1_000 - behindMs : behindMs))
  }
}

const maxLooks = 4

async function countRecords (
  context: TenantContext,
  { type, searches }: TypeSearch,
  since: string | undefined
): Promise<SearchCount | RefusedSearch> {
  let count = 0
  for (const conditions of searches) {
    const response = await sendCountRequest(context, type, { since, conditions })
    if (isRefusedSearch(response)) return { type, parameter: conditions.at(-1)?.[0], response }
    const found = requireBundle(response, 'the records of an export were not counted')
    const total =
      found.total ??
      (await countMatches(
        context,
        type,
        since === undefined ? conditions : [...conditions, ['_lastUpdated', `ge${since}`]]
      ))
    if (total === undefined) return { count: undefined }
    count += total
  }
  return { count }
}

function sendCountRequest (
  context: TenantContext,
  type: string,
  { since, conditions }: { readonly since: string | undefined; readonly conditions: Conditions }
): Promise<BackendResponse> {
  const parameters: Conditions = [
    ...conditions,
    ...(since === undefined ? [] : [['_lastUpdated', `ge${since}`] as const])
  ]
  return sendRequest(context, {
    ...restrict({ type, parameters, count: 0, total: 'accurate' }, context.tenant),
    headers: { 'cache-control': 'no-cache', ...strictHandling }
  })
}
