import pLimit from 'p-limit'
import type { BackendAnswer } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { capabilitiesOf } from '../capabilities.js'
import { ask, causeOf, jsonOf, unexpected, type Door } from '../door.js'
import { servedBy } from '../served-types.js'
import { countApart } from '../reads/count-apart.js'
import { restrict } from '../restrict.js'
import { searchsetOf } from '../reads/searchset.js'
import type { ExportAsked, ExportPlace } from './place.js'
import { searchesOf, type Conditions, type TypeSearch } from './searches.js'

/** What a survey is made with. */
export interface Surroundings {
  readonly door: Door
  /** When the export was asked for, ISO 8601. */
  readonly askedAt: string
  readonly pause: (ms: number) => Promise<unknown>
}

/** Looks at what there is before anything is exported: the datastore's clock, its native export, and the number of records. */
export async function survey (surroundings: Surroundings, asked: ExportAsked, members: readonly string[] | undefined): Promise<ExportPlace> {
  const { door } = surroundings
  const served = servedBy(await capabilitiesOf(door.backend, request => ask(door, request)))
  const asOf = await clockOf(surroundings)
  const searches = searchesOf(asked, asked.types.filter(type => served.tenant.includes(type)), members)
  const atOnce = pLimit(countedAtOnce)
  const counts = await Promise.all(searches.map(search => atOnce(() => countOf(door, search, asked.since))))
  const isExact = asked.level === 'system' && searches.every(search => search.searches.length === 1)
  return {
    asOf,
    ...isExact && !counts.includes(undefined) && { total: counts.reduce<number>((sum, count) => sum + count!, 0) },
    types: searches.filter((_, at) => counts[at] !== 0).map(({ type }) => type),
    ...served.hasExport && { own: { file: 0, lines: 0, begun: 0 } },
    walked: 0
  }
}

const countedAtOnce = 4

/**
 * The time by the datastore's clock, in whole seconds as HTTP tells it. A moment is waited for that is after the request, so
 * that what was stored before the request is before this time too.
 */
async function clockOf ({ door, askedAt, pause }: Surroundings): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const answer = await counted(door, 'Patient', { since: undefined, conditions: [['_id', 'clinigate-clock']] })
    const time = Date.parse(String(answer.headers.date))
    if (Number.isNaN(time)) return askedAt
    const behindMs = Date.parse(askedAt) - time
    // A clock that is further behind is another clock.
    if (attempt === mostLooks || behindMs <= 0 || behindMs > 2_000) return new Date(time).toISOString()
    // By one clock, its next second is so far away.
    await pause(10 + (behindMs < 1_000 ? 1_000 - behindMs : behindMs))
  }
}

const mostLooks = 4

/** How many records match at most; undefined where the datastore does not count them. */
async function countOf (door: Door, { type, searches }: TypeSearch, since: string | undefined): Promise<number | undefined> {
  let count = 0
  for (const conditions of searches) {
    const answer = await counted(door, type, { since, conditions })
    if ([400, 405, 422].includes(answer.status)) throw new Failure('BAD_REQUEST', { message: `The datastore rejected the search for records of type ${type}. Correct _typeFilter.`, cause: causeOf(answer) })
    const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
    if (found === undefined) throw unexpected(answer, 'the records of an export were not counted')
    const total = found.total ?? await countApart(door, type, since === undefined ? conditions : [...conditions, ['_lastUpdated', `ge${since}`]])
    if (total === undefined) return undefined
    count += total
  }
  return count
}

function counted (door: Door, type: string, { since, conditions }: { readonly since: string | undefined, readonly conditions: Conditions }): Promise<BackendAnswer> {
  const parameters: Conditions = [...conditions, ...since === undefined ? [] : [['_lastUpdated', `ge${since}`] as const]]
  return ask(door, { ...restrict({ type, parameters, count: 0, total: 'accurate' }, door.tenant), headers: { 'cache-control': 'no-cache' } })
}
