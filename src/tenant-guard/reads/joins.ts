import { Failure } from '../../envelope/failures.js'
import { ask, causeOf, jsonOf, ownRecordIn, unexpected, type Door } from '../door.js'
import type { Join } from '../fhir-interaction.js'
import { inTurns } from '../in-turns.js'
import type { SearchParameter } from '../interaction.js'
import { identityOnly, onePage, restrict, strictly } from '../restrict.js'
import { elementsFollowed, referencesTo } from './followed-references.js'
import { searchOwn } from './own-matches.js'
import { searchsetOf, type Searchset } from './searchset.js'

/** A first phase that finds this many records or follows this many references is refused: the second could not name them all. */
const mostFound = 1_000

/**
 * Joins as plain conditions on the records of a type. Each is answered by a search among the tenant's own records first,
 * because a datastore follows a reference wherever it leads; that the reference and its condition hold for one and the same
 * record needs no tag in the second phase.
 * @returns undefined when nothing can match
 * @throws {Failure} BAD_REQUEST when one of them leads over too many records or references
 */
export async function withoutJoins (door: Door, type: string, joins: readonly Join[]): Promise<readonly SearchParameter[] | undefined> {
  const conditions = await inTurns(joins, join => join.direction === 'chain' ? chained(door, join) : referring(door, type, join))
  return conditions.every(condition => condition !== undefined) ? conditions : undefined
}

/** `subject:Patient.name=x` as `subject=Patient/1,Patient/2`. */
async function chained (door: Door, { types, reference, condition }: Join): Promise<SearchParameter | undefined> {
  const found = await Promise.all(types.map(async type => (await idsMatching(door, type, condition)).map(id => `${type}/${id}`)))
  const records = found.flat()
  demandFew(records.length)
  return records.length === 0 ? undefined : [reference, records.join(',')]
}

/**
 * The ids of the tenant's records of a type that match a condition.
 * @throws {Failure} BAD_REQUEST when they are too many to be named
 */
export async function idsMatching (door: Door, type: string, condition: SearchParameter): Promise<string[]> {
  const { matches } = await foundBy(door, { type, condition, shape: identityOnly(type), cacheControl: onePage(mostFound) })
  return matches.map(match => ownRecordIn(door, match, { type })?.id).filter(id => id !== undefined)
}

/** `_has:Observation:patient:code=x` as `_id=1,2`: the datastore itself says where the references lead. */
async function referring (door: Door, type: string, { types, reference, condition }: Join): Promise<SearchParameter | undefined> {
  const from = types[0]!
  const elements = elementsFollowed(from, reference)
  const shape: readonly SearchParameter[] = [['_include', `${from}:${reference}:${type}`], ...identityOnly(from, elements)]
  // With no-store, HAPI would leave out included records.
  const { matches, included, isCut } = await foundBy(door, { type: from, condition, shape, cacheControl: 'no-cache', isWithIncludes: true })
  // HAPI follows at most a thousand references, several of which may lead to one record, and does not say when there are more.
  const followed = matches.reduce<number>((sum, match) => sum + referencesTo(type, match, elements), 0)
  demandFew(isCut ? mostFound : Math.max(matches.length, included.length, followed))
  const ids = included.map(item => ownRecordIn(door, item, { type })?.id).filter(id => id !== undefined)
  return ids.length === 0 ? undefined : ['_id', ids.join(',')]
}

/** The first phase of a join. */
interface FirstPhase { readonly type: string, readonly condition: SearchParameter, readonly shape: readonly SearchParameter[], readonly cacheControl: string, readonly isWithIncludes?: boolean }

async function foundBy (door: Door, { type, condition, shape, cacheControl, isWithIncludes = false }: FirstPhase): Promise<Searchset> {
  const run = (parameters: readonly SearchParameter[]) => answered(door, restrict({ type, parameters, count: mostFound, total: 'none', shape }, door.tenant), cacheControl)
  const found = await searchOwn(door, { type, parameters: [condition], run, matchesIn: ({ matches }) => matches, isWhole: ({ matches }) => !isWithIncludes && matches.length < mostFound })
  demandFew(found.next === undefined ? found.matches.filter(match => ownRecordIn(door, match, { type }) !== undefined).length : mostFound)
  return found
}

async function answered (door: Door, search: ReturnType<typeof restrict>, cacheControl: string): Promise<Searchset> {
  const answer = await ask(door, { ...search, headers: { 'cache-control': cacheControl, ...strictly } })
  if ([400, 405, 422].includes(answer.status)) throw new Failure('BAD_REQUEST', { message: 'The datastore rejected the condition of a chain or _has.', cause: causeOf(answer) })
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpected(answer, 'the first phase of a joined search was not answered')
  return found
}

/** @throws {Failure} BAD_REQUEST, with what to do */
export function demandFew (found: number, message = `A chain or _has can lead over at most ${mostFound - 1} records and references. Narrow its condition, or search in two steps.`): void {
  if (found < mostFound) return
  throw new Failure('BAD_REQUEST', { message, issues: [{ severity: 'error', code: 'too-costly', diagnostics: message }] })
}
