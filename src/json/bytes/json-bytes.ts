import { CompiledCode, ownApi, type WasmMemory, type WebAssemblyApi } from '../nodes/web-assembly.js'
import { compiled } from './compiled.js'

/** The exports of `bytes.as.ts`. */
interface Exports {
  readonly memory: WasmMemory
  readonly open: (length: number, soughtLength: number, otherLength: number) => void
  readonly hasMember: () => number
  readonly replace: (output: number, limit: number) => number
}

/** Where `bytes.as.ts` has the other text, and the JSON. */
const otherStart = 512
const textStart = 1_024
const maxSoughtBytes = 512
/** The compiled code reads so far behind the JSON: sixteen bytes, as far away as the text that it looks for is long. */
const paddingBytes = maxSoughtBytes + 32
/** Room for a replacement that is longer, for a probable number of replacements; beyond that there is no result. */
const estimateOutputBytes = (length: number): number => length + (length >> 2) + 1_024

/** The input of the compiled code, and the maximum number of bytes that it may write. */
interface Input { readonly json: Buffer, readonly sought: Buffer, readonly other: Buffer, readonly capacity?: number }

/** For tests: other code, or a Node.js without WebAssembly. */
interface JsonBytesOptions {
  readonly code?: string
  readonly api?: WebAssemblyApi | null
}

/**
 * Looks for a text in the bytes of JSON, in a fraction of the time that the engine takes. It knows nothing of JSON that
 * escapes a slash, as in `http:\/\/`, and of more than some MiB.
 */
export class JsonBytes {
  readonly #code: CompiledCode<Exports>

  constructor ({ code = compiled, api = ownApi }: JsonBytesOptions = {}) {
    this.#code = new CompiledCode(code, api)
  }

  /** Whether a member of a name may have a value that begins with a text; true for all that is not known. */
  mayHaveMember (json: Buffer, name: Buffer, prefix: Buffer): boolean {
    return this.#open({ json, sought: prefix, other: name })?.hasMember() !== 0
  }

  /**
   * The same JSON with another text in place of each that is found.
   * @returns a view that is valid until the next call; undefined for JSON of which it knows nothing
   */
  replaceAll (json: Buffer, found: Buffer, other: Buffer): Buffer | undefined {
    const capacity = estimateOutputBytes(json.length)
    const exports = this.#open({ json, sought: found, other, capacity })
    if (exports === undefined) return undefined
    const output = textStart + json.length + paddingBytes
    const length = exports.replace(output, output + capacity)
    return length < 0 ? undefined : this.#code.memory.subarray(output, output + length)
  }

  #open ({ json, sought, other, capacity = 0 }: Input): Exports | undefined {
    if (Math.max(sought.length, other.length) > maxSoughtBytes) return undefined
    const exports = this.#code.open(textStart + json.length + paddingBytes + capacity)
    if (exports === undefined) return undefined
    const { memory } = this.#code
    memory.set(sought)
    memory.set(other, otherStart)
    memory.set(json, textStart)
    exports.open(json.length, sought.length, other.length)
    return exports
  }
}
