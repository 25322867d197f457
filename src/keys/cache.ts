import { LRUCache } from 'lru-cache'
import type { InvalidatedKeys, KeyRecord } from './replica.js'

const lifetimeMs = 60_000
const unknownForMs = 5_000

/** Looks up a key that is not in the cache. */
type KeyLookup = (hash: string) => KeyRecord | undefined | Promise<KeyRecord | undefined>

/** `clock` is monotonic, in milliseconds; by default the engine's own. */
interface KeyCacheOptions {
  readonly lookup: KeyLookup
  readonly size?: number
  readonly clock?: { now (): number }
}

/**
 * Keys that were validated in the last 60 seconds, by hash, none cached past its expiry. Unknown hashes are cached
 * separately for 5 seconds, so that guessed keys can't push out valid ones.
 */
export class KeyCache {
  readonly #lookup: KeyLookup
  readonly #validKeys: LRUCache<string, KeyRecord>
  readonly #unknown: LRUCache<string, true>
  #generation = 0
  #hits = 0
  #misses = 0

  constructor ({ lookup, size = 10_000, clock }: KeyCacheOptions) {
    this.#lookup = lookup
    this.#validKeys = new LRUCache({ max: size, ttl: lifetimeMs, ttlResolution: 0, perf: clock })
    this.#unknown = new LRUCache({ max: Math.ceil(size / 10), ttl: unknownForMs, ttlResolution: 0, perf: clock })
  }

  /** How often a key was found in the cache, and how often it was looked up. */
  get lookups (): { readonly hits: number, readonly misses: number } {
    return { hits: this.#hits, misses: this.#misses }
  }

  /**
   * The key with this hash; undefined if there is none. `now` is the wall clock's time, for its expiry.
   * @returns no promise for a key that is cached, since each request would wait for one
   */
  find (hash: string, now: Date): KeyRecord | undefined | Promise<KeyRecord | undefined> {
    const held = this.#validKeys.get(hash)
    if (held !== undefined || this.#unknown.has(hash)) {
      this.#hits++
      return held
    }
    this.#misses++
    return this.#loadKey(hash, now)
  }

  async #loadKey (hash: string, now: Date): Promise<KeyRecord | undefined> {
    const generation = this.#generation
    const found = await this.#lookup(hash)
    // A change during the look-up may have made its result stale: it serves this request, but isn't cached.
    if (generation === this.#generation) this.#cacheResult(hash, found, now)
    return found
  }

  /** Removes the keys that a change affects; from now on they are looked up again. */
  evict (changed: InvalidatedKeys): void {
    this.#generation++
    if (changed === 'everything') {
      this.#validKeys.clear()
      this.#unknown.clear()
      return
    }
    for (const hash of changed) {
      this.#validKeys.delete(hash)
      this.#unknown.delete(hash)
    }
  }

  #cacheResult (hash: string, found: KeyRecord | undefined, now: Date): void {
    if (found === undefined) {
      this.#unknown.set(hash, true)
      return
    }
    const ttl = Math.min(lifetimeMs, (found.expiresAt ?? Infinity) - now.getTime())
    if (ttl > 0) this.#validKeys.set(hash, found, { ttl })
  }
}
