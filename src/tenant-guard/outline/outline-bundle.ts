import { CompiledCode, ownApi, type WasmMemory, type WebAssemblyApi } from '../../json/nodes/web-assembly.js'
import { compiled } from './compiled.js'

/** The exports of `outline.as.ts`. */
interface Exports {
  readonly memory: WasmMemory
  readonly outline: (length: number, output: number) => number
  readonly entriesStart: { readonly value: number }
}

/** The start of the text in the memory of `outline.as.ts`. */
const textStart = 512
/** The compiled code reads sixteen bytes at a time, and stops at a zero. */
const paddingBytes = 32
/** Room for an outline: it is seldom a quarter of its text. */
const estimateOutlineBytes = (length: number): number => 1_024 + (length >> 1)

/** For tests: other code, or a Node.js without WebAssembly. */
interface OutlinerOptions {
  readonly code?: string
  readonly api?: WebAssemblyApi | null
}

/** The content of a Bundle's outline: its records, and their positions in its text. */
export interface Outline {
  /**
   * The Bundle, without the elements of its records that say neither what a record is nor whose: of each `resource` of
   * an entry, `resourceType`, `id` and `meta.tag` remain. Equal tags of records that follow each other are one object.
   */
  readonly bundle: object
  /** Where the list of `entry` begins, in bytes. Behind that list nothing but the end of the Bundle follows. */
  readonly entriesStart: number
}

/**
 * The parts of a Bundle that JSON.parse would return for its text, in valid UTF-8, without the other elements and in a
 * fraction of the time.
 * @returns undefined if the text has more than some MiB, has anything behind its entries, names a member twice that
 * identifies a record or its tenant, or is not understood, as all text that is not JSON
 */
export const outlineBundle: (text: Buffer) => Outline | undefined = createOutliner()

/** An {@link outlineBundle} of its own, with a memory of 20 MiB at most. The code is compiled at its first call. */
export function createOutliner ({
  code = compiled,
  api = ownApi
}: OutlinerOptions = {}): (text: Buffer) => Outline | undefined {
  const outliner = new CompiledCode<Exports>(code, api)
  return text => {
    const textEnd = textStart + text.length
    const output = textEnd + paddingBytes
    const exports = outliner.open(output + estimateOutlineBytes(text.length))
    if (exports === undefined) return undefined
    const { memory } = outliner
    memory.set(text, textStart)
    memory.fill(0, textEnd, output)
    const length = exports.outline(text.length, output)
    if (length < 0) return undefined
    const bundle = readOutline(JSON.parse(memory.toString('utf8', output, output + length)))
    return { bundle, entriesStart: exports.entriesStart.value }
  }
}

/** The markers in an outline in place of a value; `outline.as.ts` defines them. */
const absent = 0
const same = 0
const none = 1
const noTag = 2

/** The Bundle that an outline represents. */
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
