import { makeRoom, openCode, ownApi, type WasmMemory, type WebAssemblyApi } from '../../json/nodes/web-assembly.js'
import { compiled } from './compiled.js'

/** The exports of `outline.as.ts`. */
interface Exports {
  readonly memory: WasmMemory
  readonly outline: (length: number, output: number) => number
}

/** The start of the text in the memory of `outline.as.ts`. */
const textStart = 512
/** The compiled code reads sixteen bytes at a time, and stops at a zero. */
const paddingBytes = 32
/** UTF-8 has at most so many for each of JavaScript's characters. */
const bytesPerCharacter = 3
/** Room for an outline: it is seldom a quarter of its text. */
const outlineBytes = (text: string) => 1_024 + text.length / 2

const encoder = new TextEncoder()

/** For tests: other code, no bound, or a Node.js without WebAssembly. */
interface OutlinerOptions {
  readonly code?: string
  /** In characters. For shorter texts, a call takes as long as what it saves. */
  readonly minLength?: number
  readonly api?: WebAssemblyApi | null
}

/**
 * A Bundle from its text, without the elements of its records that say neither what a record is nor whose: of each
 * `resource` of an entry, `resourceType`, `id` and `meta.tag` remain. It is what JSON.parse makes of the text, without
 * those elements, in a fraction of the time. Equal tags of records that follow each other are one object.
 * @returns undefined if the text is short, has more than some MiB, has anything behind its entries, names a member
 * twice that decides which record it is or whose, or is not understood, as all that is not JSON
 */
export const outlineBundle: (text: string) => object | undefined = createOutliner()

/** An {@link outlineBundle} of its own, with a memory of 20 MiB at most. The code is compiled at its first call. */
export function createOutliner ({
  code = compiled,
  minLength = 512,
  api = ownApi
}: OutlinerOptions = {}): (text: string) => object | undefined {
  let opened: Exports | undefined
  let isOpened = false
  // All of the memory, from where the text is.
  let bytes = Buffer.alloc(0)
  return text => {
    if (text.length < minLength) return undefined
    if (!isOpened) opened = openCode<Exports>(code, api)
    isOpened = true
    const needed = text.length * bytesPerCharacter + paddingBytes + outlineBytes(text)
    if (opened === undefined || !makeRoom(opened.memory, textStart + needed)) return undefined
    if (bytes.buffer !== opened.memory.buffer) bytes = Buffer.from(opened.memory.buffer, textStart)
    const { written } = encoder.encodeInto(text, bytes)
    const output = written + paddingBytes
    bytes.fill(0, written, output)
    const length = opened.outline(written, textStart + output)
    return length < 0 ? undefined : readOutline(JSON.parse(bytes.toString('utf8', output, output + length)))
  }
}

/** What stands in an outline in place of a value; `outline.as.ts` says where. */
const absent = 0
const same = 0
const none = 1
const noTag = 2

/** The Bundle that an outline stands for. */
function readOutline (items: readonly unknown[]): object {
  const entry: object[] = []
  let rest: unknown
  let meta: object = {}
  for (let at = 1; at < items.length; at += 5) {
    const [fullUrl, resourceType, id, tag] = [items[at + 1], items[at + 2], items[at + 3], items[at + 4]]
    if (items[at] !== same) rest = items[at]
    if (Array.isArray(tag)) meta = { tag }
    const read: Record<string, unknown> = { ...rest as object }
    if (fullUrl !== absent) read.fullUrl = fullUrl
    if (resourceType !== none) {
      const resource: Record<string, unknown> = read.resource = {}
      if (resourceType !== absent) resource.resourceType = resourceType
      if (id !== absent) resource.id = id
      if (tag !== none) resource.meta = tag === noTag ? {} : meta
    }
    entry.push(read)
  }
  return Object.assign(items[0] as object, { entry })
}
