import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import type { CursorContents } from '../cursor.js'
import { countMatches } from './count-matches.js'
import { compartmentConditions } from './compartment-conditions.js'
import {
  sendRequest,
  failureCause,
  cursorBinding,
  verifyAndRememberOwned,
  unexpectedResponse,
  type TenantContext
} from '../tenant-context.js'
import type { FhirResponse } from '../fhir-answer.js'
import type { FhirSearch, Projection } from '../fhir-interaction.js'
import { truncatedIncludes } from './truncated-includes.js'
import { applyElements } from './apply-elements.js'
import { includedElements } from './followed-references.js'
import { parseInclude, formatInclude } from './include-format.js'
import {
  bundleText,
  parseBackendBundle,
  namesIn,
  type BackendBundle,
  type BackendBundleEntry
} from './backend-bundle.js'
import type { Search, SearchParameter } from '../interaction.js'
import { resolveChains } from './chaining.js'
import { reportForeign, searchOwn } from './own-matches.js'
import { requireFollowable } from './require-searchable.js'
import { searchPaths } from './page-link.js'
import { isTenantType } from '../resource-types.js'
import { restrict, strictHandling } from '../restrict.js'
import { linkUrl, nextPage, pageLinks } from './page-links.js'

const defaultCount = 20

/** A FHIR search: matches and included records, only the tenant's own. */
export async function fhirSearch (context: TenantContext, request: FhirSearch): Promise<FhirResponse> {
  if (request.cursor !== undefined) {
    const { response: received, opened } = await nextPage(
      context,
      request.cursor,
      cursorBinding(context, { route, type: request.type })
    )
    const response = applyElements(received, { type: request.type, elements: opened.elements, of: 'matches' })
    const bundle = requireBundle(response)
    reportForeign(context, request.type, matchesIn(bundle))
    return await shownPage(context, request, { ...opened, response, bundle })
  }
  requireFollowable(context, request.includes)
  const count = request.count ?? defaultCount
  const further = await furtherConditions(context, request)
  if (further === undefined) {
    return {
      status: 200,
      body: bundleText(context, nothing, {
        type: 'searchset',
        total: 0,
        links: [{ relation: 'self', url: selfUrl(context, request) }],
        shown: []
      })
    }
  }
  const conditions = [...request.parameters, ...further]
  const run = (parameters: readonly SearchParameter[]) => firstPage(context, request, { parameters, count })
  return await shownPage(
    context,
    request,
    await searchOwn(context, {
      type: request.type,
      parameters: conditions,
      run,
      matchesIn: ({ bundle }) => matchesIn(bundle),
      isComplete: ({ bundle }) => bundle.next === undefined && request.includes.length === 0
    })
  )
}

async function firstPage (
  context: TenantContext,
  requested: FhirSearch,
  { parameters, count }: Pick<Search, 'parameters'> & { readonly count: number }
): Promise<ReceivedPage> {
  const shape = [...requested.includes.map(formatInclude), ...shapeParameters(shapeOf(requested))]
  const request = restrict({ type: requested.type, parameters, count, total: requested.total, shape }, context.tenant)
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const elements = elementsOf(requested)
  const received = await sendRequest(context, {
    ...request,
    headers: { 'cache-control': 'no-cache', ...strictHandling }
  })
  const response = applyElements(received, { type: requested.type, elements, of: 'matches' })
  if ([400, 405, 422].includes(response.status)) throw rejectedSearch(response, parameters)
  const needsCount = requested.total === 'accurate' || count === 0
  const countAll = async () =>
    needsCount
      ? await countMatches(
        context,
        requested.type,
        parameters.filter(([name]) => name !== '_sort')
      )
      : undefined
  const bundle = requireBundle(response)
  return { response, bundle, count, countAll, ...(elements !== undefined && { elements }) }
}

/**
 * Why a datastore rejected a search. HAPI responds 405 for a modifier that its configuration turns off, which is
 * `:contains` by default.
 */
function rejectedSearch (response: BackendResponse, parameters: readonly SearchParameter[]): Failure {
  const name = response.status === 405 ? parameters.find(([name]) => name.endsWith(':contains'))?.[0] : undefined
  const message =
    name === undefined
      ? 'The datastore rejected a parameter of this search or its value.'
      : `${name}: the datastore's configuration turns :contains off. Search by the beginning of the text, without a modifier, or by :exact.`
  return new Failure('BAD_REQUEST', {
    message,
    ...(name !== undefined && {
      issues: [{ severity: 'error', code: 'not-supported', diagnostics: message, expression: [name] }]
    }),
    cause: failureCause(response)
  })
}

function requireBundle (response: BackendResponse): BackendBundle {
  const bundle = parseBackendBundle(response, 'searchset')
  if (bundle === undefined) throw unexpectedResponse(response, 'a search was not answered')
  return bundle
}

const matchesIn = ({ entries }: BackendBundle): readonly unknown[] =>
  entries.filter(isMatch).map(({ resource }) => resource)

/** The conditions of a compartment and of joins; undefined when nothing can match. */
async function furtherConditions (context: TenantContext, request: FhirSearch): Promise<SearchParameter[] | undefined> {
  const within = await compartmentConditions(context, request)
  const joined = within && (await resolveChains(context, request.type, request.joins))
  return joined && [...within, ...joined]
}

/** Bundles are requested whole, because HAPI would apply `_elements` to its response, which is a Bundle too. */
function shapeOf (request: FhirSearch): Projection | undefined {
  const { type, shape } = request
  const elements = elementsOf(request)
  if (elements === undefined) return shape
  if (type === 'Bundle') return { ...shape?.summary !== undefined && { summary: shape.summary } }
  return { ...shape, elements }
}

/** The requested elements, and the references that are followed, so that they can be counted. */
function elementsOf ({ shape, includes }: FhirSearch): string | undefined {
  if (shape?.elements === undefined) return undefined
  const followed = includes.flatMap(({ type: from, parameter }) => includedElements(from, parameter))
  return [...new Set([shape.elements, ...followed])].join(',')
}

const nothing = { entries: [], total: 0, next: undefined, isCut: false, text: '', isEntryLast: false }

const route = 'fhir'

/** A response, and what is known of its search from the page before. */
type ReceivedPage = Pick<CursorContents, 'count'> & Partial<CursorContents> & {
  readonly response: BackendResponse
  readonly bundle: BackendBundle
  /** Of a first page, which need not hold all matches; undefined where the client did not request their number. */
  readonly countAll?: () => Promise<number | undefined>
}

async function shownPage (
  context: TenantContext,
  request: FhirSearch,
  { response, bundle, count, countAll, ...before }: ReceivedPage
): Promise<FhirResponse> {
  const shown = ownEntries(context, request.type, bundle.entries)
  // A total that counts another tenant's records would reveal them.
  const own = shown.filter(isMatch).length
  const isOwn = own === bundle.entries.filter(isMatch).length
  const isAll = countAll !== undefined && count > 0 && bundle.next === undefined
  const counted = isOwn ? bundle.total : undefined
  const total = before.total ?? counted ?? (isAll ? own : isOwn ? await countAll?.() : undefined)
  const ways = before.ways ?? request.includes.map(formatInclude)
  const { elements } = before
  const links = pageLinks(context, response, selfUrl(context, request), {
    next: bundle.next,
    paths: searchPaths(request.type),
    binding: cursorBinding(context, { route, type: request.type }),
    contents: {
      count,
      ...(total !== undefined && { total }),
      ...(ways.length > 0 && { ways }),
      ...(elements !== undefined && { elements })
    },
    url: `${context.fhirBase}/${request.type}`
  })
  return {
    status: 200,
    body: bundleText(context, bundle, { type: 'searchset', total, links, note: noteOf(bundle, ways), shown }),
    shown: () => namesIn(shown)
  }
}

/** The warning that included records may be missing. */
function noteOf ({ entries, isCut }: BackendBundle, ways: readonly SearchParameter[]): string | undefined {
  if (ways.length === 0) return undefined
  const ofMode = (mode: string) => entries.filter(entry => modeOf(entry) === mode).map(({ resource }) => resource)
  const cut = truncatedIncludes(
    { matches: ofMode('match'), included: ofMode('include'), isCut },
    ways.map(parseInclude)
  )
  if (cut.length === 0) return undefined
  return `There may be more records than this page includes by ${cut.map(way => formatInclude(way).join('=')).join(', ')}. Request fewer records per page with _count, or search for them.`
}

const modeOf = ({ search }: BackendBundleEntry): unknown => search?.mode ?? 'match'

const isMatch = (entry: BackendBundleEntry): boolean => modeOf(entry) === 'match'

/** Matches must be the tenant's; included records of others are silently left out, and so are notes of the server. */
function ownEntries (
  context: TenantContext,
  type: string,
  entries: readonly BackendBundleEntry[]
): BackendBundleEntry[] {
  return entries.filter(entry => {
    if (isMatch(entry)) return verifyAndRememberOwned(context, entry.resource, { type }) !== undefined
    const included = (entry.resource as { resourceType?: unknown } | undefined)?.resourceType
    return (
      entry.search?.mode === 'include' &&
      typeof included === 'string' &&
      isTenantType(included) &&
      verifyAndRememberOwned(context, entry.resource, { type: included }) !== undefined
    )
  })
}

function selfUrl ({ fhirBase }: TenantContext, { type, within, requested }: FhirSearch): string {
  const path = within === undefined ? type : `${within.type}/${within.id}/${type}`
  return linkUrl(`${fhirBase}/${path}`, requested)
}

/** The parameters of a shape; the meta, which the check of the response needs, is requested in any case. */
export function shapeParameters ({ elements, summary }: Projection = {}): SearchParameter[] {
  return [
    ...elements === undefined ? [] : [['_elements', `${elements},id,meta`] as const],
    ...summary === undefined ? [] : [['_summary', summary] as const]
  ]
}
