import { ask, ownRecordIn, type Door } from '../door.js'
import { reportForeign } from '../reads/own-matches.js'
import { stretches, type WalkPlace } from '../reads/stretches.js'
import { identityOnly, restrict } from '../restrict.js'

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are asked for
 */
export async function * idsOf (door: Door, type: string, expected: number): AsyncGenerator<readonly string[]> {
  const searching: WalkPlace['searching'] = (parameters, count) => restrict({ type, parameters, count, total: 'none', shape: identityOnly(type) }, door.tenant)
  const place: WalkPlace = { send: request => ask(door, request), baseUrl: door.backend.baseUrl, type, pageSize: Math.min(mostOfPage, expected + 1), searching }
  for await (const { records } of stretches(place)) {
    reportForeign(door, type, records)
    yield records.map(match => ownRecordIn(door, match, { type })).filter(record => record !== undefined).map(({ id }) => id)
  }
}

const mostOfPage = 1_000
