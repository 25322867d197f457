import type { Issue } from '../../envelope/failures.js'
import type { TaggedRecord } from '../../tenant-guard/import/import-store.js'
import type { LineRecord } from './record.js'

/** Maximum number of characters of all cached records. */
const max = 8 * 1024 * 1024

/**
 * The record of a line that was just read, as stored when it is new and when its references are stored under the ids
 * that the import assigns.
 */
export interface CachedRecord extends Pick<LineRecord, 'type' | 'name' | 'mapping'> {
  /** The fields of the simple form, to name those at fault. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly record: TaggedRecord
  readonly warnings: readonly Issue[]
}

/** Records that were read and wait to be written, in bounded memory: those not cached are read from the input again. */
export class RecordCache {
  readonly #records = new Map<number, CachedRecord>()
  #size = 0

  /** Whether there is room for more. */
  get hasRoom (): boolean {
    return this.#size < max
  }

  store (line: number, record: CachedRecord): void {
    this.#records.set(line, record)
    this.#size += record.record.text.length
  }

  get (line: number): CachedRecord | undefined {
    return this.#records.get(line)
  }

  /** Drops the record of a line, if it is cached. */
  drop (line: number): void {
    this.#size -= this.#records.get(line)?.record.text.length ?? 0
    this.#records.delete(line)
  }
}
