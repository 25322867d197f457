import type { KeyObject } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { frameBytes, deriveKey, decryptFrame, sealedFrameBytes, type FileSecret } from './frames.js'
import { SegmentList, type Segment } from './segments.js'
import { corruptFile } from './storage-errors.js'
import type { ReadRange } from '../job-context.js'

/** The location and the secret of a file. */
export interface ReaderOptions {
  readonly path: string
  /** The path of its segment list. */
  readonly listPath: string
  readonly secret: FileSecret
}

/** Frames that are read from disk together. */
const framesPerRead = 4

/**
 * Reads the bytes of a file, each authenticated before it is yielded: those of a flushed state, up to its end.
 * @throws {Failure} INTERNAL_ERROR when the file was changed or truncated, or ends before `end`
 */
export async function * readFileBytes (
  { path, listPath, secret }: ReaderOptions,
  { start = 0, end = Infinity, state }: ReadRange = {}
): AsyncGenerator<Buffer> {
  const file = await open(path)
  try {
    const list = await SegmentList.read(listPath, secret)
    const reader = new FrameReader(file, list, secret)
    for (let offset = start; offset < end;) {
      const { chunks, isEnd } = await reader.read(offset, end)
      // After the read, since it may have reloaded the list.
      if (state !== undefined) list.require(state)
      for (const chunk of chunks) {
        yield chunk
        offset += chunk.length
      }
      if (isEnd && offset < end && end < Infinity) throw corruptFile('a file is truncated')
      if (isEnd) return
    }
  } finally {
    await file.close()
  }
}

interface Frames {
  /** At least one, except at the end of the file. */
  readonly chunks: readonly Buffer[]
  /** Whether they are the last bytes of the file. */
  readonly isEnd: boolean
}

/** Encrypted frames from disk; `first` is the number of the first one in its segment. */
interface Run {
  readonly segment: Segment
  readonly first: number
  readonly bytes: Buffer
  readonly next: Segment | undefined
}

class FrameReader {
  #buffer = Buffer.alloc(0)
  #key: { readonly segment: Segment; readonly frames: KeyObject } | undefined

  constructor (
    private readonly file: FileHandle,
    private readonly list: SegmentList,
    private readonly secret: FileSecret
  ) {}

  /**
   * Reads some bytes from an offset. Frames that do not fit the list are corrupt, unless a writer truncated the file
   * since the list was read.
   */
  async read (offset: number, end: number): Promise<Frames> {
    for (;;) {
      const run = await this.#readRun(offset, end)
      const frames = run === undefined ? undefined : this.#decryptFrames(run, offset, end)
      if (frames !== undefined) return frames
      if (!(await this.list.reload())) throw corruptFile('a frame of a file is missing or was changed')
    }
  }

  /** For an offset after the end, it reads the last frame, since only that frame proves that it is the last. */
  async #readRun (offset: number, end: number): Promise<Run | undefined> {
    const { segments } = this.list
    const at = segments.findLastIndex(({ start }) => start <= offset)
    const [segment, next] = [segments[at], segments[at + 1]]
    if (segment === undefined) return undefined
    const rowBytes = (next?.offset ?? (await this.file.stat()).size) - segment.offset
    if (rowBytes <= 0) return undefined
    const first = Math.min(
      Math.floor((offset - segment.start) / frameBytes),
      Math.ceil(rowBytes / sealedFrameBytes) - 1
    )
    const requested = Math.ceil((Math.min(end, next?.start ?? Infinity) - segment.start) / frameBytes) - first
    const length = Math.min(
      rowBytes - first * sealedFrameBytes,
      Math.min(Math.max(requested, 1), framesPerRead) * sealedFrameBytes
    )
    return { segment, first, next, bytes: await this.#readBytes(segment.offset + first * sealedFrameBytes, length) }
  }

  /** Reads into memory that the next call reuses. */
  async #readBytes (offset: number, length: number): Promise<Buffer> {
    if (this.#buffer.length < length) this.#buffer = Buffer.allocUnsafeSlow(length)
    let done = 0
    while (done < length) {
      const { bytesRead } = await this.file.read(this.#buffer, done, length - done, offset + done)
      if (bytesRead === 0) break
      done += bytesRead
    }
    return this.#buffer.subarray(0, done)
  }

  /** The chunks up to the first invalid frame; undefined when the first frame is invalid. */
  #decryptFrames ({ segment, first, next, bytes }: Run, offset: number, end: number): Frames | undefined {
    const key = this.#getKey(segment)
    const chunks: Buffer[] = []
    for (let at = 0; at < bytes.length; at += sealedFrameBytes) {
      const number = first + at / sealedFrameBytes
      const plain = decryptFrame(key, number, bytes.subarray(at, at + sealedFrameBytes))
      if (plain === undefined) break
      const start = segment.start + number * frameBytes
      const chunk = plain.subarray(Math.max(0, offset - start), Math.min(next?.start ?? Infinity, end) - start)
      if (chunk.length > 0) chunks.push(chunk)
      // A full frame is never the last one, so that truncation is always detected.
      if (plain.length < frameBytes && next === undefined) return { chunks, isEnd: true }
    }
    return chunks.length === 0 ? undefined : { chunks, isEnd: false }
  }

  #getKey (segment: Segment): KeyObject {
    if (this.#key?.segment !== segment) this.#key = { segment, frames: deriveKey(this.secret, 'frames', segment.salt) }
    return this.#key.frames
  }
}
