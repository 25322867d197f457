import { notFound, type Door } from '../door.js'
import type { Export } from '../fhir-interaction.js'
import { isId } from '../resource-types.js'
import { conditionsAmongOwn } from '../restrict.js'
import { metaOf } from '../reads/read-record.js'

/**
 * Refuses an export that could not be, before a job is made of it.
 * @throws {Failure} NOT_FOUND for a group that is not the tenant's, BAD_REQUEST or UNKNOWN_FILTER for a filter that reaches beyond the records
 */
export async function demandExportable (door: Door, { id, asked: { filters = {} } }: Export): Promise<void> {
  for (const [type, searches] of Object.entries(filters)) for (const parameters of searches) conditionsAmongOwn({ type, parameters }, door.tenant)
  if (id === undefined) return
  if (!isId(id)) throw notFound()
  await metaOf(door, 'Group', id)
}
