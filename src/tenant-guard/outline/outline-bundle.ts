import { compiled } from './compiled.js'

/** The part of https://webassembly.github.io/spec/js-api/ that is used, which TypeScript has only for browsers. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** The exports of `outline.as.ts`. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow (pages: number): number }
  readonly outline: (length: number) => number
}

/** The start of the text in the memory of `outline.as.ts`. */
const textStart = 512
const pageBytes = 65_536
/** As `compile.js` sets it. */
const maxBytes = 256 * pageBytes
/** The compiled code reads sixteen bytes at a time, and stops at a zero. */
const paddingBytes = 32
/** UTF-8 has at most so many for each of JavaScript's characters. */
const bytesPerCharacter = 3

const encoder = new TextEncoder()

/** For tests: other code, no bound, or a Node.js without WebAssembly. */
interface OutlinerOptions {
  readonly code?: string
  /** In characters. For shorter texts, a call takes as long as what it saves. */
  readonly minLength?: number
  readonly api?: WebAssemblyApi | null
}

/**
 * The text of a Bundle without the elements of its records that say neither what a record is nor whose: of each
 * `resource` of an entry, `resourceType`, `id` and `meta.tag` remain. JSON.parse makes of it what it makes of the whole
 * text, without those elements, in half the time or less.
 * @returns the text itself if it is short, has more than some MiB, names a member twice that decides which record it is
 * or whose, or is not understood, as all that is not JSON
 */
export const outlineBundle: (text: string) => string = createOutliner()

/** An {@link outlineBundle} of its own, with a memory of 16 MiB at most. The code is compiled at its first call. */
export function createOutliner ({
  code = compiled,
  minLength = 512,
  api = (globalThis as { readonly WebAssembly?: WebAssemblyApi }).WebAssembly ?? null
}: OutlinerOptions = {}): (text: string) => string {
  let opened: Exports | undefined
  let isOpened = false
  // All of the memory, from where the text is.
  let bytes = Buffer.alloc(0)
  return text => {
    if (text.length < minLength) return text
    if (!isOpened) opened = open(code, api)
    isOpened = true
    if (opened === undefined || !makeRoom(opened, text.length * bytesPerCharacter + paddingBytes)) return text
    if (bytes.buffer !== opened.memory.buffer) bytes = Buffer.from(opened.memory.buffer, textStart)
    const { written } = encoder.encodeInto(text, bytes)
    bytes.fill(0, written, written + paddingBytes)
    const length = opened.outline(written)
    return length < 0 ? text : bytes.toString('utf8', 0, length)
  }
}

/** @returns whether there is room for so many bytes of text, after the memory has grown if need be */
function makeRoom ({ memory }: Exports, needed: number): boolean {
  const missing = textStart + needed - memory.buffer.byteLength
  if (missing <= 0) return true
  if (textStart + needed > maxBytes) return false
  try {
    memory.grow(Math.ceil(missing / pageBytes))
    return true
  } catch {
    return false
  }
}

/** @returns undefined where the processor or the options of Node.js do not allow it */
function open (code: string, api: WebAssemblyApi | null): Exports | undefined {
  if (api === null) return undefined
  try {
    return new api.Instance(new api.Module(Buffer.from(code, 'base64'))).exports as Exports
  } catch {
    return undefined
  }
}
