import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import {
  lifetimeMs, storageUnavailable, type Intent, type RequestStorage, type RequestToClaim, type Result, type StoredRequest
} from './keyed-requests.js'

/** How long a claim lasts unless it is renewed: a request whose gateway died can be sent again after that. */
const leaseMs = 10_000

/**
 * Stores the requests of all gateways in Redis, so that a request that is repeated at another gateway is recognized. A
 * claim is a lease that is renewed while the request is performed. A gateway that lost its lease, because it was halted
 * for long, can write no change any more, since it cannot store what it is about to write.
 */
export class SharedRequests implements RequestStorage {
  readonly #run: Scripts
  /** The leases of this process, by the names of the requests. */
  readonly #leases = new Map<string, string>()
  readonly #renewal: NodeJS.Timeout

  /** @param redis stays the caller's to close. `leaseMs` differs in tests only. */
  constructor ({ redis, leaseMs: ms = leaseMs }: { readonly redis: Redis, readonly leaseMs?: number }) {
    this.#run = defineScripts(redis, ms)
    this.#renewal = setInterval(() => this.#renew(), ms / 4).unref()
  }

  async claim ({ name, fingerprint, now }: RequestToClaim): Promise<StoredRequest | 'reused' | 'in-progress'> {
    const lease = randomUUID()
    const [state, firstSeenAt, intent, result] = await this.#run.claim(name, lease, [fingerprint, now.getTime()])
    if (state !== 'claimed') return state as 'reused' | 'in-progress'
    this.#leases.set(name, lease)
    return {
      firstSeenAt: new Date(Number(firstSeenAt)),
      ...intent && { intent: JSON.parse(intent) as Intent },
      ...result && { result: JSON.parse(result) as Result }
    }
  }

  async intend (name: string, intent: Intent | undefined): Promise<boolean> {
    return await this.#set(name, 'intent', intent)
  }

  async finish (name: string, result: Result): Promise<void> {
    await this.#set(name, 'result', result)
  }

  async release (name: string): Promise<void> {
    const lease = this.#leases.get(name)
    this.#leases.delete(name)
    if (lease !== undefined) await this.#run.release(name, lease, [])
  }

  /** Ends the renewal of claims. */
  close (): void {
    clearInterval(this.#renewal)
  }

  async #set (name: string, field: 'intent' | 'result', value: Intent | Result | undefined): Promise<boolean> {
    const lease = this.#leases.get(name)
    if (lease === undefined) return false
    return await this.#run.set(name, lease, [field, value === undefined ? '' : JSON.stringify(value)]) === 1
  }

  #renew (): void {
    // A lease that could not be renewed expires, and the operations that need it then fail.
    for (const [name, lease] of this.#leases) this.#run.renew(name, lease, []).catch(() => {})
  }
}

const scripts = {
  /** A new request is stored, and one that is in no other hands claimed. */
  claim: `
    local fingerprint, now = ARGV[3], tonumber(ARGV[4])
    local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'firstSeenAt', 'intent', 'result', 'leaseEnds')
    if not known[1] or now - tonumber(known[2]) >= ${lifetimeMs} then
      redis.call('DEL', KEYS[1])
      redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'firstSeenAt', ARGV[4])
      redis.call('PEXPIRE', KEYS[1], ${lifetimeMs})
      known = { fingerprint, ARGV[4] }
    end
    if known[1] ~= fingerprint then return { 'reused' } end
    local time = redis.call('TIME')
    local ms = time[1] * 1000 + math.floor(time[2] / 1000)
    if known[5] and tonumber(known[5]) > ms then return { 'in-progress' } end
    redis.call('HSET', KEYS[1], 'lease', ARGV[1], 'leaseEnds', ms + ARGV[2])
    return { 'claimed', known[2], known[3] or '', known[4] or '' }`,
  set: `
    if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then return 0 end
    if ARGV[4] == '' then redis.call('HDEL', KEYS[1], ARGV[3]) else redis.call('HSET', KEYS[1], ARGV[3], ARGV[4]) end
    return 1`,
  renew: `
    if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then return 0 end
    local time = redis.call('TIME')
    redis.call('HSET', KEYS[1], 'leaseEnds', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
    return 1`,
  release: `
    if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then return 0 end
    return redis.call('HDEL', KEYS[1], 'lease', 'leaseEnds')`
} as const

type Script = (name: string, lease: string, values: ReadonlyArray<string | number>) => Promise<unknown>
type Scripts = Readonly<Record<'set' | 'renew' | 'release', Script>> & {
  readonly claim: (...input: Parameters<Script>) => Promise<readonly string[]>
}

/** The scripts as functions, which Redis runs one at a time. @throws {Failure} BACKEND_UNAVAILABLE */
function defineScripts (redis: Redis, leaseMs: number): Scripts {
  const functions = Object.entries(scripts).map(([script, lua]) => {
    const command = `clinigate:${script}`
    redis.defineCommand(command, { numberOfKeys: 1, lua })
    const run = (redis as unknown as Record<string, (...input: unknown[]) => Promise<unknown>>)[command]!.bind(redis)
    const perform: Script = async (name, lease, values) => {
      try {
        return await run(`clinigate:idempotency:${name}`, lease, leaseMs, ...values)
      } catch (error) {
        // Its message may have what was sent.
        throw storageUnavailable({ reason: (error as Error).name })
      }
    }
    return [script, perform] as const
  })
  return Object.fromEntries(functions) as unknown as Scripts
}
