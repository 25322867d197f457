import rateLimit, { type CreateRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Attempts within the window, by whom they are made. */
const perAccount = 10
const perAddress = 50
const windowMs = 15 * 60_000

/** More accounts or addresses than this within one window would let the oldest begin anew. */
const counted = 100_000

/** Who tries: `device` is what a browser keeps with which this account was opened before. */
interface Attempt {
  readonly account: string
  readonly device?: string
}

/**
 * Counts an attempt to show a password, before it is looked at, so that many at a time are no way around. A browser with which
 * the account was opened before has a count of its own and none by address: a stranger who keeps on failing locks out strangers.
 * @returns the seconds to wait, or undefined when the attempt may go on
 */
export type CountAttempt = (request: FastifyRequest, attempt: Attempt) => Promise<number | undefined>

/** The counters of one process; each process has its own. */
export async function signInLimits (scope: FastifyInstance): Promise<CountAttempt> {
  await scope.register(rateLimit, { global: false })
  scope.decorateRequest('attempt', undefined)
  const shared = { timeWindow: windowMs, cache: counted } satisfies CreateRateLimitOptions & { cache: number }
  const byAccount = scope.createRateLimit({ ...shared, max: perAccount, keyGenerator: ({ attempt }) => attempt!.device ?? attempt!.account })
  const byAddress = scope.createRateLimit({ ...shared, max: perAddress })
  return async (request, attempt) => {
    request.attempt = attempt
    const limits = attempt.device === undefined ? [byAddress, byAccount] : [byAccount]
    for (const limit of limits) {
      const result = await limit(request)
      if (!result.isAllowed && result.isExceeded) return result.ttlInSeconds
    }
    return undefined
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What is counted while somebody signs in. */
    attempt: Attempt | undefined
  }
}
