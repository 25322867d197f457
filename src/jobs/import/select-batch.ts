import type { IndexFile } from './index-file.js'
import { states, type IndexedLine, type LineReference } from './index-rows.js'

/** Lines that can be written together now, and lines that can never be written. */
export interface BatchSelection {
  /** In the order of writing; the lines of a cycle are adjacent. */
  readonly lines: readonly IndexedLine[]
  /** Whether no more lines fit. */
  readonly isFull: boolean
  /** Each with the failed line that it refers to. */
  readonly blockedLines: ReadonlyArray<{ readonly line: IndexedLine, readonly because: LineReference }>
}

/** The limits of one transaction. References of lines that have to wait count, too, since each is looked up. */
interface Bounds { readonly lines: number, readonly bytes: number, readonly references: number }

/** Lines that are checked per line that may be chosen. */
const farther = 4

/** The next lines whose references are all stored, or chosen with them. @param underWay lines that are being written */
export function selectBatch (index: IndexFile, underWay: ReadonlySet<number>, bounds: Bounds): BatchSelection {
  return index.together(() => {
    const choice = new Choice(index, bounds)
    for (const line of waiting(index, underWay, bounds.lines)) {
      if (choice.has(line)) continue
      const one = index.at(line)
      if (!choice.add(one.cycle === null ? [one] : index.cycle(one.cycle))) break
    }
    return choice
  })
}

/** Lines that are not being written, in the order of writing. @param max maximum number of lines to choose */
function * waiting (index: IndexFile, underWay: ReadonlySet<number>, max: number): Generator<number> {
  let after = 0
  for (let looked = 0; looked < max * farther;) {
    const lines = index.pending(after, max)
    for (const { line, position } of lines) {
      after = position
      if (underWay.has(line)) continue
      looked++
      yield line
    }
    if (lines.length < max) return
  }
}

class Choice implements BatchSelection {
  readonly lines: IndexedLine[] = []
  readonly blockedLines: Array<BatchSelection['blockedLines'][number]> = []
  readonly #index: IndexFile
  readonly #bounds: Bounds
  readonly #chosen = new Set<number>()
  /** Lines of cycles and blocked lines, which need not be checked again. */
  readonly #looked = new Set<number>()
  #bytes = 0
  #references = 0
  #isFull = false

  constructor (index: IndexFile, bounds: Bounds) {
    this.#index = index
    this.#bounds = bounds
  }

  get isFull (): boolean {
    return this.#isFull || this.lines.length >= this.#bounds.lines || this.#hasLooked
  }

  /**
   * Whether the search is over. The first line in the order of writing is always checked, and waits only for lines that
   * are under way.
   */
  get #hasLooked (): boolean {
    return this.#references >= this.#bounds.references
  }

  has (line: number): boolean {
    return this.#chosen.has(line) || this.#looked.has(line)
  }

  /** @returns false when no more lines may be added */
  add (together: readonly IndexedLine[]): boolean {
    const own = new Set(together.map(({ line }) => line))
    if (own.size > 1) for (const line of own) this.#looked.add(line)
    const all = together.flatMap(({ line }) => this.#index.referred(line))
    this.#references += all.length
    const referred = all.filter(({ line }) => !own.has(line))
    const because = referred.find(({ state }) => state === states.failed)
    if (because !== undefined) return this.#doom(together, because)
    if (!referred.every(({ line, state }) => state === states.done || this.#chosen.has(line))) return !this.#hasLooked
    return this.#choose(together)
  }

  #doom (together: readonly IndexedLine[], because: LineReference): boolean {
    for (const line of together) {
      this.blockedLines.push({ line, because })
      this.#looked.add(line.line)
    }
    return !this.#hasLooked && this.blockedLines.length < this.#bounds.lines * farther
  }

  #choose (together: readonly IndexedLine[]): boolean {
    const bytes = together.reduce((sum, { bytes }) => sum + bytes, 0)
    const isFull = this.lines.length + together.length > this.#bounds.lines || this.#bytes + bytes > this.#bounds.bytes
    if (isFull && this.lines.length > 0) {
      this.#isFull = true
      return false
    }
    this.lines.push(...together)
    for (const { line } of together) this.#chosen.add(line)
    this.#bytes += bytes
    return !this.#hasLooked
  }
}
