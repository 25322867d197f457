import { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { ask, causeOf, jsonOf, ownRecordIn, unexpected, type Door } from '../door.js'
import type { Criteria } from '../fhir-interaction.js'
import { identityOnly, onePage, restrict, strictly } from '../restrict.js'
import { demandChangeable } from '../policy.js'
import { searchOwn } from '../reads/own-matches.js'
import { searchsetOf, type Searchset } from '../reads/searchset.js'

/** One more than may be. */
const mostWanted = 2

/**
 * The one record of the tenant's that meets criteria, by its identity and version; undefined when none does. The criteria
 * go no further than this search: the write that follows names the record by its id.
 * @throws {Failure} PRECONDITION_FAILED when several do, BAD_REQUEST for criteria that the datastore does not take
 */
export async function soleMatch (door: Door, { type, parameters }: Criteria): Promise<StoredResource | undefined> {
  const found = await searchOwn(door, { type, parameters, run: all => fewMatches(door, { type, parameters: all }), matchesIn: ({ matches }) => matches, isWhole: ({ matches }) => matches.length < mostWanted })
  const own = found.matches.map(match => ownRecordIn(door, match, { type })).filter(record => record !== undefined)
  if (own.length > 1) throw severalMatch()
  return own[0]
}

async function fewMatches (door: Door, { type, parameters }: Criteria): Promise<Searchset> {
  const search = restrict({ type, parameters, count: mostWanted, total: 'none', shape: identityOnly(type) }, door.tenant)
  const answer = await ask(door, { ...search, headers: { 'cache-control': onePage(mostWanted), ...strictly } })
  if ([400, 405, 422].includes(answer.status)) throw new Failure('BAD_REQUEST', { message: 'The datastore does not take these criteria.', cause: causeOf(answer) })
  const found = answer.status === 200 ? searchsetOf(jsonOf(answer)) : undefined
  if (found === undefined) throw unexpected(answer, 'a search by criteria was not answered')
  return found
}

/**
 * The one record of the tenant's that meets criteria and is to be changed.
 * @throws {Failure} as {@link soleMatch}, and METHOD_NOT_ALLOWED for what no tenant may change
 */
export async function soleChangeable (door: Door, criteria: Criteria): Promise<StoredResource | undefined> {
  const found = await soleMatch(door, criteria)
  if (found === undefined) return undefined
  door.onMatch?.(found.id)
  demandChangeable(criteria.type, found.id)
  return found
}

/** Criteria that more than one record meets. Its code tells it from a version that has changed, after which a client tries again. */
function severalMatch (): Failure {
  const message = 'Several records match the criteria. Narrow them, or use the id of the record.'
  return new Failure('PRECONDITION_FAILED', { message, issues: [{ severity: 'error', code: 'multiple-matches', diagnostics: message }] })
}
