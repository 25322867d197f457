import { sendRequest, parseJson, type TenantContext } from '../tenant-context.js'
import type { SearchParameter } from '../interaction.js'
import { restrict, strictHandling } from '../restrict.js'
import { parseBundle } from './backend-bundle.js'

/**
 * How many of the tenant's records match, for a datastore that returns matches without a total; undefined if it cannot
 * count at all.
 */
export async function countMatches (
  context: TenantContext,
  type: string,
  parameters: readonly SearchParameter[]
): Promise<number | undefined> {
  const search = restrict({ type, parameters, count: 1, shape: [['_summary', 'count']] }, context.tenant)
  const response = await sendRequest(context, {
    ...search,
    headers: { 'cache-control': 'no-cache', ...strictHandling }
  })
  return response.status === 200 ? parseBundle(parseJson(response))?.total : undefined
}
