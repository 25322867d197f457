import { monthOf } from '../month.js'
import type { Pool, Use, UsageLine } from '../usage.js'

/** Counts requests by what they have in common, in memory that is bounded. */
export class Tally {
  readonly #lines = new Map<string, Counted>()
  readonly #most: number
  #lost = 0

  /** @param mostLines that are held at a time; requests that would need one more are lost */
  constructor (mostLines: number) {
    this.#most = mostLines
  }

  /** Lines held. */
  get size (): number {
    return this.#lines.size
  }

  /** Requests that found no room. */
  get lost (): number {
    return this.#lost
  }

  /** Counts a request that came in at a time, ISO 8601 in UTC. */
  add (use: Use, at: string): void {
    const name = nameOf(use, at)
    const line = this.#lines.get(name)
    if (line === undefined) return this.#begin(name, { ...use, hour: hourOf(at), count: 1, lastAt: at })
    line.count++
    if (at > line.lastAt) line.lastAt = at
  }

  /** How many requests of a pool that count in a month are held. */
  countedIn (pool: Pool, month: string): number {
    return countedIn(this.#lines.values(), pool, month)
  }

  /** Takes out lines, the oldest first, at most so many. */
  take (most: number): readonly UsageLine[] {
    const taken = [...take(this.#lines, most)]
    for (const [name] of taken) this.#lines.delete(name)
    return taken.map(([, line]) => line)
  }

  #begin (name: string, line: Counted): void {
    if (this.#lines.size < this.#most) this.#lines.set(name, line)
    else this.#lost++
  }
}

/** How many requests of a pool that count in a month are in these lines. */
export function countedIn (lines: Iterable<UsageLine>, { tenantId, mode }: Pool, month: string): number {
  let counted = 0
  for (const line of lines) {
    if (line.isCounted && line.tenantId === tenantId && line.mode === mode && monthOf(line.hour) === month) counted += line.count
  }
  return counted
}

function * take<T> (items: Iterable<T>, most: number): Generator<T> {
  let left = most
  for (const item of items) {
    if (left-- <= 0) return
    yield item
  }
}

interface Counted extends Omit<UsageLine, 'count' | 'lastAt'> { count: number, lastAt: string }

/** The hour of a moment, both ISO 8601 in UTC. */
export function hourOf (at: string): string {
  return `${at.slice(0, 13)}:00:00Z`
}

/** A key belongs to one organization and has one mode, so these need not be said. */
function nameOf ({ keyId, resource, interaction, outcome, isCounted, isOverage }: Use, at: string): string {
  return `${at.slice(0, 13)} ${keyId} ${resource} ${interaction} ${outcome} ${isCounted ? 1 : 0}${isOverage ? 1 : 0}`
}
