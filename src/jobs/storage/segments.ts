import { createHmac, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { frameBytes, deriveKey, toPlaintextLength, sealedFrameBytes, type FileSecret } from './frames.js'
import { corruptFile } from './storage-errors.js'
import type { FileState } from '../job-context.js'

/** A segment of a file: its bytes, up to the start of the next segment, are in one row of frames. */
export interface Segment {
  /** The offset in the plaintext, in bytes. */
  readonly start: number
  /** The offset of the row on disk. */
  readonly offset: number
  /** The salt of the key of its frames. */
  readonly salt: Buffer
  /** Authenticates the list of segments up to this one; used as {@link FileState.mark}. */
  readonly mark: string
}

const numberBytes = 8
const saltBytes = 16
const markBytes = 16
const noteBytes = 2 * numberBytes + saltBytes
const entryBytes = noteBytes + markBytes

/** The segments of one file, to which its only writer adds. */
export class SegmentList {
  readonly #path: string
  readonly #key: KeyObject
  #bytes: Buffer
  #segments: readonly Segment[] | undefined

  private constructor (path: string, secret: FileSecret, bytes: Buffer) {
    this.#path = path
    this.#key = deriveKey(secret, 'list')
    this.#bytes = requireValidEntries(bytes, this.#key)
  }

  /** Reads the list; empty for a file without one. @throws {Failure} when it was changed */
  static async read (path: string, secret: FileSecret): Promise<SegmentList> {
    return new SegmentList(path, secret, await readIfExists(path))
  }

  get segments (): readonly Segment[] {
    this.#segments ??= parseSegments(this.#bytes)
    return this.#segments
  }

  /** @throws {Failure} when the content is not that of the recorded state */
  require ({ bytes, mark }: FileState): void {
    if (bytes > 0 && findSegmentBefore(bytes, this.segments).segment?.mark !== mark) {
      throw corruptFile('a file is not in the recorded state')
    }
  }

  /** Creates the next segment, with a new salt. It is not valid before `note` has stored it. */
  createNext (start: number, offset: number): { readonly segment: Segment, readonly note: () => Promise<void> } {
    const index = this.#bytes.length
    const { entry, segment } = createEntry(this.#bytes, { start, offset }, this.#key)
    this.#setBytes(Buffer.concat([this.#bytes, entry]))
    return { segment, note: async () => await put(this.#path, entry, index) }
  }

  /** Reloads the list. @returns whether it has changed */
  async reload (): Promise<boolean> {
    const bytes = requireValidEntries(await readIfExists(this.#path), this.#key)
    if (bytes.equals(this.#bytes)) return false
    this.#setBytes(bytes)
    return true
  }

  #setBytes (bytes: Buffer): void {
    this.#bytes = bytes
    this.#segments = undefined
  }
}

/**
 * The offset on disk after the frame that holds the last byte before an offset: everything after it may be cut off.
 * @param fileBytes the size of the file on disk
 * @returns undefined when the file is too short
 */
export function findPreviousFrameEnd (
  index: number, segments: readonly Segment[], fileBytes: number
): number | undefined {
  const { segment, next } = findSegmentBefore(index, segments)
  if (segment === undefined) return index === 0 ? 0 : undefined
  const rowBytes = Math.min(next?.offset ?? fileBytes, fileBytes) - segment.offset
  if (toPlaintextLength(rowBytes) < index - segment.start) return undefined
  return segment.offset + Math.min(rowBytes, Math.ceil((index - segment.start) / frameBytes) * sealedFrameBytes)
}

/** The segment that holds the last byte before an offset, and the next one. */
function findSegmentBefore (
  index: number,
  segments: readonly Segment[]
): { readonly segment: Segment | undefined; readonly next: Segment | undefined } {
  const at = segments.findLastIndex(({ start }) => start < index)
  return { segment: segments[at], next: segments[at + 1] }
}

/** The bytes of plaintext in a file of this size on disk. Only reading authenticates them. */
export function countPlainBytes (segments: readonly Segment[], fileBytes: number): number {
  const at = segments.findLastIndex(({ offset }) => offset <= fileBytes)
  const segment = segments[at]
  if (segment === undefined) return 0
  return Math.min(segments[at + 1]?.start ?? Infinity, segment.start + toPlaintextLength(fileBytes - segment.offset))
}

async function readIfExists (path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

async function put (path: string, entry: Buffer, index: number): Promise<void> {
  const list = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    await list.write(entry, 0, entry.length, index)
    await list.datasync()
  } finally {
    await list.close()
  }
}

/** The valid entries: an incomplete last entry, left by a crash, was never used. */
function requireValidEntries (bytes: Buffer, key: KeyObject): Buffer {
  const full = bytes.length - bytes.length % entryBytes
  for (const length of [full, full - entryBytes]) {
    if (length <= 0) return bytes.subarray(0, 0)
    if (isAuthentic(bytes.subarray(0, length), key)) return bytes.subarray(0, length)
  }
  throw corruptFile('the list of a file\'s pieces was changed')
}

/** The last mark authenticates everything before it. */
function isAuthentic (list: Buffer, key: KeyObject): boolean {
  return timingSafeEqual(computeMark(list.subarray(0, -markBytes), key), list.subarray(-markBytes))
}

function computeMark (list: Buffer, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(list).digest().subarray(0, markBytes)
}

function createEntry (
  list: Buffer,
  { start, offset }: Pick<Segment, 'start' | 'offset'>,
  key: KeyObject
): { readonly entry: Buffer; readonly segment: Segment } {
  const salt = randomBytes(saltBytes)
  const note = Buffer.alloc(noteBytes)
  note.writeBigUInt64BE(BigInt(start))
  note.writeBigUInt64BE(BigInt(offset), numberBytes)
  salt.copy(note, 2 * numberBytes)
  const mark = computeMark(Buffer.concat([list, note]), key)
  return { entry: Buffer.concat([note, mark]), segment: { start, offset, salt, mark: encodeMark(mark) } }
}

/** A segment replaces earlier ones that begin at the same offset or later. */
function parseSegments (list: Buffer): readonly Segment[] {
  const segments: Segment[] = []
  for (let at = 0; at < list.length; at += entryBytes) {
    const start = Number(list.readBigUInt64BE(at))
    while (segments.length > 0 && segments.at(-1)!.start >= start) segments.pop()
    segments.push({
      start,
      offset: Number(list.readBigUInt64BE(at + numberBytes)),
      salt: list.subarray(at + 2 * numberBytes, at + noteBytes),
      mark: encodeMark(list.subarray(at + noteBytes, at + entryBytes))
    })
  }
  return segments
}

const encodeMark = (mark: Buffer): string => mark.toString('base64url')
