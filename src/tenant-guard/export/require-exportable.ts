import { notFound, type TenantContext } from '../tenant-context.js'
import type { Export } from '../interaction.js'
import { isId } from '../resource-types.js'
import { tenantCriteria } from '../restrict.js'
import { readMeta } from '../reads/read-record.js'

/**
 * Refuses an export that could not be, before a job is made of it.
 * @throws {Failure} NOT_FOUND for a group that is not the tenant's, BAD_REQUEST or UNKNOWN_FILTER for a filter that
 * reaches beyond the records
 */
export async function requireExportable (
  context: TenantContext,
  { id, request: { filters = {} } }: Export
): Promise<void> {
  for (const [type, searches] of Object.entries(filters)) {
    for (const parameters of searches) tenantCriteria({ type, parameters }, context.tenant)
  }
  if (id === undefined) return
  if (!isId(id)) throw notFound()
  await readMeta(context, 'Group', id)
}
