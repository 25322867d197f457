import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import type { ReaderOptions } from './file-reader.js'
import { frameBytes, keyFor, encryptFrame } from './frames.js'
import { previousFrameEnd, SegmentList } from './segments.js'
import { toStorageError } from './storage-errors.js'
import type { FileWriter } from '../job-context.js'

/** How much gathers before it goes to the disk. */
const gatheredBytes = 262_144

/** How much is written between two looks at what is left of the disk. */
const lookedAfterBytes = 33_554_432

/** What a file is written with. */
interface WriterOptions extends ReaderOptions {
  readonly from: number
  /** Of the file as it was when the place was noted. */
  readonly mark?: string | undefined
  /** Throws when too little is left of the disk. */
  readonly requireRoom: () => Promise<void>
  /**
   * Counts what is about to be written, and how far the file reaches then; throws when that is too much for whoever the
   * job is of.
   */
  readonly take: (bytes: number, fileBytes: number) => Promise<void>
  /** Throws when somebody else may be writing. */
  readonly requireHeld: () => void
}

/**
 * Opens a file to be written from a place on.
 *
 * Why nothing that was flushed is ever harmed: the frame that holds the last byte before the place stays whole, and
 * what follows goes behind it, into a piece of its own. The note of a piece is on the disk before its first byte.
 *
 * Why no key seals two frames of one number: each piece has a key of its own, made with 128 random bits, and a writer
 * only ever goes forward.
 * @throws {Failure} BACKEND_UNAVAILABLE when there is no room; INTERNAL_ERROR when the file was changed
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
      const offset = previousFrameEnd(from, list.segments, (await file.stat()).size)
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

/** Where a writer is: the file, its pieces, and where on the disk the next frame goes. */
interface OpenedFile { readonly file: FileHandle, readonly list: SegmentList, readonly offset: number }

/** Calls that overlap keep their order: what they do before they wait for anything settles it. */
class SealingWriter implements FileWriter {
  readonly #file: FileHandle
  readonly #list: SegmentList
  readonly #options: WriterOptions
  /** The row that is being written; none after a flush, which ended it with a short frame. */
  #row: { readonly key: Buffer, frames: number } | undefined
  /** What is in the next frame so far. */
  #frame: Buffer | undefined
  #filled = 0
  #gathered: Buffer[] = []
  #gatheredBytes = 0
  #unlooked = 0
  /** Where on the disk what is gathered will end, and how far the disk has it. */
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

  /** Begins a piece. */
  async begin (): Promise<void> {
    const { segment, note } = this.#list.next(this.#bytes, this.#end)
    this.#row = { key: keyFor(this.#options.secret, 'frames', segment.salt), frames: 0 }
    await this.#queued(async () => {
      this.#options.requireHeld()
      await note()
    })
  }

  async write (bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return
    if (this.#row === undefined) this.begin().catch(() => {})
    for (let at = 0; at < bytes.length;) at += this.#take(bytes.subarray(at, at + frameBytes - this.#filled))
    this.#bytes += bytes.length
    if (this.#gatheredBytes >= gatheredBytes) await this.#drain()
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

  /** Bytes for the next frame, no more than it has room for. @returns how many */
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
    return this.#queued(() => this.#put(parts, length))
  }

  /** One after another; after one that failed, all fail, for there is a hole. */
  #queued (act: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing.then(() => toStorageError(act))
    this.#writing.catch(() => {})
    return this.#writing
  }

  async #put (parts: readonly Buffer[], length: number): Promise<void> {
    await this.#options.take(length, this.#offset + length)
    this.#unlooked += length
    if (this.#unlooked >= lookedAfterBytes) {
      await this.#options.requireRoom()
      this.#unlooked = 0
    }
    for (let rest = parts; rest.length > 0;) {
      this.#options.requireHeld()
      const { bytesWritten } = await this.#file.writev(rest, this.#offset)
      this.#offset += bytesWritten
      rest = behind(rest, bytesWritten)
    }
  }
}

/** What is left of parts when so many bytes of them were written. */
function behind (parts: readonly Buffer[], written: number): readonly Buffer[] {
  let end = 0
  const at = parts.findIndex(part => (end += part.length) > written)
  return at < 0 ? [] : [parts[at]!.subarray(parts[at]!.length - (end - written)), ...parts.slice(at + 1)]
}
