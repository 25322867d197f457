import { ask, ownRecordIn, type Door } from '../door.js'
import { stretches, type WalkPlace } from '../reads/stretches.js'
import { identityOnly, restrict } from '../restrict.js'

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are asked for
 */
export async function * idsOf (door: Door, type: string, expected: number): AsyncGenerator<readonly string[]> {
  const searching: WalkPlace['searching'] = (parameters, count) => {
    const search = restrict({ type, parameters, count, total: 'none' }, door.tenant)
    return { ...search, path: `${search.path}${identityOnly(type)}` }
  }
  const place: WalkPlace = { send: request => ask(door, request), baseUrl: door.backend.baseUrl, type, pageSize: Math.min(mostOfPage, expected + 1), searching }
  for await (const { records } of stretches(place)) {
    yield records.map(match => ownRecordIn(door, match, { type })).filter(record => record !== undefined).map(({ id }) => id)
  }
}

const mostOfPage = 1_000
