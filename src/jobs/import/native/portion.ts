import type { QuotaReservation } from '../../../limits/record-quota.js'
import type { FileWriter, JobFiles } from '../../job-context.js'
import type { OfferedFiles } from './file-server.js'

const nameOf = (type: string): string => `native-${type}.ndjson`

/** New lines for one native import of a datastore, checked and tagged, in one file per type. */
export class NativeBatch {
  /** The numbers of the lines. */
  readonly lines: number[] = []
  /** The monthly quota reserved for their records. */
  readonly reservations: QuotaReservation[] = []
  readonly #files: JobFiles
  readonly #writers = new Map<string, FileWriter>()
  #bytes = 0

  constructor (files: JobFiles) {
    this.#files = files
  }

  /** The size of all files, in bytes. */
  get bytes (): number {
    return this.#bytes
  }

  async add (line: {
    readonly line: number
    readonly type: string
    readonly text: string
    readonly reservation: QuotaReservation | undefined
  }): Promise<void> {
    const writer = this.#writers.get(line.type) ?? (await this.#begin(line.type))
    const bytes = Buffer.from(`${line.text}\n`)
    await writer.write(bytes)
    this.#bytes += bytes.length
    this.lines.push(line.line)
    if (line.reservation !== undefined) this.reservations.push(line.reservation)
  }

  /** The files, after all lines were flushed to them. */
  async isComplete (): Promise<OfferedFiles> {
    for (const writer of this.#writers.values()) await writer.flush()
    return new Map([...this.#writers.keys()].map(type => [type, () => this.#files.read(nameOf(type))]))
  }

  /** Refunds the unused reservations, and deletes the files unless another gateway may have the job by now. */
  async clear ({ isOurs }: { readonly isOurs: boolean }): Promise<void> {
    for (const reservation of this.reservations.splice(0)) reservation.refund()
    for (const [type, writer] of this.#writers) {
      // The file is not read any more, so its errors do not matter.
      await writer.close().catch(() => {})
      if (isOurs) await this.#files.remove(nameOf(type))
    }
    this.#writers.clear()
  }

  async #begin (type: string): Promise<FileWriter> {
    const writer = await this.#files.write(nameOf(type))
    this.#writers.set(type, writer)
    return writer
  }
}
