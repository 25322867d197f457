import { Failure } from '../../envelope/failures.js'
import { end, failedEnd, type Errand } from './errand.js'
import { ordered, TooDeep, type Together } from './order.js'

/** Lines of a circle, which go into one transaction. */
export const mostInCircle = 500
/** Lines that are ordered before they are put into the index, and lines that are looked at together. */
const together = 1_000

/** Puts all lines of an import in the order in which they can be written. */
export async function orderLines (errand: Errand): Promise<void> {
  while (!await orderAll(errand)) errand.signal.throwIfAborted()
  errand.index.set('ordered')
}

/** @returns false when lines were in the way that can't be written, and the rest is still to be ordered */
async function orderAll (errand: Errand): Promise<boolean> {
  const { index, signal } = errand
  const places = new Places(errand)
  const references = {
    waiting: (after: number) => index.unordered(after, together),
    referred: (line: number) => index.referred(line).map(({ line }) => line)
  }
  try {
    for await (const lines of ordered(references, line => places.has(line) || index.isOrdered(line))) {
      places.add(lines)
      signal.throwIfAborted()
    }
    return true
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error
    fail(errand, error.lines, 'The lines that it refers to lead on to too many others.')
    return false
  } finally {
    places.note()
  }
}

/** Places that are not in the index yet. */
class Places {
  readonly #errand: Errand
  readonly #next = new Map<number, { readonly place: number, readonly circle: number | null }>()
  #place: number

  constructor (errand: Errand) {
    this.#errand = errand
    this.#place = errand.index.nextPlace()
  }

  has (line: number): boolean {
    return this.#next.has(line)
  }

  add (lines: Together): void {
    if (lines.length > mostInCircle) return fail(this.#errand, lines, `It refers in a circle to more than ${mostInCircle} lines.`)
    const circle = lines.length > 1 ? lines[0]! : null
    for (const line of lines) this.#next.set(line, { place: this.#place++, circle })
    if (this.#next.size >= together) this.note()
  }

  note (): void {
    this.#errand.index.order([...this.#next].map(([line, place]) => ({ line, ...place })))
    this.#next.clear()
  }
}

function fail (errand: Errand, lines: readonly number[], message: string): void {
  end(errand, lines.map(line => failedEnd(errand, { line, type: errand.index.typeOf(line) }, new Failure('VALIDATION_ERROR', { message }))))
}
