import type { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { sendRequest, verifyAndRememberOwned, type TenantContext } from '../tenant-context.js'
import { tenantGuard, type TenantStore } from '../guard.js'
import { fetchByIds, type RecordQuery } from '../reads/fetch-owned.js'
import { createJobOwnershipCache } from '../ownership.js'
import { CheckedRecord, type ImportedRecord, type TaggedRecord } from './tagged-record.js'
import { findRejectedEntries, TransactionWriter, type TransactionResult } from './transaction-writer.js'
import { reportForeign } from '../reads/own-matches.js'
import { scanChunks, type ScanPosition } from '../reads/scan.js'
import { getIdentityElements, restrict } from '../restrict.js'

export type { CheckedRecord, TaggedRecord } from './tagged-record.js'
export type { RecordOutcome } from './transaction-writer.js'

/** A datastore seen by one tenant's import. */
export interface ImportStore {
  /** The same part of the datastore for single interactions. */
  readonly records: TenantStore
  /** A record with what it refers to. @throws {Failure} for what no tenant may store */
  checkRecord (record: Omit<ImportedRecord, 'targets'>): CheckedRecord
  /**
   * The ids of the tenant's records of a type, a part at a time, some twice; `expected` is how many are looked for at
   * most.
   */
  listIds (type: string, expected: number): AsyncGenerator<readonly string[]>
  /** Those of the records that are stored and the tenant's, by their ids. */
  fetchStored (request: RecordQuery): Promise<ReadonlyMap<string, StoredResource>>
  /** A record as it would be stored. @throws {Failure} for what no tenant may store */
  tagRecord (record: ImportedRecord): TaggedRecord
  /**
   * Why records could not be stored together, and with others that would be there by then, by their places; nothing is
   * written.
   */
  findRejected (records: readonly TaggedRecord[], others?: Iterable<string>): Promise<ReadonlyMap<number, Failure>>
  /** Stores all or none. @throws {Failure} as {@link TransactionWriter.write} */
  write (records: readonly TaggedRecord[]): Promise<TransactionResult>
}

/** Opens one tenant's part of a datastore for an import. */
export function createImportStore (opened: TenantContext): ImportStore {
  const context = { ...opened, ownership: createJobOwnershipCache(opened.ownership) }
  const writer = new TransactionWriter(context)
  return {
    records: tenantGuard(context),
    checkRecord: record => new CheckedRecord(context, record),
    listIds: (type, expected) => listExistingIds(context, type, expected),
    fetchStored: request => fetchByIds(context, request),
    tagRecord: record => new CheckedRecord(context, record).toTagged(record.targets),
    findRejected: (records, others) => findRejectedEntries(context, records, others),
    write: records => writer.write(records)
  }
}

/**
 * The ids of the tenant's records of a type, a part at a time; some may come twice.
 * @param expected how many are looked for at most, so that no larger pages are requested
 */
async function * listExistingIds (
  context: TenantContext,
  type: string,
  expected: number
): AsyncGenerator<readonly string[]> {
  const buildSearch: ScanPosition['buildSearch'] = (parameters, count) =>
    restrict({ type, parameters, count, total: 'none', shape: getIdentityElements(type) }, context.tenant)
  const position: ScanPosition = {
    send: request => sendRequest(context, request),
    baseUrl: context.backend.baseUrl,
    type,
    pageSize: Math.min(maxOfPage, expected + 1),
    buildSearch
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
