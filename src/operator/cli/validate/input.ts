/** The values of a file, one after the other, in memory that does not grow with the file. */

type Chunks = AsyncIterable<Uint8Array>

/** One value of an input, unparsed. */
export interface Value {
  /** Where it begins; the first line is 1. */
  readonly line: number
  /** Undefined for a value that is longer than any body may be, which is not buffered. */
  readonly bytes: Uint8Array | undefined
  /** Whether it is the complete input, over any number of lines. */
  readonly isDocument: boolean
}

/** The options of reading an input. */
interface InputOptions {
  /** The longest value, in bytes. */
  readonly max: number
  /** Whether every line is a value by itself, even if the first line is not complete JSON. */
  readonly isNdjson: boolean
}

/**
 * One JSON document, or NDJSON: a value per line, ignoring lines of white space. It is a document when its first
 * non-empty line is not JSON by itself, and either ends where only a document continues (`{`, `[`, `,` or `:`) or the
 * complete input is JSON.
 */
export async function * readValues (chunks: Chunks, { max, isNdjson }: InputOptions): AsyncGenerator<Value> {
  const reader = chunks[Symbol.asyncIterator]()
  try {
    const head: Head = isNdjson ? noHead : await readHead(reader, max)
    if (isDocument(head)) yield { line: 1, bytes: head.isComplete ? head.bytes : undefined, isDocument: true }
    else yield * readLines(joinChunks(head, reader), max)
  } finally {
    await reader.return?.()
  }
}

/** The beginning of an input: enough to detect its format. */
interface Head {
  readonly bytes: Buffer
  /** The bytes that were read beyond it. */
  readonly more: Uint8Array
  /** The first line that is not empty, when it has an end. */
  readonly first: Buffer | undefined
  readonly isComplete: boolean
}

const nothing = Buffer.alloc(0)
const noHead: Head = { bytes: nothing, more: nothing, first: undefined, isComplete: false }

async function readHead (reader: AsyncIterator<Uint8Array>, max: number): Promise<Head> {
  const buffer = Buffer.allocUnsafe(max + 1)
  let size = 0
  let first: Buffer | undefined
  while (true) {
    const { done = false, value: chunk = nothing } = await reader.next()
    const taken = chunk.subarray(0, buffer.length - size)
    buffer.set(taken, size)
    size += taken.length
    const isNew = first === undefined && taken.includes(newline)
    if (isNew) first = findFirstLine(buffer.subarray(0, size))
    const isClear = isNew && first !== undefined && isJson(first)
    if (done || isClear || size === buffer.length) {
      return { bytes: buffer.subarray(0, size), more: chunk.subarray(taken.length), first, isComplete: done }
    }
  }
}

function isDocument ({ bytes, first, isComplete }: Head): boolean {
  if (first === undefined || isJson(first)) return false
  return isContinued(first) || (isComplete && isJson(bytes))
}

const newline = 0x0A
const blanks = new Set([0x20, 0x09, 0x0D])
const isBlank = (line: Uint8Array): boolean => line.every(byte => blanks.has(byte))

function findFirstLine (bytes: Buffer): Buffer | undefined {
  for (let start = 0, end; (end = bytes.indexOf(newline, start)) >= 0; start = end + 1) {
    const line = bytes.subarray(start, end)
    if (!isBlank(line)) return line
  }
  return undefined
}

/** Whether a line ends where JSON cannot end: a structure was just opened, or a value has to follow. */
const isContinued = (line: Buffer): boolean => /[{[,:][ \t\r]*$/.test(line.subarray(-256).toString('latin1'))

function isJson (bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

async function * joinChunks (
  { bytes, more, isComplete }: Head,
  reader: AsyncIterator<Uint8Array>
): AsyncGenerator<Uint8Array> {
  yield bytes
  yield more
  if (isComplete) return
  for (let next = await reader.next(); next.done !== true; next = await reader.next()) yield next.value
}

async function * readLines (chunks: Chunks, max: number): AsyncGenerator<Value> {
  let line: Line = { number: 1, parts: [], length: 0 }
  for await (const chunk of chunks) {
    let start = 0
    for (let end; (end = chunk.indexOf(newline, start)) >= 0; start = end + 1) {
      const value = toValue(appendPart(line, chunk.subarray(start, end), max), max)
      if (value !== undefined) yield value
      line = { number: line.number + 1, parts: [], length: 0 }
    }
    line = appendPart(line, chunk.subarray(start), max)
  }
  // The last line may have no newline behind it.
  const value = toValue(line, max)
  if (value !== undefined) yield value
}

/** A line as far as it was read; of a line that is too long, only the length is stored. */
interface Line { readonly number: number, readonly parts: readonly Uint8Array[], readonly length: number }

/** Where lines end with CRLF, a line has one byte more than its value. */
const carriageReturn = 0x0D

function appendPart ({ number, parts, length }: Line, part: Uint8Array, max: number): Line {
  const full = length + part.length
  return { number, parts: full > max + 1 ? [] : [...parts, part], length: full }
}

/** The value on a line; undefined where there is only white space. */
function toValue ({ number, parts, length }: Line, max: number): Value | undefined {
  const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  const bytes = all.at(-1) === carriageReturn ? all.subarray(0, -1) : all
  const isTooLong = bytes.length > max || length > max + 1
  if (!isTooLong && isBlank(bytes)) return undefined
  return { line: number, bytes: isTooLong ? undefined : bytes, isDocument: false }
}
