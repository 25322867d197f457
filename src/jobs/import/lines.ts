/** Reads the lines of an input, in memory bounded by the longest line. */

/** One line of the input. */
export interface RawLine {
  /** The first one is 1. */
  readonly line: number
  /** The offset of its first byte. */
  readonly at: number
  /** Its length without the newline. */
  readonly bytes: number
  /** Undefined for a line over the maximum length, whose content is dropped. */
  readonly content: Buffer | undefined
}

/** The first byte of the line at which reading begins. */
interface LinePosition { readonly line: number, readonly at: number }

export const newline = 0x0A

/** The lines from a position on, one chunk's lines at a time; the last line needs no newline. */
export async function * splitLines (
  chunks: AsyncIterable<Buffer>,
  from: LinePosition,
  max: number
): AsyncGenerator<readonly RawLine[]> {
  let { line, at } = from
  let parts: Buffer[] = []
  let length = 0
  const take = (part: Buffer): void => {
    length += part.length
    if (length > max) parts = []
    else if (part.length > 0) parts.push(part)
  }
  const end = (): RawLine => {
    const full: RawLine = {
      line,
      at,
      bytes: length,
      content: length > max ? undefined : parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    }
    line++
    at += length + 1
    parts = []
    length = 0
    return full
  }
  for await (const chunk of chunks) {
    const lines: RawLine[] = []
    let start = 0
    for (let stop; (stop = chunk.indexOf(newline, start)) >= 0; start = stop + 1) {
      take(chunk.subarray(start, stop))
      lines.push(end())
    }
    take(chunk.subarray(start))
    if (lines.length > 0) yield lines
  }
  if (length > 0) yield [end()]
}

const blanks = new Set([0x20, 0x09, 0x0D])

/** Counts the lines of chunks, as {@link splitLines} yields them. */
export class LineCount {
  #ended = 0
  #last = newline
  #blank = 0
  /** Whether the line that has no end yet is blank so far. */
  #isBlank = true

  add (chunk: Uint8Array): void {
    let start = 0
    for (let at = -1; (at = chunk.indexOf(newline, at + 1)) >= 0; start = at + 1) {
      this.#updateIsBlank(chunk, start, at)
      this.#ended++
      if (this.#isBlank) this.#blank++
      this.#isBlank = true
    }
    this.#updateIsBlank(chunk, start, chunk.length)
    this.#last = chunk.at(-1) ?? this.#last
  }

  #updateIsBlank (chunk: Uint8Array, start: number, end: number): void {
    for (let at = start; this.#isBlank && at < end; at++) this.#isBlank = blanks.has(chunk[at]!)
  }

  /** Those of the lines that contain only white space. */
  get blank (): number {
    return this.#blank + (!this.isEnded && this.#isBlank ? 1 : 0)
  }

  /** Whether the last line ends with a newline. */
  get isEnded (): boolean {
    return this.#last === newline
  }

  get lines (): number {
    return this.#ended + (this.isEnded ? 0 : 1)
  }
}

/** Whether a line contains only white space. */
export const isBlank = (content: Buffer): boolean => content.every(byte => blanks.has(byte))

const byteOrderMark = Buffer.from([0xEF, 0xBB, 0xBF])

/** The content of a line without the byte order mark that some programs put before the first one. */
export function withoutBom (line: number, content: Buffer): Buffer {
  return line === 1 && content.subarray(0, 3).equals(byteOrderMark) ? content.subarray(3) : content
}
