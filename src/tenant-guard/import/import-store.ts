import type { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { tenantGuard, type TenantStore } from '../guard.js'
import { fetchByIds, type RecordQuery } from '../reads/fetch-owned.js'
import { jobOwnershipCache } from '../ownership.js'
import { CheckedRecord, type ImportedRecord, type TaggedRecord } from './stamped-record.js'
import { rejectedEntries, TransactionWriter, type TransactionResult } from './write-together.js'
import { reportForeign } from '../reads/own-matches.js'
import { scanChunks, type ScanPosition } from '../reads/scan.js'
import { identityElements, restrict } from '../restrict.js'

export type { CheckedRecord, TaggedRecord } from './stamped-record.js'
export type { RecordOutcome } from './write-together.js'

/** A datastore seen by one tenant's import. */
export interface ImportStore {
  /** The same part of the datastore for single interactions. */
  readonly records: TenantStore
  /** A record with what it refers to. @throws {Failure} for what no tenant may store */
  checked (record: Omit<ImportedRecord, 'targets'>): CheckedRecord
  /**
   * The ids of the tenant's records of a type, a part at a time, some twice; `expected` is how many are looked for at
   * most.
   */
  ids (type: string, expected: number): AsyncGenerator<readonly string[]>
  /** Those of the records that are stored and the tenant's, by their ids. */
  stored (request: RecordQuery): Promise<ReadonlyMap<string, StoredResource>>
  /** A record as it would be stored. @throws {Failure} for what no tenant may store */
  stamped (record: ImportedRecord): TaggedRecord
  /**
   * Why records could not be stored together, and with others that would be there by then, by their places; nothing is
   * written.
   */
  refused (records: readonly TaggedRecord[], others?: Iterable<string>): Promise<ReadonlyMap<number, Failure>>
  /** Stores all or none. @throws {Failure} as {@link TransactionWriter.write} */
  write (records: readonly TaggedRecord[]): Promise<TransactionResult>
}

/** Opens one tenant's part of a datastore for an import. */
export function importStore (opened: TenantContext): ImportStore {
  const context = { ...opened, ownership: jobOwnershipCache(opened.ownership) }
  const writer = new TransactionWriter(context)
  return {
    records: tenantGuard(context),
    checked: record => new CheckedRecord(context, record),
    ids: (type, expected) => existingIds(context, type, expected),
    stored: request => fetchByIds(context, request),
    stamped: record => new CheckedRecord(context, record).stamped(record.targets),
    refused: (records, others) => rejectedEntries(context, records, others),
    write: records => writer.write(records)
  }
}

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are requested
 */
async function * existingIds (
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
