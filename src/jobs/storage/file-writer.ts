import type { KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { ReaderOptions } from './file-reader.js'
import { frameBytes, deriveKey, encryptFrame } from './frames.js'
import { findPreviousFrameEnd, SegmentList } from './segments.js'
import { toStorageError } from './storage-errors.js'
import type { FileWriter } from '../job-context.js'

/** Bytes that are collected before a write to disk. */
const flushThresholdBytes = 262_144

/** Bytes that are written between two checks of the free disk space. */
const roomCheckIntervalBytes = 33_554_432

/** The options of a writer. */
interface WriterOptions extends ReaderOptions {
  readonly from: number
  /** The mark of the file in the recorded state. */
  readonly mark?: string | undefined
  /** Throws when too little disk space is left. */
  readonly requireRoom: () => Promise<void>
  /**
   * Counts bytes before they are written, with the resulting size of the file; throws when that is too much for the
   * job's owner.
   */
  readonly take: (bytes: number, fileBytes: number) => Promise<void>
  /** Throws when another gateway may be writing. */
  readonly requireHeld: () => void
}

/**
 * Opens a file to write from an offset.
 *
 * Why no flushed content is ever damaged: the frame that holds the last byte before the offset stays intact, and new
 * content goes after it, into a new segment. The entry of a segment is on disk before its first byte.
 *
 * Why no key encrypts two frames with one number: each segment has its own key, derived with 128 random bits, and a
 * writer only moves forward.
 * @throws {Failure} BACKEND_UNAVAILABLE when disk space is missing; INTERNAL_ERROR when the file was changed
 */
export async function openWriter (options: WriterOptions): Promise<FileWriter> {
  return await toStorageError(async () => {
    const { path, listPath, secret, from, mark } = options
    await options.requireRoom()
    options.requireHeld()
    const file = await open(path, from === 0 ? constants.O_RDWR | constants.O_CREAT : 'r+', 0o600)
    try {
      const list = await SegmentList.read(listPath, secret)
      if (mark !== undefined) list.require({ bytes: from, mark })
      const offset = findPreviousFrameEnd(from, list.segments, (await file.stat()).size)
      if (offset === undefined) throw new Error('a job file is shorter than the position to continue from')
      await file.truncate(offset)
      await file.datasync()
      const writer = new SealingWriter({ file, list, offset }, options)
      await writer.begin()
      return writer
    } catch (error) {
      await file.close()
      throw error
    }
  })
}

/** The state of a writer: the file, its segments, and the offset on disk of the next frame. */
interface OpenedFile { readonly file: FileHandle, readonly list: SegmentList, readonly offset: number }

/** Concurrent calls keep their order, which the synchronous part of each call determines. */
class SealingWriter implements FileWriter {
  readonly #file: FileHandle
  readonly #list: SegmentList
  readonly #options: WriterOptions
  /** The current row of frames; undefined after a flush, which ended it with a short frame. */
  #row: { readonly key: KeyObject, frames: number } | undefined
  /** The content of the next frame so far. */
  #frame: Buffer | undefined
  #filled = 0
  #gathered: Buffer[] = []
  #gatheredBytes = 0
  #uncheckedBytes = 0
  /** The offset on disk after all collected frames, and the offset up to which frames are written. */
  #end: number
  #offset: number
  #bytes: number
  #writing: Promise<void> = Promise.resolve()

  constructor ({ file, list, offset }: OpenedFile, options: WriterOptions) {
    this.#file = file
    this.#list = list
    this.#options = options
    this.#end = this.#offset = offset
    this.#bytes = options.from
  }

  get bytes (): number {
    return this.#bytes
  }

  get mark (): string {
    return this.#list.segments.at(-1)!.mark
  }

  /** Begins a segment. */
  async begin (): Promise<void> {
    const { segment, note } = this.#list.createNext(this.#bytes, this.#end)
    this.#row = { key: deriveKey(this.#options.secret, 'frames', segment.salt), frames: 0 }
    await this.#enqueue(async () => {
      this.#options.requireHeld()
      await note()
    })
  }

  async write (bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return
    if (this.#row === undefined) this.begin().catch(() => {})
    for (let at = 0; at < bytes.length;) at += this.#take(bytes.subarray(at, at + frameBytes - this.#filled))
    this.#bytes += bytes.length
    if (this.#gatheredBytes >= flushThresholdBytes) await this.#drain()
  }

  async flush (): Promise<void> {
    if (this.#row !== undefined) this.#seal(this.#frame?.subarray(0, this.#filled) ?? Buffer.alloc(0))
    this.#row = undefined
    await this.#drain()
    await toStorageError(() => this.#file.datasync())
  }

  async close (): Promise<void> {
    try {
      await this.flush()
    } finally {
      await this.#file.close()
    }
  }

  /** Adds bytes to the next frame, no more than fit. @returns their number */
  #take (bytes: Uint8Array): number {
    if (bytes.length === frameBytes) {
      this.#seal(bytes)
      return bytes.length
    }
    this.#frame ??= Buffer.allocUnsafeSlow(frameBytes)
    this.#frame.set(bytes, this.#filled)
    this.#filled += bytes.length
    if (this.#filled === frameBytes) this.#seal(this.#frame)
    return bytes.length
  }

  #seal (plain: Uint8Array): void {
    const row = this.#row!
    for (const part of encryptFrame(row.key, row.frames++, plain)) {
      this.#gathered.push(part)
      this.#gatheredBytes += part.length
      this.#end += part.length
    }
    this.#filled = 0
  }

  #drain (): Promise<void> {
    const [parts, length] = [this.#gathered, this.#gatheredBytes]
    this.#gathered = []
    this.#gatheredBytes = 0
    return this.#enqueue(() => this.#writeParts(parts, length))
  }

  /** Runs functions one after another. After one fails, all fail, since the file has a gap. */
  #enqueue (act: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing.then(() => toStorageError(act))
    this.#writing.catch(() => {})
    return this.#writing
  }

  async #writeParts (parts: readonly Buffer[], length: number): Promise<void> {
    await this.#options.take(length, this.#offset + length)
    this.#uncheckedBytes += length
    if (this.#uncheckedBytes >= roomCheckIntervalBytes) {
      await this.#options.requireRoom()
      this.#uncheckedBytes = 0
    }
    for (let rest = parts; rest.length > 0;) {
      this.#options.requireHeld()
      const { bytesWritten } = await this.#file.writev(rest, this.#offset)
      this.#offset += bytesWritten
      rest = dropWritten(rest, bytesWritten)
    }
  }
}

/** The rest of the parts after so many bytes of them were written. */
function dropWritten (parts: readonly Buffer[], written: number): readonly Buffer[] {
  let end = 0
  const at = parts.findIndex(part => (end += part.length) > written)
  return at < 0 ? [] : [parts[at]!.subarray(parts[at]!.length - (end - written)), ...parts.slice(at + 1)]
}
