import type { StoredResource } from '../../mappings/fhir.js'
import type { TenantContext } from '../tenant-context.js'
import { fetchByIds } from '../reads/fetch-owned.js'
import { parseLocation } from '../writes/stored-resource.js'

/** An entry in the response to a transaction, before any check. */
export interface StoredEntry {
  readonly resource?: unknown
  /** Whether the record was fetched after the write; it may be a later version. */
  readonly isFetched?: true
  readonly response?: { readonly status?: unknown, readonly location?: unknown }
}

/** The record that an entry wrote; without an id where the datastore chose it. */
interface WrittenEntry { readonly type: string, readonly id?: string | undefined, readonly isDelete?: boolean }

/**
 * The entries of a response with the records in them. A server that ignores `Prefer` returns only their locations;
 * those records are fetched, with a search for each type.
 */
export async function fetchStoredEntries (
  context: TenantContext,
  entries: readonly StoredEntry[],
  writes: readonly WrittenEntry[]
): Promise<readonly StoredEntry[]> {
  const missing = entries.map((entry, at) =>
    isWithoutResource(entry) && writes[at]?.isDelete !== true ? getRecord(entry, writes[at]) : undefined
  )
  if (missing.every(record => record === undefined)) return entries
  const ids = new Map<string, string[]>()
  for (const record of missing) {
    if (record !== undefined) ids.set(record.type, [...(ids.get(record.type) ?? []), record.id])
  }
  const found = await Promise.all(
    [...ids].map(async ([type, of]) => [type, await fetchByIds(context, { type, ids: of, isComplete: true })] as const)
  )
  const stored = new Map<string, ReadonlyMap<string, StoredResource>>(found)
  return entries.map((entry, at) =>
    missing[at] === undefined
      ? entry
      : { ...entry, isFetched: true, resource: stored.get(missing[at].type)?.get(missing[at].id) }
  )
}

function isWithoutResource ({ resource }: StoredEntry): boolean {
  return resource === undefined || (resource as { resourceType?: unknown } | null)?.resourceType === 'OperationOutcome'
}

function getRecord (
  { response }: StoredEntry,
  write: WrittenEntry | undefined
): { readonly type: string; readonly id: string } | undefined {
  if (write === undefined) return undefined
  const id = write.id ?? parseLocation(response?.location, write)?.id
  return id === undefined ? undefined : { type: write.type, id }
}
