import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { createLimiter, type RateLimitStoreClass } from './limiter.js'
import { FixedWindowCounter } from './fixed-windows.js'

/** How many requests without a valid key an address may send per minute. `windowMs` is a minute, except in tests. */
interface FailedAttemptsOptions {
  readonly failedAttemptsPerMinute: number
  /** Counts for all processes of the gateway, where there are several. */
  readonly attemptCounter?: RateLimitStoreClass
  readonly windowMs?: number
}

/**
 * Counts a request whose key was refused. @throws {Failure} RATE_LIMITED instead of that refusal, if there were too
 * many
 */
type CountRefusal = (request: FastifyRequest) => Promise<void>

/**
 * Counts requests without a valid key by client address, and IPv6 addresses by their /64 network. A valid key is
 * accepted from any address: behind a shared proxy, one client's attempts must not lock out others.
 */
export async function createFailedAttemptCounter (
  scope: FastifyInstance,
  { failedAttemptsPerMinute, attemptCounter = FixedWindowCounter, windowMs = 60_000 }: FailedAttemptsOptions
): Promise<CountRefusal> {
  const count = await createLimiter(
    scope,
    { store: attemptCounter },
    { max: failedAttemptsPerMinute, timeWindow: windowMs }
  )
  return async request => {
    const counted = await count(request)
    if (counted.isAllowed || !counted.isExceeded) return
    throw new Failure('RATE_LIMITED', {
      message: 'Send a valid key. Too many requests without one came from this address.',
      retryAfterSeconds: counted.ttlInSeconds
    })
  }
}
