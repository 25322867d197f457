import { ask, jsonOf, type Door } from '../door.js'
import type { SearchParameter } from '../interaction.js'
import { restrict, strictly } from '../restrict.js'
import { searchsetOf } from './searchset.js'

/** How many of the tenant's records match, for a datastore that returns matches without a total; undefined if it cannot count at all. */
export async function countApart (door: Door, type: string, parameters: readonly SearchParameter[]): Promise<number | undefined> {
  const search = restrict({ type, parameters, count: 1, shape: [['_summary', 'count']] }, door.tenant)
  const answer = await ask(door, { ...search, headers: { 'cache-control': 'no-cache', ...strictly } })
  return answer.status === 200 ? searchsetOf(jsonOf(answer))?.total : undefined
}
