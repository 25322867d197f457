import type { Config } from '../../config/schema.js'
import type { Organization } from '../store/organizations.js'

/**
 * The names of the datastores that an organization's keys open; `live` is undefined where a dedicated one is missing,
 * as gateways see it that are configured like this process.
 */
export function datastoresOf (
  { tenantId, plan, datastore }: Organization,
  { test, live, dedicated }: Config['routing']
): { readonly test: string; readonly live: string | undefined } {
  if (plan !== 'enterprise') return { test, live }
  return { test, live: (Object.hasOwn(dedicated, tenantId) ? dedicated[tenantId] : undefined) ?? datastore }
}
