import rateLimit, { type CreateRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { RateLimitStoreClass } from '../../../limits/limiter.js'

/** Attempts within the window, by what they are counted for. */
const perAccount = 10
const perBrowser = 10
const perAddress = 50
const windowMs = 15 * 60_000

/** The most counters of each kind; beyond it, within one window, the oldest start again. */
const counted = 100_000

/**
 * Counts an attempt with a password, before the password is checked, so that parallel attempts don't evade the limit.
 * @returns the seconds to wait, or undefined if the attempt may continue
 */
type CountAttempt = (request: FastifyRequest, whose: string) => Promise<number | undefined>

/** The counters of a control plane: of one process, or of all that serve the same port. */
export interface AttemptLimits {
  /** Counts for an account, and for the address from which it is tried. */
  readonly atAccount: CountAttempt
  /** Counts for a browser that has signed in before, so that a stranger's failures lock out strangers only. */
  readonly ofBrowser: CountAttempt
}

/**
 * Begins to count.
 * @param store of all processes that serve the same port; absent if there is one
 */
export async function signInRateLimit (
  scope: FastifyInstance, store?: RateLimitStoreClass
): Promise<AttemptLimits> {
  await scope.register(rateLimit, { global: false, ...store && { store } })
  scope.decorateRequest('attempt', undefined)
  const limit = (options: CreateRateLimitOptions) =>
    scope.createRateLimit({ timeWindow: windowMs, cache: counted, ...options } as CreateRateLimitOptions)
  // All counters may be in one store.
  const keyOf = (kind: string) => ({ attempt }: FastifyRequest) => `${kind} ${attempt!}`
  const [byAddress, byAccount, byBrowser] = [
    limit({ max: perAddress }),
    limit({ max: perAccount, keyGenerator: keyOf('account') }),
    limit({ max: perBrowser, keyGenerator: keyOf('browser') })
  ]
  const countWith = (limits: ReadonlyArray<typeof byAddress>): CountAttempt => async (request, whose) => {
    request.attempt = whose
    for (const limit of limits) {
      const result = await limit(request)
      if (!result.isAllowed && result.isExceeded) return result.ttlInSeconds
    }
    return undefined
  }
  return { atAccount: countWith([byAddress, byAccount]), ofBrowser: countWith([byBrowser]) }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The account or browser for which an attempt with a password is counted. */
    attempt: string | undefined
  }
}
