import { sendRequest, notFound, type TenantContext } from '../tenant-context.js'
import type { Compartment, Search, SearchParameter } from '../interaction.js'
import { countMatches } from './count-matches.js'
import { requireFewMatches, findMatchingIds } from './chaining.js'
import { isId } from '../../fhir/names.js'
import { restrict } from '../restrict.js'
import { requireBundle } from './backend-bundle.js'
import { readMeta } from './read-record.js'

/**
 * The condition that limits a search to a compartment, whose record must be the tenant's. FHIR cannot join conditions
 * by OR, so where several parameters lead there, the records are named by their ids; usually only one has matches, and
 * is the condition.
 * @returns undefined when nothing can match
 * @throws {Failure} NOT_FOUND, and BAD_REQUEST when too many records would have to be named
 */
export async function resolveCompartment (
  context: TenantContext,
  { type, within }: Pick<Search, 'type' | 'within'>
): Promise<readonly SearchParameter[] | undefined> {
  if (within === undefined) return []
  if (!isId(within.id)) throw notFound()
  await readMeta(context, within.type, within.id)
  const conditions = within.parameters.map(parameter => [parameter, `${within.type}/${within.id}`] as const)
  if (conditions.length === 1) return conditions
  const counts = await Promise.all(conditions.map(condition => countCondition(context, type, condition)))
  const leading = conditions.filter((_, at) => counts[at]! > 0)
  if (leading.length < 2) return leading.length === 0 ? undefined : leading
  requireFewMatches(
    counts.reduce((sum, count) => sum + count),
    formatTooManyMessage(within)
  )
  const ids = [
    ...new Set((await Promise.all(leading.map(condition => findMatchingIds(context, type, condition)))).flat())
  ]
  return ids.length === 0 ? undefined : [['_id', ids.join(',')]]
}

const formatTooManyMessage = ({ parameters }: Compartment): string =>
  `Too many records are in this compartment through more than one parameter. Search the type with each of these parameters instead: ${parameters.join(', ')}.`

/** How many of the tenant's records match; one where the datastore does not say. */
async function countCondition (context: TenantContext, type: string, condition: SearchParameter): Promise<number> {
  const response = await sendRequest(context, {
    ...restrict({ type, parameters: [condition], count: 0, total: 'accurate' }, context.tenant),
    headers: { 'cache-control': 'no-cache' }
  })
  const { total } = requireBundle(response, 'the records of a compartment were not counted')
  return total ?? await countMatches(context, type, [condition]) ?? 1
}
