import { toMonth } from '../month.js'
import type { QuotaScope, UsageEvent, UsageLine } from '../usage.js'

/** Counts requests of the same hour and {@link UsageEvent}, in bounded memory. */
export class UsageCounter {
  readonly #lines = new Map<string, TallyLine>()
  readonly #max: number
  #lost = 0

  /** @param maxLines the maximum number of lines. Requests that would need another line are lost. */
  constructor (maxLines: number) {
    this.#max = maxLines
  }

  /** The number of lines. */
  get size (): number {
    return this.#lines.size
  }

  /** The number of requests that were lost because the maximum of lines was reached. */
  get lost (): number {
    return this.#lost
  }

  /** Counts a request. `at` is when it arrived, ISO 8601 in UTC. */
  add (use: UsageEvent, at: string): void {
    const name = nameOf(use, at)
    const line = this.#lines.get(name)
    if (line === undefined) return this.#begin(name, { ...use, hour: toHour(at), count: 1, lastAt: at })
    line.count++
    if (at > line.lastAt) line.lastAt = at
  }

  /** The number of a pool's counted requests in a month. */
  countInMonth (pool: QuotaScope, month: string): number {
    return countRequestsInMonth(this.#lines.values(), pool, month)
  }

  /** Removes and returns at most `max` lines, oldest first. */
  take (max: number): readonly UsageLine[] {
    const taken = [...take(this.#lines, max)]
    for (const [name] of taken) this.#lines.delete(name)
    return taken.map(([, line]) => line)
  }

  #begin (name: string, line: TallyLine): void {
    if (this.#lines.size < this.#max) this.#lines.set(name, line)
    else this.#lost++
  }
}

/** The number of a pool's counted requests in a month, in these lines. */
export function countRequestsInMonth (
  lines: Iterable<UsageLine>, { tenantId, mode }: QuotaScope, month: string
): number {
  let counted = 0
  for (const line of lines) {
    if (line.isCounted && line.tenantId === tenantId && line.mode === mode && toMonth(line.hour) === month) {
      counted += line.count
    }
  }
  return counted
}

function * take<T> (items: Iterable<T>, max: number): Generator<T> {
  let left = max
  for (const item of items) {
    if (left-- <= 0) return
    yield item
  }
}

interface TallyLine extends Omit<UsageLine, 'count' | 'lastAt'> { count: number, lastAt: string }

/** The hour of a time. Both are ISO 8601 in UTC. */
export function toHour (at: string): string {
  return `${at.slice(0, 13)}:00:00Z`
}

/** Leaves out organization and mode, since the key determines them. */
function nameOf ({ keyId, resource, interaction, outcome, isCounted, isOverage }: UsageEvent, at: string): string {
  return `${at.slice(0, 13)} ${keyId} ${resource} ${interaction} ${outcome} ${isCounted ? 1 : 0}${isOverage ? 1 : 0}`
}
