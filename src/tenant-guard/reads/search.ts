import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { hashFilters, invalidCursor, type CursorContents } from '../cursor.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Search, SearchParameter } from '../interaction.js'
import { isTenantType } from '../../fhir/resource-types.js'
import { restrict, strictHandling } from '../restrict.js'
import {
  parseCheckedJson,
  getCursorBinding,
  mayRead,
  sendRequest,
  verifyAndRememberOwned,
  type TenantContext
} from '../tenant-context.js'
import { applyElements, toProjectionParameters } from './apply-elements.js'
import {
  formatBundle,
  isMatch,
  listRecordReferences,
  parseOutlinedJson,
  parseBundle,
  requireBundle,
  type BackendBundle,
  type BackendBundleEntry
} from './backend-bundle.js'
import { resolveChains } from './chaining.js'
import { resolveCompartment } from './compartment-conditions.js'
import { countMatches } from './count-matches.js'
import {
  getIncludedElements, formatInclude, parseInclude, formatClosedTypesNote, filterReadableIncludes, findTruncatedIncludes
} from './includes.js'
import { reportForeignMatches, searchOwn } from './own-matches.js'
import { fetchNextPage, buildLinkUrl, toPageLinks, listSearchPaths, sealNextPage } from './pages.js'
import { rejectedSearch, requireFollowable } from './require-searchable.js'

const defaultCount = 20

/** One page of a search, as a Bundle with the included records. */
export async function fhirSearch (context: TenantContext, request: Search): Promise<FhirResponse> {
  const opened = openCursor(context, request)
  const page = await findPage(context, request, { opened, form: asBundle })
  const { bundle, own, response, total, includes, closedTypes, cursor } = page
  const links = toPageLinks(buildSelfUrl(context, request), `${context.fhirBase}/${request.type}`, cursor)
  const note = buildNote(bundle, includes, closedTypes)
  return {
    status: 200,
    body: formatBundle(context, bundle, { type: 'searchset', response, total, links, note, shown: own }),
    shown: () => listRecordReferences(own)
  }
}

/** How a page is read. */
export interface Form {
  readonly read: typeof applyElements
  readonly rejected: (response: BackendResponse, parameters: readonly SearchParameter[]) => Failure
}

const asBundle: Form = { read: applyElements, rejected: rejectedSearch }

/** A page of which every shown entry is the tenant's. */
export interface OwnPage extends Pick<ReceivedPage, 'bundle' | 'own'> {
  readonly response: Pick<BackendResponse, 'body' | 'bytes'>
  readonly total?: number | undefined
  /** The includes of the search, as its parameters. */
  readonly includes: readonly SearchParameter[]
  /** The types to which includes would lead, but that the key may not read. */
  readonly closedTypes?: readonly string[] | undefined
  readonly cursor?: string | undefined
}

/** One page: the first by a new search, the others by the datastore's own links, which only sealed cursors carry. */
export async function findPage (
  context: TenantContext,
  request: Search,
  { opened, form }: { readonly opened: CursorContents | undefined; readonly form: Form }
): Promise<OwnPage> {
  if (opened !== undefined) {
    const { elements, ways: includes } = opened
    const { type } = request
    const page = readPage(context, await fetchNextPage(context, opened), { type, form, elements, includes })
    reportForeignMatches(context, type, page.foreign)
    return await toOwnPage(context, request, { ...opened, ...page })
  }
  const { type, count = defaultCount } = request
  const { followed: includes, closedTypes } = filterReadableIncludes(context, request.includes ?? [])
  requireFollowable(context, includes)
  const further = await resolveFurtherConditions(context, request)
  if (further === undefined) return { bundle: nothing, own: [], response: { body: '' }, total: 0, includes: [] }
  const found = await searchOwn(context, {
    type,
    parameters: [...request.parameters, ...further],
    run: parameters => fetchFirstPage(context, { ...request, includes, parameters, count }, form),
    countForeign: ({ foreign }) => foreign,
    isComplete: ({ bundle }) => bundle.next === undefined && includes.length === 0
  })
  return await toOwnPage(context, { ...request, includes }, { ...found, closedTypes })
}

const nothing = parseBundle({ resourceType: 'Bundle', type: 'searchset' })!

/**
 * The content of a request's cursor; undefined without one. In raw FHIR the `_count` next to it may be larger: it is a
 * maximum there.
 * @throws {Failure} INVALID_CURSOR for the cursor of another search
 */
export function openCursor (context: TenantContext, request: Search): CursorContents | undefined {
  const { cursor, parameters, conditions = [], count, route } = request
  if (cursor === undefined) return undefined
  const opened = context.cursors.open(cursor, getCursorBinding(context, request))
  const requested = [...parameters, ...conditions]
  const contradicts =
    (requested.length > 0 && hashFilters(requested) !== opened.filters) ||
    (count !== undefined && (route === 'fhir' ? count < opened.count : count !== opened.count))
  if (contradicts) throw invalidCursor()
  return opened
}

/** A page as received, and facts about its search that the page before has provided. */
type ReceivedPage = Pick<CursorContents, 'count'> & Partial<CursorContents> & {
  readonly response: BackendResponse
  readonly bundle: BackendBundle
  /** The entries of the bundle that are the tenant's. */
  readonly own: readonly BackendBundleEntry[]
  /** How many matches are not the tenant's. */
  readonly foreign: number
  /** Of a first page, which need not hold all matches; undefined where the client did not request their number. */
  readonly countAll?: () => Promise<number | undefined>
}

async function fetchFirstPage (
  context: TenantContext,
  request: Search & { readonly count: number },
  form: Form
): Promise<ReceivedPage> {
  const { type, parameters, count, total, includes = [] } = request
  const elements = collectElements(request)
  // Bundles are requested whole, because HAPI would apply `_elements` to its response, which is a Bundle too.
  const requested = type === 'Bundle' ? undefined : elements
  const shape = [
    ...includes.map(formatInclude),
    ...toProjectionParameters({ elements: requested, summary: request.shape?.summary })
  ]
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const response = await sendRequest(context, {
    ...restrict({ type, parameters, count, total, shape }, context.tenant),
    headers: { 'cache-control': 'no-cache', ...strictHandling }
  })
  if ([400, 405, 422].includes(response.status)) throw form.rejected(response, parameters)
  const conditions = parameters.filter(([name]) => name !== '_sort')
  const countAll = async () =>
    total === 'accurate' || count === 0 ? await countMatches(context, type, conditions) : undefined
  const page = readPage(context, response, { type, form, elements, includes })
  return { ...page, count, countAll, ...elements !== undefined && { elements } }
}

function readPage (
  context: TenantContext,
  received: BackendResponse,
  { type, form, elements, includes = [] }: Pick<ReceivedPage, 'elements'> & {
    readonly type: string
    readonly form: Form
    readonly includes?: readonly unknown[] | undefined
  }
): Pick<ReceivedPage, 'response' | 'bundle' | 'own' | 'foreign'> {
  // Where records are included, the references to them are counted.
  const check = includes.length === 0 ? parseOutlinedJson : parseCheckedJson
  const { response, parse } = form.read(received, { type, elements, of: 'matches', check })
  const bundle = requireBundle(response, 'a search was not answered', { parse })
  const own = filterOwnEntries(context, type, bundle.entries)
  return { response, bundle, own, foreign: bundle.matches.length - own.filter(isMatch).length }
}

async function toOwnPage (
  context: TenantContext,
  request: Search,
  { response, bundle, own, foreign, count, countAll, ...before }: ReceivedPage
): Promise<OwnPage> {
  const { type } = request
  const { closedTypes = [] } = before
  // A total that counts another tenant's records would reveal them.
  const isOwn = foreign === 0
  const counted = isOwn ? bundle.total : undefined
  const isAll = count > 0 && bundle.next === undefined
  // A number that could not be had on the first page is on no later one.
  const later = before.total ?? (request.total === 'accurate' ? undefined : counted)
  const matches = bundle.matches.length - foreign
  const total =
    countAll === undefined ? later : counted ?? (isAll ? matches : isOwn ? await countAll() : undefined)
  const includes = before.ways ?? (request.includes ?? []).map(formatInclude)
  const buildContents = () => ({
    count,
    filters: before.filters ?? hashFilters(request.parameters),
    ...(total !== undefined && { total }),
    ...(includes.length > 0 && { ways: includes }),
    ...(before.elements !== undefined && { elements: before.elements }),
    ...(closedTypes.length > 0 && { closedTypes })
  })
  const cursor = sealNextPage(context, response, {
    next: bundle.next,
    paths: listSearchPaths(type),
    binding: getCursorBinding(context, request),
    buildContents
  })
  return { bundle, own, response, total, includes, closedTypes, cursor }
}

/** The conditions of a compartment and of joins; undefined when nothing can match. */
async function resolveFurtherConditions (
  context: TenantContext, request: Search
): Promise<SearchParameter[] | undefined> {
  const within = await resolveCompartment(context, request)
  const joined = within && (await resolveChains(context, request.type, request.joins ?? []))
  return joined && [...within, ...joined]
}

/** The requested elements, and the references that are followed, so that they can be counted. */
function collectElements ({ shape, includes = [] }: Search): string | undefined {
  if (shape?.elements === undefined) return undefined
  const followed = includes.flatMap(({ type: from, parameter }) => getIncludedElements(from, parameter))
  return [...new Set([shape.elements, ...followed])].join(',')
}

/** Matches must be the tenant's; included records of others are silently left out, and so are notes of the server. */
function filterOwnEntries (
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
      mayRead(context, included) &&
      verifyAndRememberOwned(context, entry.resource, { type: included }) !== undefined
    )
  })
}

/** The warnings that included records are or may be missing. */
function buildNote (
  bundle: BackendBundle,
  includes: readonly SearchParameter[],
  closedTypes: readonly string[] = []
): string | undefined {
  const notes = [formatClosedTypesNote(closedTypes), formatTruncationNote(bundle, includes)].filter(
    note => note !== undefined
  )
  return notes.length === 0 ? undefined : notes.join(' ')
}

function formatTruncationNote (bundle: BackendBundle, includes: readonly SearchParameter[]): string | undefined {
  if (includes.length === 0) return undefined
  const cut = findTruncatedIncludes(bundle, includes.map(parseInclude))
  if (cut.length === 0) return undefined
  return `There may be more records than this page includes by ${cut.map(include => formatInclude(include).join('=')).join(', ')}. Request fewer records per page with _count, or search for them.`
}

function buildSelfUrl ({ fhirBase }: TenantContext, { type, within, requested = [] }: Search): string {
  const path = within === undefined ? type : `${within.type}/${within.id}/${type}`
  return buildLinkUrl(`${fhirBase}/${path}`, requested)
}
