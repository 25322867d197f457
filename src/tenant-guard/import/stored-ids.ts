import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { reportForeign } from '../reads/own-matches.js'
import { scanChunks, type ScanPosition } from '../reads/scan.js'
import { identityElements, restrict } from '../restrict.js'

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are requested
 */
export async function * existingIds (
  context: TenantContext,
  type: string,
  expected: number
): AsyncGenerator<readonly string[]> {
  const searching: ScanPosition['searching'] = (parameters, count) =>
    restrict({ type, parameters, count, total: 'none', shape: identityElements(type) }, context.tenant)
  const position: ScanPosition = {
    send: request => sendRequest(context, request),
    baseUrl: context.backend.baseUrl,
    type,
    pageSize: Math.min(maxOfPage, expected + 1),
    searching
  }
  for await (const { records } of scanChunks(position)) {
    reportForeign(context, type, records)
    yield records
      .map(match => verifyAndRememberOwned(context, match, { type }))
      .filter(record => record !== undefined)
      .map(({ id }) => id)
  }
}

const maxOfPage = 1_000
