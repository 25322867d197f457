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

/** @returns the exports of code in base64; undefined where the processor or the options of Node.js do not allow it */
export function openCode<E> (code: string, api: WebAssemblyApi | null): E | undefined {
  if (api === null) return undefined
  try {
    return new api.Instance(new api.Module(Buffer.from(code, 'base64'))).exports as E
  } catch {
    return undefined
  }
}

/** @returns whether a memory has so many bytes, after it has grown if need be; it has 20 MiB at most */
export function makeRoom (memory: WasmMemory, bytes: number): boolean {
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
