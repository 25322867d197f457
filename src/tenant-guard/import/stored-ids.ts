import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { reportForeign } from '../reads/own-matches.js'
import { scanChunks, type ScanPosition } from '../reads/scan.js'
import { identityElements, restrict } from '../restrict.js'

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are asked for
 */
export async function * existingIds (door: TenantContext, type: string, expected: number): AsyncGenerator<readonly string[]> {
  const searching: ScanPosition['searching'] = (parameters, count) => restrict({ type, parameters, count, total: 'none', shape: identityElements(type) }, door.tenant)
  const place: ScanPosition = { send: request => sendRequest(door, request), baseUrl: door.backend.baseUrl, type, pageSize: Math.min(mostOfPage, expected + 1), searching }
  for await (const { records } of scanChunks(place)) {
    reportForeign(door, type, records)
    yield records.map(match => verifyAndRememberOwned(door, match, { type })).filter(record => record !== undefined).map(({ id }) => id)
  }
}

const mostOfPage = 1_000
