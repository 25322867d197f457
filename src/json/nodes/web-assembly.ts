/** The part of https://webassembly.github.io/spec/js-api/ that is used, which TypeScript has only for browsers. */
export interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** The memory of compiled code. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer
  grow (pages: number): number
}

const pageBytes = 65_536
/** As `compile.js` sets it. */
const maxBytes = 320 * pageBytes

/** This process's own; null where Node.js has none. */
export const ownApi = (globalThis as { readonly WebAssembly?: WebAssemblyApi }).WebAssembly ?? null

/** Compiled code with a memory of its own, which grows with the largest text. It is compiled at its first use. */
export class CompiledCode<E extends { readonly memory: WasmMemory }> {
  readonly #code: string
  readonly #api: WebAssemblyApi | null
  #exports: E | undefined
  #isOpened = false
  /** All of the memory; another Buffer after it has grown. */
  memory = Buffer.alloc(0)

  /** @param code in base64 @param api null for none, as for tests */
  constructor (code: string, api: WebAssemblyApi | null) {
    this.#code = code
    this.#api = api
  }

  /** @returns its exports, with a memory of so many bytes; undefined without WebAssembly, and for more than 20 MiB */
  open (bytes: number): E | undefined {
    if (!this.#isOpened) this.#exports = openCode<E>(this.#code, this.#api)
    this.#isOpened = true
    const exports = this.#exports
    if (exports === undefined || !ensureCapacity(exports.memory, bytes)) return undefined
    if (this.memory.buffer !== exports.memory.buffer) this.memory = Buffer.from(exports.memory.buffer)
    return exports
  }
}

/** @returns the exports of code in base64; undefined where the processor or the options of Node.js do not allow it */
function openCode<E> (code: string, api: WebAssemblyApi | null): E | undefined {
  if (api === null) return undefined
  try {
    return new api.Instance(new api.Module(Buffer.from(code, 'base64'))).exports as E
  } catch {
    return undefined
  }
}

/** @returns whether a memory has so many bytes, after it has grown if need be; it has 20 MiB at most */
function ensureCapacity (memory: WasmMemory, bytes: number): boolean {
  const missing = bytes - memory.buffer.byteLength
  if (missing <= 0) return true
  if (bytes > maxBytes) return false
  try {
    memory.grow(Math.ceil(missing / pageBytes))
    return true
  } catch {
    return false
  }
}
