import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { limiter } from './limiter.js'
import { Windows } from './windows.js'

/** How many requests without a good key an address may send in a minute; `windowMs` is a minute but in tests. */
interface FailedAttemptsOptions { readonly failedAttemptsPerMinute: number, readonly windowMs?: number }

/** Takes note of a request whose key was refused. @throws {Failure} RATE_LIMITED in place of the refusal, when there were too many */
type CountRefusal = (request: FastifyRequest) => Promise<void>

/**
 * Counts requests without a good key by the address that they come from, IPv6 by its network of 64 bits. A good key is served from
 * any address: behind a proxy a stranger's attempts must not lock others out.
 */
export async function failedAttempts (scope: FastifyInstance, { failedAttemptsPerMinute, windowMs = 60_000 }: FailedAttemptsOptions): Promise<CountRefusal> {
  const count = await limiter(scope, { store: Windows }, { max: failedAttemptsPerMinute, timeWindow: windowMs })
  return async request => {
    const counted = await count(request)
    if (counted.isAllowed || !counted.isExceeded) return
    throw new Failure('RATE_LIMITED', {
      message: 'Send a valid key. Too many requests without one came from this address.',
      retryAfterSeconds: counted.ttlInSeconds
    })
  }
}
