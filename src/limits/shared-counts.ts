import { Redis } from 'ioredis'
import type { FastifyBaseLogger } from 'fastify'
import { scatteredBackoff } from '../backoff.js'

/** Counts that several gateways share, and whether they can be asked at the moment. */
export interface SharedCounts {
  readonly redis: Redis
  /** False for a while after a failure, so that no request waits for a server that is known to be gone. */
  readonly isUsable: () => boolean
  /** Says that asking failed. */
  readonly failed: (error: unknown) => void
  /** Says that asking succeeded. */
  readonly succeeded: () => void
  readonly close: () => void
}

/** What counts are opened with; `clock` is in milliseconds and never goes back. */
interface SharedCountsParts {
  /** `redis://` or `rediss://`, password included: never logged. */
  readonly url: string
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly clock?: () => number
}

/** A request waits no longer for the shared count than this; counting here is better than waiting. */
const patienceMs = 250
const restMs = 1_000

/** Connects to Redis, and again whenever the connection is lost. Nothing waits in a queue while it is. */
export function sharedCounts ({ url, log, clock = () => performance.now() }: SharedCountsParts): SharedCounts {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: patienceMs,
    // Commands of one turn of the event loop go out together.
    enableAutoPipelining: true,
    retryStrategy: attempt => scatteredBackoff({ firstMs: 200, longestMs: 5_000 }, attempt - 1)
  })
  let isDown = false
  let restsUntil = 0
  const succeeded = () => {
    // What was asked before a failure may be answered after it.
    if (!isDown || clock() < restsUntil) return
    log.info('the shared rate limit counts are available again; requests are counted across all gateways')
    isDown = false
  }
  redis.on('ready', () => {
    restsUntil = 0
    succeeded()
  })
  const failed = (error: unknown) => {
    if (!isDown) log.warn({ reason: reasonOf(error as NodeJS.ErrnoException) }, 'the shared rate limit counts cannot be reached; each gateway counts alone')
    isDown = true
    restsUntil = clock() + restMs
  }
  redis.on('error', failed)
  return {
    redis,
    isUsable: () => redis.status === 'ready' && clock() >= restsUntil,
    failed,
    succeeded,
    close: () => redis.disconnect()
  }
}

/** Of what Redis answers, the word that it begins with, such as `WRONGPASS`. */
function reasonOf ({ code, name, message }: NodeJS.ErrnoException): string {
  return code ?? /^[A-Z]+(?= )/.exec(message)?.[0] ?? name
}
