import { setImmediate as breathe, setTimeout as pause } from 'node:timers/promises'
import { json } from 'node:stream/consumers'
import { splitIntoChunks } from '../../../json/chunks.js'
import type { NativeImport } from '../../../tenant-guard/import/native-import.js'
import type { QuotaReservation } from '../../../limits/record-quota.js'
import type { FileWriter, JobFiles } from '../../job-context.js'
import { recordOutcomes, type ImportContext } from '../import-context.js'
import type { IndexedLine } from '../index-rows.js'
import { Throttle } from '../pace.js'
import { prepareAll, type Entry } from '../prepare-lines.js'
import { withRetry, reserveQuota, writeBatch } from '../write-batch.js'
import type { ImportFileServer, OfferedFiles } from './file-server.js'

/** The parts that the native import of a datastore needs. */
export interface NativeParts {
  readonly store: NativeImport
  readonly offers: ImportFileServer
  readonly bounds?: NativeBounds
}

/** Minimum and maximum number of lines in one native import: for fewer, transactions are faster. */
interface NativeBounds { readonly min: number, readonly max: number }

const defaultBounds: NativeBounds = { min: 1_000, max: 50_000 }
const maxBytes = 256 * 1024 * 1024
/** A longer line is written separately, since HAPI holds many in memory at a time. */
const maxLine = 262_144
/** Lines that are processed together. */
const linesPerStep = 200

/**
 * The file of a job with the status URL of the last native import that was started. Jobs of an older version have it
 * under this name.
 */
const begunFile = 'own-begun'

const minPauseMs = 100
const maxPauseMs = 10_000
/**
 * The pause before the next status request, as a share of the time that the import has taken; and the time after which
 * the gateway stops waiting.
 */
const pollIntervalRatio = 1 / 20
const maxMs = 2 * 3_600_000

/**
 * Lets the datastore import new lines natively, first those that refer to no other, then those that refer to them. Each
 * batch is read back by the ids of its records: missing ones are written with transactions, as are changes, cycles,
 * long lines and small remainders. So a line's result never depends on the datastore's own report.
 */
export async function writeNatively (context: ImportContext, parts: NativeParts): Promise<void> {
  if (context.request.dryRun) return
  const run = new NativeRun(context, parts)
  await run.resumeEarlierRun()
  while (await run.importNextBatch()) context.signal.throwIfAborted()
}

class NativeRun {
  readonly #context: ImportContext
  readonly #parts: NativeParts
  readonly #bounds: NativeBounds
  readonly #throttle = new Throttle()

  constructor (context: ImportContext, parts: NativeParts) {
    this.#context = context
    this.#parts = parts
    this.#bounds = parts.bounds ?? defaultBounds
  }

  /** Waits for the native import of an earlier run. Its files are no longer served, so the rest is never fetched. */
  async resumeEarlierRun (): Promise<void> {
    const { work: { files } } = this.#context
    // The file is incomplete: then no lines were offered yet, either.
    if (!await files.size(begunFile)) return
    const { job } = await json(files.read(begunFile)) as { readonly job: string }
    await this.#waitForEnd(job)
    await this.#readBack([])
    await files.remove(begunFile)
  }

  /** @returns false when too few lines are left, or the datastore refuses the import */
  async importNextBatch (): Promise<boolean> {
    const { index, signal, work: { files } } = this.#context
    if (!await this.#hasEnoughLines()) return false
    const before = index.counts.processed
    const chunk = new NativeBatch(files)
    try {
      await this.#gather(chunk)
      if (chunk.lines.length === 0) return index.counts.processed > before
      if (!await this.#submitBatch(chunk)) return false
      await this.#readBack(chunk.reservations)
      await files.remove(begunFile)
      return true
    } finally {
      await chunk.clear({ isOurs: !signal.aborted })
    }
  }

  async #hasEnoughLines (): Promise<boolean> {
    const { min } = this.#bounds
    let found = 0
    for await (const lines of this.#readReadyLines(min)) if ((found += lines.length) >= min) return true
    return false
  }

  /** Lines that can be handed over, in parts; other requests are served between two parts. */
  async * #readReadyLines (max: number): AsyncGenerator<readonly IndexedLine[]> {
    const { index, signal } = this.#context
    for (let after: number | undefined = 0; after !== undefined;) {
      const look = index.findReadyLines({ after, maxBytes: maxLine, maxLines: max })
      after = look.after
      if (look.lines.length > 0) yield look.lines
      await breathe()
      signal.throwIfAborted()
    }
  }

  async #gather (chunk: NativeBatch): Promise<void> {
    const { max } = this.#bounds
    const part = Math.min(linesPerStep, max)
    for await (const lines of this.#readReadyLines(part)) {
      await this.#sort(lines, chunk)
      if (chunk.lines.length + part > max || chunk.bytes >= maxBytes) return
    }
  }

  /** Adds the new lines to the batch; the others are written immediately. */
  async #sort (lines: readonly IndexedLine[], chunk: NativeBatch): Promise<void> {
    const context = this.#context
    const { reservations, refused } = reserveQuota(context, lines)
    const held = new Set(reservations.values())
    const others: IndexedLine[] = []
    try {
      recordOutcomes(context, refused)
      const { open, ended } = await withRetry(context, this.#throttle, () => prepareAll(context, lines, reservations))
      recordOutcomes(context, ended)
      for (const { reservation } of ended) held.delete(reservation)
      const texts = await this.#getAcceptedTexts(open.filter(({ plan }) => plan === 'created'))
      for (const { line, reservation } of open) {
        const text = texts.get(line.line)
        if (text === undefined) {
          others.push(line)
          continue
        }
        await chunk.add({ ...line, text, reservation })
        held.delete(reservation)
      }
    } finally {
      for (const reservation of held) reservation?.refund()
    }
    if (others.length > 0) await writeBatch(context, others, this.#throttle)
  }

  /** The texts to store of new lines, by line number; refused lines have none. */
  async #getAcceptedTexts (entries: readonly Entry[]): Promise<ReadonlyMap<number, string>> {
    const refused = await withRetry(this.#context, this.#throttle, () =>
      this.#context.store.findRejected(entries.map(({ record }) => record))
    )
    return new Map(entries.flatMap(({ line, record }, at) => refused.has(at) ? [] : [[line.line, record.text]]))
  }

  /**
   * Hands a batch over, and waits for its end. Before the datastore can fetch a byte, the job's files and index hold
   * the status URL and the lines of the batch, so that a gateway that resumes the job knows both.
   */
  async #submitBatch (chunk: NativeBatch): Promise<boolean> {
    const { index } = this.#context
    const { store, offers } = this.#parts
    const offer = offers.offer(await chunk.flushFiles())
    try {
      const job = await store.begin(offer)
      if (job === undefined) return false
      await this.#saveStatusUrl(job)
      for (let at = 0; at < chunk.lines.length; at += linesPerStep) {
        index.send(chunk.lines.slice(at, at + linesPerStep).map(line => ({ line, plan: 'created' })))
        await breathe()
      }
      offer.open()
      await this.#waitForEnd(job)
      return true
    } finally {
      offer.close()
    }
  }

  async #saveStatusUrl (job: string): Promise<void> {
    const writer = await this.#context.work.files.write(begunFile)
    try {
      await writer.write(Buffer.from(JSON.stringify({ job })))
    } finally {
      await writer.close()
    }
  }

  async #waitForEnd (job: string): Promise<void> {
    const { signal, work: { log } } = this.#context
    const begunAt = performance.now()
    for (;;) {
      if (await withRetry(this.#context, this.#throttle, () => this.#parts.store.hasEnded(job))) return
      const passed = performance.now() - begunAt
      if (passed > maxMs) {
        return log.warn("a datastore's native import did not finish; its lines are written with transactions")
      }
      await pause(Math.min(Math.max(passed * pollIntervalRatio, minPauseMs), maxPauseMs), undefined, { signal })
    }
  }

  /**
   * Checks which of the lines that were handed over are stored, and writes the others.
   * @param reservations the monthly quota reserved for their records
   */
  async #readBack (reservations: QuotaReservation[]): Promise<void> {
    const { index, signal, quota } = this.#context
    const context = { ...this.#context, quota: { ...quota, take: () => reservations.pop() ?? quota.take() } }
    for (let after: number | undefined = 0; after !== undefined;) {
      const look = index.findSubmittedLines(after, linesPerStep * this.#throttle.limit)
      after = look.after
      await Promise.all(
        splitIntoChunks(look.lines, linesPerStep).map(chunk => writeBatch(context, chunk, this.#throttle))
      )
      await breathe()
      signal.throwIfAborted()
    }
  }
}

const nameOf = (type: string): string => `native-${type}.ndjson`

/** New lines for one native import of a datastore, checked and tagged, in one file per type. */
class NativeBatch {
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
  async flushFiles (): Promise<OfferedFiles> {
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
