import { Redis } from 'ioredis'
import type { FastifyBaseLogger } from 'fastify'
import { getJitteredBackoffMs } from '../time/backoff.js'

/** Counts that are shared by several gateways. */
export interface SharedRateLimitStore {
  readonly redis: Redis
  /** False for some time after a failure, so that no request waits for a server that is known to be down. */
  readonly isUsable: () => boolean
  /** To be called when a query failed. */
  readonly reportFailure: (error: unknown) => void
  /** To be called when a query succeeded. */
  readonly reportSuccess: () => void
  readonly close: () => void
}

/** `clock` is monotonic, in milliseconds. */
interface SharedCountsParts {
  /** `redis://` or `rediss://`. May contain a password: never log it. */
  readonly url: string
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly clock?: () => number
}

/** The maximum time that a request waits for a shared count. Counting locally is better than waiting longer. */
const timeoutMs = 250
const cooldownMs = 1_000

/** Connects to Redis, and reconnects whenever the connection is lost. Commands are not queued in the meantime. */
export function connectRateLimitStore (
  { url, log, clock = () => performance.now() }: SharedCountsParts
): SharedRateLimitStore {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: timeoutMs,
    // Sends the commands of one turn of the event loop together.
    enableAutoPipelining: true,
    retryStrategy: attempt => getJitteredBackoffMs({ firstMs: 200, maxMs: 5_000 }, attempt - 1)
  })
  let isDown = false
  let restsUntil = 0
  const reportSuccess = () => {
    // This may be the late response to a query from before the failure.
    if (!isDown || clock() < restsUntil) return
    log.info('the shared rate limit counts are available again; requests are counted across all gateways')
    isDown = false
  }
  redis.on('ready', () => {
    restsUntil = 0
    reportSuccess()
  })
  const reportFailure = (error: unknown) => {
    if (!isDown) {
      log.warn(
        { reason: getErrorReason(error as NodeJS.ErrnoException) },
        'the shared rate limit counts cannot be reached; each gateway counts alone; check REDIS_URL or limits.redisUrlFile, and Redis itself'
      )
    }
    isDown = true
    restsUntil = clock() + cooldownMs
  }
  redis.on('error', reportFailure)
  return {
    redis,
    isUsable: () => redis.status === 'ready' && clock() >= restsUntil,
    reportFailure,
    reportSuccess,
    close: () => redis.disconnect()
  }
}

/** The first word of an error from Redis, such as `WRONGPASS`. */
function getErrorReason ({ code, name, message }: NodeJS.ErrnoException): string {
  return code ?? /^[A-Z]+(?= )/.exec(message)?.[0] ?? name
}
