import type { BackendResponse } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import type { CursorContents } from '../cursor.js'
import { countMatches } from './count-matches.js'
import { compartmentConditions } from './compartment-conditions.js'
import { sendRequest, failureCause, cursorBinding, verifyAndRememberOwned, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-answer.js'
import type { FhirSearch, Projection } from '../fhir-interaction.js'
import { truncatedIncludes } from './truncated-includes.js'
import { includedElements } from './followed-references.js'
import { parseInclude, formatInclude } from './include-format.js'
import { bundleText, parseBackendBundle, namesIn, type BackendBundle, type BackendBundleEntry } from './backend-bundle.js'
import type { Search, SearchParameter } from '../interaction.js'
import { resolveChains } from './chaining.js'
import { reportForeign, searchOwn } from './own-matches.js'
import { searchPaths } from './page-link.js'
import { isTenantType } from '../resource-types.js'
import { restrict, strictHandling } from '../restrict.js'
import { linkUrl, nextPage, pageLinks } from './page-links.js'

const defaultCount = 20

/** A FHIR search: matches and included records, only the tenant's own. */
export async function fhirSearch (door: TenantContext, asked: FhirSearch): Promise<FhirResponse> {
  if (asked.cursor !== undefined) {
    const { answer, opened } = await nextPage(door, asked.cursor, cursorBinding(door, { route, type: asked.type }))
    const given = requireBundle(answer)
    reportForeign(door, asked.type, matchesIn(given))
    return await shownPage(door, asked, { ...opened, answer, given })
  }
  const count = asked.count ?? defaultCount
  const further = await furtherConditions(door, asked)
  if (further === undefined) return { status: 200, body: bundleText(door, nothing, { type: 'searchset', total: 0, links: [{ relation: 'self', url: selfUrl(door, asked) }], shown: [] }) }
  const conditions = [...asked.parameters, ...further]
  const run = (parameters: readonly SearchParameter[]) => firstPage(door, asked, { parameters, count })
  return await shownPage(door, asked, await searchOwn(door, { type: asked.type, parameters: conditions, run, matchesIn: ({ given }) => matchesIn(given), isWhole: ({ given }) => given.next === undefined && asked.includes.length === 0 }))
}

async function firstPage (door: TenantContext, asked: FhirSearch, { parameters, count }: Pick<Search, 'parameters'> & { readonly count: number }): Promise<GivenPage> {
  const shape = [...asked.includes.map(formatInclude), ...shapeParameters(shapeOf(asked))]
  const request = restrict({ type: asked.type, parameters, count, total: asked.total, shape }, door.tenant)
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const answer = await sendRequest(door, { ...request, headers: { 'cache-control': 'no-cache', ...strictHandling } })
  if ([400, 405, 422].includes(answer.status)) throw rejectedSearch(answer, parameters)
  const isCountWanted = asked.total === 'accurate' || count === 0
  const countAll = async () => isCountWanted ? await countMatches(door, asked.type, parameters.filter(([name]) => name !== '_sort')) : undefined
  return { answer, given: requireBundle(answer), count, countAll }
}

/** Why a datastore rejected a search. HAPI answers 405 for a modifier that its configuration turns off, which is `:contains` by default. */
function rejectedSearch (answer: BackendResponse, parameters: readonly SearchParameter[]): Failure {
  const name = answer.status === 405 ? parameters.find(([name]) => name.endsWith(':contains'))?.[0] : undefined
  const message = name === undefined
    ? 'The datastore rejected a parameter of this search or its value.'
    : `${name}: the datastore's configuration turns :contains off. Search by the beginning of the text, without a modifier, or by :exact.`
  return new Failure('BAD_REQUEST', { message, ...name !== undefined && { issues: [{ severity: 'error', code: 'not-supported', diagnostics: message, expression: [name] }] }, cause: failureCause(answer) })
}

function requireBundle (answer: BackendResponse): BackendBundle {
  const given = parseBackendBundle(answer, 'searchset')
  if (given === undefined) throw unexpectedResponse(answer, 'a search was not answered')
  return given
}

const matchesIn = ({ entries }: BackendBundle): readonly unknown[] => entries.filter(isMatch).map(({ resource }) => resource)

/** What a compartment and joins come to; undefined when nothing can match. */
async function furtherConditions (door: TenantContext, asked: FhirSearch): Promise<SearchParameter[] | undefined> {
  const within = await compartmentConditions(door, asked)
  const joined = within && await resolveChains(door, asked.type, asked.joins)
  return joined && [...within, ...joined]
}

/**
 * Bundles are requested whole, because HAPI would apply `_elements` to its answer, which is a Bundle too. The references that
 * are followed are requested as well, so that they can be counted.
 */
function shapeOf ({ type, shape, includes }: FhirSearch): Projection | undefined {
  if (shape?.elements === undefined) return shape
  if (type === 'Bundle') return { ...shape.summary !== undefined && { summary: shape.summary } }
  const followed = includes.flatMap(({ type: from, parameter }) => includedElements(from, parameter))
  return { ...shape, elements: [...new Set([shape.elements, ...followed])].join(',') }
}

const nothing = { entries: [], total: 0, next: undefined, isCut: false, text: '', isEntryLast: false }

const route = 'fhir'

/** An answer, and what is known of its search from the page before. */
type GivenPage = Pick<CursorContents, 'count'> & Partial<CursorContents> & {
  readonly answer: BackendResponse
  readonly given: BackendBundle
  /** Of a first page, which need not hold all matches; undefined where nobody asked for their number. */
  readonly countAll?: () => Promise<number | undefined>
}

async function shownPage (door: TenantContext, asked: FhirSearch, { answer, given, count, countAll, ...before }: GivenPage): Promise<FhirResponse> {
  const shown = ownEntries(door, asked.type, given.entries)
  // A total that counts another tenant's records would reveal them.
  const own = shown.filter(isMatch).length
  const isOwn = own === given.entries.filter(isMatch).length
  const isAll = countAll !== undefined && count > 0 && given.next === undefined
  const counted = isOwn ? given.total : undefined
  const total = before.total ?? counted ?? (isAll ? own : isOwn ? await countAll?.() : undefined)
  const ways = before.ways ?? asked.includes.map(formatInclude)
  const links = pageLinks(door, answer, selfUrl(door, asked), {
    next: given.next,
    paths: searchPaths(asked.type),
    place: cursorBinding(door, { route, type: asked.type }),
    contents: { count, ...total !== undefined && { total }, ...ways.length > 0 && { ways } },
    url: `${door.fhirBase}/${asked.type}`
  })
  return { status: 200, body: bundleText(door, given, { type: 'searchset', total, links, note: noteOf(given, ways), shown }), shown: () => namesIn(shown) }
}

/** What tells a client that included records may be missing. */
function noteOf ({ entries, isCut }: BackendBundle, ways: readonly SearchParameter[]): string | undefined {
  if (ways.length === 0) return undefined
  const ofMode = (mode: string) => entries.filter(entry => modeOf(entry) === mode).map(({ resource }) => resource)
  const cut = truncatedIncludes({ matches: ofMode('match'), included: ofMode('include'), isCut }, ways.map(parseInclude))
  if (cut.length === 0) return undefined
  return `There may be more records than this page includes by ${cut.map(way => formatInclude(way).join('=')).join(', ')}. Request fewer records per page with _count, or search for them.`
}

const modeOf = ({ search }: BackendBundleEntry): unknown => search?.mode ?? 'match'

const isMatch = (entry: BackendBundleEntry): boolean => modeOf(entry) === 'match'

/** Matches must be the tenant's; included records of others are silently left out, and so are notes of the server. */
function ownEntries (door: TenantContext, type: string, entries: readonly BackendBundleEntry[]): BackendBundleEntry[] {
  return entries.filter(entry => {
    if (isMatch(entry)) return verifyAndRememberOwned(door, entry.resource, { type }) !== undefined
    const along = (entry.resource as { resourceType?: unknown } | undefined)?.resourceType
    return entry.search?.mode === 'include' && typeof along === 'string' && isTenantType(along) && verifyAndRememberOwned(door, entry.resource, { type: along }) !== undefined
  })
}

function selfUrl ({ fhirBase }: TenantContext, { type, within, asked }: FhirSearch): string {
  const path = within === undefined ? type : `${within.type}/${within.id}/${type}`
  return linkUrl(`${fhirBase}/${path}`, asked)
}

/** The parameters of a shape; the meta, which the check of the answer needs, is asked for in any case. */
export function shapeParameters ({ elements, summary }: Projection = {}): SearchParameter[] {
  return [
    ...elements === undefined ? [] : [['_elements', `${elements},id,meta`] as const],
    ...summary === undefined ? [] : [['_summary', summary] as const]
  ]
}
