import type { Failure } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Door } from '../door.js'
import { tenantGuard, type GuardedStore } from '../guard.js'
import { storedAmong, type AskedRecords } from '../look-up.js'
import { ownershipOfWork } from '../ownership.js'
import { idsOf } from './stored-ids.js'
import { CheckedRecord, type ImportedRecord, type StampedRecord } from './stamped-record.js'
import { refusedAmong, TogetherWriter, type Together } from './write-together.js'

export type { CheckedRecord, ImportedRecord, StampedRecord } from './stamped-record.js'
export type { Together } from './write-together.js'

/** A datastore seen by one tenant's import. */
export interface ImportStore {
  /** The same part of the datastore for single interactions. */
  readonly records: GuardedStore
  /** A record with what it refers to. @throws {Failure} for what no tenant may store */
  checked (record: Omit<ImportedRecord, 'targets'>): CheckedRecord
  /** The ids of the tenant's records of a type, a part at a time, some twice; `expected` is how many are looked for at most. */
  ids (type: string, expected: number): AsyncGenerator<readonly string[]>
  /** Those of the records that are stored and the tenant's, by their ids. */
  stored (asked: AskedRecords): Promise<ReadonlyMap<string, StoredResource>>
  /** A record as it would be stored. @throws {Failure} for what no tenant may store */
  stamped (record: ImportedRecord): StampedRecord
  /** Why records could not be stored together, and with others that would be there by then, by their places; nothing is written. */
  refused (records: readonly StampedRecord[], others?: Iterable<string>): Promise<ReadonlyMap<number, Failure>>
  /** Stores all or none. @throws {Failure} as {@link TogetherWriter.write} */
  write (records: readonly StampedRecord[]): Promise<Together>
}

/** Opens one tenant's part of a datastore for an import. */
export function importStore (opened: Door): ImportStore {
  const door = { ...opened, ownership: ownershipOfWork(opened.ownership) }
  const writer = new TogetherWriter(door)
  return {
    records: tenantGuard(door),
    checked: record => new CheckedRecord(door, record),
    ids: (type, expected) => idsOf(door, type, expected),
    stored: asked => storedAmong(door, asked),
    stamped: record => new CheckedRecord(door, record).stamped(record.targets),
    refused: (records, others) => refusedAmong(door, records, others),
    write: records => writer.write(records)
  }
}
