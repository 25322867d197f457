import rateLimit, { type CreateRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RateLimitStoreClass } from '../../../limits/limiter.js'

/** Attempts within the window, by what they are counted for. */
const maxPerAccount = 10
const maxPerBrowser = 10
const maxPerAddress = 50
const windowMs = 15 * 60_000

/** The most counters of each kind; beyond it, within one window, the oldest start again. */
const maxCounters = 100_000

/**
 * Counts an attempt with a password, before the password is checked, so that parallel attempts don't evade the limit.
 * @returns the seconds to wait, or undefined if the attempt may continue
 */
type CountAttempt = (request: FastifyRequest, whose: string) => Promise<number | undefined>

/** The counters of a control plane: of one process, or of all that serve the same port. */
export interface AttemptLimits {
  /** Counts for an account, and for the address from which it is tried. */
  readonly countForAccount: CountAttempt
  /** Counts for a browser that has signed in before, so that a stranger's failures lock out strangers only. */
  readonly countForBrowser: CountAttempt
}

/**
 * Begins to count.
 * @param store of all processes that serve the same port; absent if there is one
 */
export async function createSignInRateLimit (
  scope: FastifyInstance, store?: RateLimitStoreClass
): Promise<AttemptLimits> {
  await scope.register(rateLimit, { global: false, ...store && { store } })
  scope.decorateRequest('attempt', undefined)
  const limit = (options: CreateRateLimitOptions) =>
    scope.createRateLimit({ timeWindow: windowMs, cache: maxCounters, ...options } as CreateRateLimitOptions)
  // All counters may be in one store.
  const createKeyGenerator = (kind: string) => ({ attempt }: FastifyRequest) => `${kind} ${attempt!}`
  const [byAddress, byAccount, byBrowser] = [
    limit({ max: maxPerAddress }),
    limit({ max: maxPerAccount, keyGenerator: createKeyGenerator('account') }),
    limit({ max: maxPerBrowser, keyGenerator: createKeyGenerator('browser') })
  ]
  const countWith = (limits: ReadonlyArray<typeof byAddress>): CountAttempt => async (request, whose) => {
    request.attempt = whose
    for (const limit of limits) {
      const result = await limit(request)
      if (!result.isAllowed && result.isExceeded) return result.ttlInSeconds
    }
    return undefined
  }
  return { countForAccount: countWith([byAddress, byAccount]), countForBrowser: countWith([byBrowser]) }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The account or browser for which an attempt with a password is counted. */
    attempt: string | undefined
  }
}
