import type { FoundChanges, Intent, MadeChange, PlannedChange } from '../../events/intent.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { fetchByIds } from '../reads/fetch-owned.js'
import { requireBundle } from '../reads/backend-bundle.js'
import { getIdentityElements, restrict, toSinglePageCacheControl } from '../restrict.js'
import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'

/** How far the clocks of gateway and datastore may differ. */
const clockSkewMs = 60_000

/** How long after its intent a write may reach the datastore. */
const maxDelayMs = 120_000

/** The maximum number of new records of one type that are examined. */
const maxCreated = 1_000

/**
 * Finds out from the datastore which changes of an intent were made, after a crash or without a response. A change that
 * remains ambiguous counts as made: an event too many leads a client to read a record again, one too few is never
 * noticed.
 * @returns the changes by their places, and the new records that the other changes may have created
 * @throws {Failure} 5xx if it can't be determined
 */
export async function findCreated (
  context: TenantContext,
  intent: Intent
): Promise<FoundChanges> {
  const stored = await fetchStoredRecords(context, intent.changes)
  const named = intent.changes.map(change =>
    change.id === undefined ? undefined : toMadeChange(stored.get(`${change.type}/${change.id}`), change, intent)
  )
  const types = new Set(intent.changes.filter(({ id }) => id === undefined).map(({ type }) => type))
  const created: MadeChange[] = []
  for (const type of types) {
    for (const { id, meta } of await fetchCreatedSince(context, type, intent)) {
      created.push({ kind: 'created', type, id, version: meta.versionId })
    }
  }
  return { named, created }
}

async function fetchStoredRecords (
  context: TenantContext,
  changes: readonly PlannedChange[]
): Promise<ReadonlyMap<string, StoredResource>> {
  const idsByType = new Map<string, string[]>()
  for (const { type, id } of changes) {
    if (id !== undefined) idsByType.set(type, [...(idsByType.get(type) ?? []), id])
  }
  const stored = new Map<string, StoredResource>()
  for (const [type, ids] of idsByType) {
    const found = await fetchByIds(context, { type, ids, isComplete: false })
    for (const [id, record] of found) stored.set(`${type}/${id}`, record)
  }
  return stored
}

/** The change of a record with a known id, by its stored state; undefined if it was not made. */
function toMadeChange (
  stored: StoredResource | undefined,
  { kind, type, id, before }: PlannedChange & { readonly id?: string },
  intent: Intent
): MadeChange | undefined {
  const made = { type, id: id! }
  if (kind === 'deleted') return stored === undefined ? { ...made, kind } : undefined
  // A record that was to be changed and is gone may have been changed before.
  if (stored === undefined) return kind === 'updated' ? { ...made, kind } : undefined
  const { versionId: version, lastUpdated } = stored.meta
  if (version === before && version !== undefined) return undefined
  if (Date.parse(String(lastUpdated)) < Date.parse(intent.startedAt) - clockSkewMs) return undefined
  return { ...made, kind: version === '1' ? 'created' : 'updated', version }
}

/** The tenant's records that were created in the time of the intent and may be the intent's. */
async function fetchCreatedSince (
  context: TenantContext,
  type: string,
  { requestId, startedAt }: Intent
): Promise<readonly StoredResource[]> {
  const time = (offsetMs: number) => new Date(Date.parse(startedAt) + offsetMs).toISOString()
  const search = restrict(
    {
      type,
      parameters: [
        ['_lastUpdated', `ge${time(-clockSkewMs)}`],
        ['_lastUpdated', `le${time(maxDelayMs + clockSkewMs)}`],
        ['_sort', '_lastUpdated']
      ],
      count: maxCreated,
      total: 'none',
      shape: getIdentityElements(type)
    },
    context.tenant
  )
  const response = await sendRequest(context, {
    ...search,
    headers: { 'cache-control': toSinglePageCacheControl(maxCreated) }
  })
  return requireBundle(response, 'a look-up of new records was not answered').matches
    .map(match => verifyAndRememberOwned(context, match, { type }))
    .filter(record => record !== undefined)
    .filter(({ meta }) => meta.versionId === undefined || meta.versionId === '1')
    .filter(({ meta }) => mayBeOf(requestId, meta.source))
}

/** HAPI stores the id of the request that wrote a version behind `#` in its source. */
function mayBeOf (requestId: string, source: unknown): boolean {
  const [, stored] = /#(.+)$/.exec(String(source ?? '')) ?? []
  return stored === undefined || stored === requestId
}
