import type { Output } from './output.js'

/** Characters that are collected before a write, since each write searches a full file. */
const gathered = 4_194_304

/**
 * Records of one type that changed during the export. A record whose earlier version is in the file already stays
 * unchanged there, so that no record is in an export twice; a later export with `_since` has the change.
 */
export class LateChanges {
  type: string | undefined
  readonly #output: Output
  readonly #texts = new Map<string, string>()
  #length = 0

  constructor (output: Output) {
    this.#output = output
  }

  get isEmpty (): boolean {
    return this.#texts.size === 0
  }

  get isFull (): boolean {
    return this.#length >= gathered
  }

  add (type: string, texts: readonly string[]): void {
    this.type = type
    for (const text of texts) {
      this.#texts.set((JSON.parse(text) as { readonly id: string }).id, text)
      this.#length += text.length
    }
  }

  async write (): Promise<void> {
    if (this.type === undefined) return
    const known = await this.#output.idsAmong(this.type, new Set(this.#texts.keys()))
    await this.#output.write(this.type, [...this.#texts].flatMap(([id, text]) => known.has(id) ? [] : [text]))
    this.type = undefined
    this.#texts.clear()
    this.#length = 0
  }
}
