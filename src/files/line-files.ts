/** Determines, by its beginning, the kind of a file that was sent as NDJSON but has no records on its lines. */

/** The maximum number of bytes that are examined. */
const maxHead = 65_536
const newline = 0x0A
const byteOrderMark = Buffer.from([0xEF, 0xBB, 0xBF])

/** The options of reading a file. */
interface LineOptions {
  /** Whether one JSON value over several lines is a record, too. */
  readonly takesDocument?: boolean
  /** The error for a text such as "it is compressed with gzip; decompress it". */
  readonly refuse: (reason: string) => Error
}

/** The same chunks, once their beginning is known to be lines of records. @throws what `refuse` makes */
export async function * requireLines<T extends Uint8Array> (
  chunks: AsyncIterable<T> | Iterable<T>,
  { takesDocument = false, refuse }: LineOptions
): AsyncGenerator<T> {
  const held: T[] = []
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield chunk
      continue
    }
    held.push(chunk)
    head = Buffer.concat([head, chunk.subarray(0, maxHead - head.length)])
    if (head.length < maxHead && !(chunk.includes(newline) && readFirstLines(head).length === 3)) continue
    requireRecords(head)
    head = undefined
    yield * held.splice(0)
  }
  if (head !== undefined) requireRecords(head)
  yield * held

  function requireRecords (firstBytes: Buffer): void {
    const reason = findFormatError(firstBytes, takesDocument)
    if (reason !== undefined) throw refuse(reason)
  }
}

const signatures: ReadonlyArray<readonly [bytes: readonly number[], reason: string]> = [
  [[0x1F, 0x8B], 'it is compressed with gzip; decompress it, or send it with Content-Encoding: gzip'],
  [[0x50, 0x4B, 0x03, 0x04], 'it is a ZIP archive; send the files in it, one by one'],
  [[0xFF, 0xFE], 'it is in UTF-16; save it in UTF-8'],
  [[0xFE, 0xFF], 'it is in UTF-16; save it in UTF-8']
]

const bundle =
  "it is a Bundle; send its resources, one on each line, as jq -c '.entry[].resource' prints them, or a transaction or batch to /v1/fhir"
const document = "it is one JSON value over several lines; send one record on each line, as jq -c '.' prints them"

function findFormatError (head: Buffer, takesDocument: boolean): string | undefined {
  const [, reason] = signatures.find(([bytes]) => bytes.every((byte, at) => head[at] === byte)) ?? []
  if (reason !== undefined) return reason
  const [first = '', second = ''] = readFirstLines(head)
  if (first.startsWith('<')) return 'it is XML; send JSON, one record on each line'
  const value = tryParseJson(first)
  if (value !== undefined) return isOfRequests(value) || (takesDocument && isBundle(value)) ? bundle : undefined
  const isDocument = /^[{[]$/.test(first) || (/^[{[].*[{[,:]$/s.test(first) && tryParseJson(second) === undefined)
  if (isDocument || first.length > maxHead / 2) {
    if (/^\{\s*(?:"(?:id|type)"\s*:\s*"[^"]*"\s*,\s*)*"resourceType"\s*:\s*"Bundle"/.test(toText(head))) return bundle
  }
  return isDocument && !takesDocument ? document : undefined
}

/** Bundles of these types are no records, but many in one. */
const carriers = new Set(['transaction', 'batch', 'searchset', 'history', 'transaction-response', 'batch-response'])

const isBundle = (value: unknown): value is { readonly type?: unknown } =>
  (value as { readonly resourceType?: unknown } | null)?.resourceType === 'Bundle'

/** Whether a value is a Bundle that only carries records. */
export const isOfRequests = (value: unknown): boolean => isBundle(value) && carriers.has(String(value.type))

function tryParseJson (line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const toText = (head: Buffer): string =>
  (head.subarray(0, 3).equals(byteOrderMark) ? head.subarray(3) : head).toString('latin1').trimStart()

/** The first lines that are not blank, the last of them perhaps cut off. */
function readFirstLines (head: Buffer): readonly string[] {
  const lines: string[] = []
  const start = head.subarray(0, 3).equals(byteOrderMark) ? 3 : 0
  for (let at = start; at <= head.length && lines.length < 3;) {
    const end = head.indexOf(newline, at)
    const line = head.subarray(at, end < 0 ? undefined : end).toString('latin1').trim()
    if (line !== '') lines.push(line)
    if (end < 0) break
    at = end + 1
  }
  return lines
}
