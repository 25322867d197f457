import rateLimit, { type CreateRateLimitOptions } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Attempts within the window, by what they are counted for. */
const perAccount = 10
const perBrowser = 10
const perAddress = 50
const windowMs = 15 * 60_000

/** More of each than this within one window would let the oldest begin again. */
const counted = 100_000

/**
 * Counts an attempt to show a password, before it is looked at, so that many at a time are no way around.
 * @returns the seconds to wait, or undefined when the attempt may go on
 */
type CountAttempt = (request: FastifyRequest, whose: string) => Promise<number | undefined>

/** The counters of one process; each process has its own. */
export interface AttemptLimits {
  /** Counts for an account, and for the address from which it is tried. */
  readonly atAccount: CountAttempt
  /** Counts for a browser that was let in before, so that a stranger who keeps on failing locks out strangers. */
  readonly ofBrowser: CountAttempt
}

/** Begins to count. */
export async function signInRateLimit (scope: FastifyInstance): Promise<AttemptLimits> {
  await scope.register(rateLimit, { global: false })
  scope.decorateRequest('attempt', undefined)
  const limit = (options: CreateRateLimitOptions) =>
    scope.createRateLimit({ timeWindow: windowMs, cache: counted, ...options } as CreateRateLimitOptions)
  const keyGenerator = ({ attempt }: FastifyRequest) => attempt!
  const [byAddress, byAccount, byBrowser] = [
    limit({ max: perAddress }),
    limit({ max: perAccount, keyGenerator }),
    limit({ max: perBrowser, keyGenerator })
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
    /** For whom it is counted when somebody shows a password. */
    attempt: string | undefined
  }
}
