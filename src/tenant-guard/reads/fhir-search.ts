import type { BackendAnswer } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import type { CursorContents } from '../cursor.js'
import { countApart } from './count-apart.js'
import { conditionsWithin } from './compartment.js'
import { ask, causeOf, cursorPlace, ownRecordIn, unexpected, type Door } from '../door.js'
import type { FhirAnswer } from '../fhir-answer.js'
import type { FhirSearch, Shape } from '../fhir-interaction.js'
import { cutAlong } from './cut-along.js'
import { elementsFollowed } from './followed-references.js'
import { followingIn, followingText } from './following-text.js'
import { bundleText, givenBundle, namesIn, type GivenBundle, type GivenEntry } from './given-bundle.js'
import type { Search, SearchParameter } from '../interaction.js'
import { withoutJoins } from './joins.js'
import { reportForeign, searchOwn } from './own-matches.js'
import { searchPaths } from './page-link.js'
import { isTenantType } from '../resource-types.js'
import { restrict, strictly } from '../restrict.js'
import { addressOf, continuedPage, pageLinks } from './sealed-link.js'

const defaultCount = 20

/** A FHIR search: matches and included records, only the tenant's own. */
export async function fhirSearch (door: Door, asked: FhirSearch): Promise<FhirAnswer> {
  if (asked.cursor !== undefined) {
    const { answer, opened } = await continuedPage(door, asked.cursor, cursorPlace(door, { route, type: asked.type }))
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

async function firstPage (door: Door, asked: FhirSearch, { parameters, count }: Pick<Search, 'parameters'> & { readonly count: number }): Promise<GivenPage> {
  const shape = [...asked.includes.map(followingText), ...shapeParameters(shapeOf(asked))]
  const request = restrict({ type: asked.type, parameters, count, total: asked.total, shape }, door.tenant)
  // Without this, HAPI repeats an earlier result for a minute, without records stored since.
  const answer = await ask(door, { ...request, headers: { 'cache-control': 'no-cache', ...strictly } })
  if ([400, 405, 422].includes(answer.status)) throw rejectedSearch(answer, parameters)
  const isCountWanted = asked.total === 'accurate' || count === 0
  const countAll = async () => isCountWanted ? await countApart(door, asked.type, parameters.filter(([name]) => name !== '_sort')) : undefined
  return { answer, given: requireBundle(answer), count, countAll }
}

/** Why a datastore rejected a search. HAPI answers 405 for a modifier that its configuration turns off, which is `:contains` by default. */
function rejectedSearch (answer: BackendAnswer, parameters: readonly SearchParameter[]): Failure {
  const name = answer.status === 405 ? parameters.find(([name]) => name.endsWith(':contains'))?.[0] : undefined
  const message = name === undefined
    ? 'The datastore rejected a parameter of this search or its value.'
    : `${name}: the datastore's configuration turns :contains off. Search by the beginning of the text, without a modifier, or by :exact.`
  return new Failure('BAD_REQUEST', { message, ...name !== undefined && { issues: [{ severity: 'error', code: 'not-supported', diagnostics: message, expression: [name] }] }, cause: causeOf(answer) })
}

function requireBundle (answer: BackendAnswer): GivenBundle {
  const given = givenBundle(answer, 'searchset')
  if (given === undefined) throw unexpected(answer, 'a search was not answered')
  return given
}

const matchesIn = ({ entries }: GivenBundle): readonly unknown[] => entries.filter(isMatch).map(({ resource }) => resource)

/** What a compartment and joins come to; undefined when nothing can match. */
async function furtherConditions (door: Door, asked: FhirSearch): Promise<SearchParameter[] | undefined> {
  const within = await conditionsWithin(door, asked)
  const joined = within && await withoutJoins(door, asked.type, asked.joins)
  return joined && [...within, ...joined]
}

/**
 * Bundles are requested whole, because HAPI would apply `_elements` to its answer, which is a Bundle too. The references that
 * are followed are requested as well, so that they can be counted.
 */
function shapeOf ({ type, shape, includes }: FhirSearch): Shape | undefined {
  if (shape?.elements === undefined) return shape
  if (type === 'Bundle') return { ...shape.summary !== undefined && { summary: shape.summary } }
  const followed = includes.flatMap(({ type: from, parameter }) => elementsFollowed(from, parameter))
  return { ...shape, elements: [...new Set([shape.elements, ...followed])].join(',') }
}

const nothing = { entries: [], total: 0, next: undefined, isCut: false, text: '', isEntryLast: false }

const route = 'fhir'

/** An answer, and what is known of its search from the page before. */
type GivenPage = Pick<CursorContents, 'count'> & Partial<CursorContents> & {
  readonly answer: BackendAnswer
  readonly given: GivenBundle
  /** Of a first page, which need not hold all matches; undefined where nobody asked for their number. */
  readonly countAll?: () => Promise<number | undefined>
}

async function shownPage (door: Door, asked: FhirSearch, { answer, given, count, countAll, ...before }: GivenPage): Promise<FhirAnswer> {
  const shown = ownEntries(door, asked.type, given.entries)
  // A total that counts another tenant's records would reveal them.
  const own = shown.filter(isMatch).length
  const isOwn = own === given.entries.filter(isMatch).length
  const isAll = countAll !== undefined && count > 0 && given.next === undefined
  const counted = isOwn ? given.total : undefined
  const total = before.total ?? counted ?? (isAll ? own : isOwn ? await countAll?.() : undefined)
  const ways = before.ways ?? asked.includes.map(followingText)
  const links = pageLinks(door, answer, selfUrl(door, asked), {
    next: given.next,
    paths: searchPaths(asked.type),
    place: cursorPlace(door, { route, type: asked.type }),
    contents: { count, ...total !== undefined && { total }, ...ways.length > 0 && { ways } },
    url: `${door.fhirBase}/${asked.type}`
  })
  return { status: 200, body: bundleText(door, given, { type: 'searchset', total, links, note: noteOf(given, ways), shown }), shown: () => namesIn(shown) }
}

/** What tells a client that included records may be missing. */
function noteOf ({ entries, isCut }: GivenBundle, ways: readonly SearchParameter[]): string | undefined {
  if (ways.length === 0) return undefined
  const ofMode = (mode: string) => entries.filter(entry => modeOf(entry) === mode).map(({ resource }) => resource)
  const cut = cutAlong({ matches: ofMode('match'), included: ofMode('include'), isCut }, ways.map(followingIn))
  if (cut.length === 0) return undefined
  return `There may be more records than this page includes by ${cut.map(way => followingText(way).join('=')).join(', ')}. Request fewer records per page with _count, or search for them.`
}

const modeOf = ({ search }: GivenEntry): unknown => search?.mode ?? 'match'

const isMatch = (entry: GivenEntry): boolean => modeOf(entry) === 'match'

/** Matches must be the tenant's; included records of others are silently left out, and so are notes of the server. */
function ownEntries (door: Door, type: string, entries: readonly GivenEntry[]): GivenEntry[] {
  return entries.filter(entry => {
    if (isMatch(entry)) return ownRecordIn(door, entry.resource, { type }) !== undefined
    const along = (entry.resource as { resourceType?: unknown } | undefined)?.resourceType
    return entry.search?.mode === 'include' && typeof along === 'string' && isTenantType(along) && ownRecordIn(door, entry.resource, { type: along }) !== undefined
  })
}

function selfUrl ({ fhirBase }: Door, { type, within, asked }: FhirSearch): string {
  const path = within === undefined ? type : `${within.type}/${within.id}/${type}`
  return addressOf(`${fhirBase}/${path}`, asked)
}

/** The parameters of a shape; the meta, which the check of the answer needs, is asked for in any case. */
export function shapeParameters ({ elements, summary }: Shape = {}): SearchParameter[] {
  return [
    ...elements === undefined ? [] : [['_elements', `${elements},id,meta`] as const],
    ...summary === undefined ? [] : [['_summary', summary] as const]
  ]
}
