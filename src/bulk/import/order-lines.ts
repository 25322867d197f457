import { setImmediate as breathe } from 'node:timers/promises'
import { Failure } from '../../envelope/failures.js'
import { end, failedEnd, type Errand } from './errand.js'
import type { Stretch } from './index-rows.js'
import { ordered, TooDeep, type References, type Together } from './order.js'

/** Lines of a circle, which go into one transaction. */
const mostInCircle = 500
/** Lines that are looked at, or put into the index, between two breaths. */
const together = 1_000

/** Puts all lines of an import in the order in which they can be written: as they stand, where none refers to one behind it. */
export async function orderLines (errand: Errand): Promise<void> {
  const { index } = errand
  const isInOrder = await linkAll(errand)
  index.set('linked')
  if (index.has('ordered')) return
  if (isInOrder) await placeAll(errand)
  else await orderAll(errand)
  index.set('ordered')
}

async function linkAll (errand: Errand): Promise<boolean> {
  let isInOrder = true
  for await (const stretch of stretches(errand)) isInOrder = errand.index.link(stretch) && isInOrder
  return isInOrder
}

async function placeAll (errand: Errand): Promise<void> {
  for await (const stretch of stretches(errand)) errand.index.placeAsRead(stretch)
}

async function * stretches ({ index: { last }, signal }: Errand): AsyncGenerator<Stretch> {
  for (let after = 0; after < last; after += together) {
    yield { after, upTo: after + together }
    await breathe()
    signal.throwIfAborted()
  }
}

async function orderAll (errand: Errand): Promise<void> {
  const { index, signal } = errand
  const places = new Places(errand)
  for (let after = 0; ;) {
    const waiting = index.unordered(after, together)
    if (waiting.length === 0) return
    const tooDeep = index.together(() => placeSome(waiting, errand, places))
    if (tooDeep === undefined) after = waiting.at(-1)!
    else fail(errand, tooDeep, 'The line\'s references lead through too many other lines.')
    await breathe()
    signal.throwIfAborted()
  }
}

/** @returns lines in the way that can't be written: the rest is still to be ordered */
function placeSome (waiting: readonly number[], { index }: Errand, places: Places): readonly number[] | undefined {
  const references: References = { referred: line => index.targets(line), isOrdered: line => places.has(line) || index.isOrdered(line) }
  try {
    for (const lines of ordered(waiting, references)) places.add(lines)
    return undefined
  } catch (error) {
    // Not thrown on, since what was noted until here is to stay.
    if (error instanceof TooDeep) return error.lines
    throw error
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
    if (lines.length > mostInCircle) return fail(this.#errand, lines, `The line is part of a reference cycle of more than ${mostInCircle} lines.`)
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
