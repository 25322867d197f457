import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import fp from 'fastify-plugin'
import { Failure } from '../envelope/failures.js'
import type { Readiness } from './readiness.js'

/** The bounds beyond which a process is overloaded; null is no bound. */
interface OverloadLimits {
  /** Mean delay of the event loop over a second. */
  readonly eventLoopDelayMs: number | null
  /** Of the memory that Node may use for objects. */
  readonly heapPercent: number | null
  /** All memory of the process. */
  readonly rssBytes: number | null
}

/** What {@link overload} needs. */
export interface OverloadOptions {
  readonly overload: OverloadLimits
  readonly readiness: Readiness
}

/** How long a process is not judged after it begins to listen: the start itself causes a delay. */
const warmupMs = 1_500
const judgeEveryMs = 1_000

/** Refuses the requests of its scope with 503 while the process is overloaded, before anything is done for them. */
export const overload = fp<OverloadOptions>(async (app, { overload, readiness }) => {
  const judge = judgeProcess(overload)
  let isOverloaded = false
  let timer: NodeJS.Timeout | undefined
  app.addHook('onListen', async () => {
    timer = setTimeout(() => {
      judge.reset()
      timer = setInterval(() => { isOverloaded = judge.isOver() }, judgeEveryMs).unref()
    }, warmupMs).unref()
  })
  app.addHook('onClose', async () => {
    clearTimeout(timer)
    judge.stop()
  })
  app.addHook('onRequest', ({ routeOptions: { config } }, _, done) => {
    done(isOverloaded && config.isServedUnderOverload !== true ? tooMuch() : undefined)
  })
  readiness.addBlocker(() => isOverloaded)
}, { name: 'overload', fastify: '5.x' })

interface ProcessJudge {
  /** Whether the process is beyond a bound, its event loop since the last call or `reset`. */
  readonly isOver: () => boolean
  readonly reset: () => void
  readonly stop: () => void
}

function judgeProcess ({ eventLoopDelayMs, heapPercent, rssBytes }: OverloadLimits): ProcessJudge {
  // Each sample wakes the process, so that an idle one takes no more of them than the bound needs. Where the loop takes
  // longer than that, the time between two samples is the loop's own.
  const delay = eventLoopDelayMs === null
    ? undefined
    : monitorEventLoopDelay({
      resolution: Math.round(eventLoopDelayMs / 10)
    })
  delay?.enable()
  const maxHeapBytes = heapPercent === null ? Infinity : heapPercent / 100 * getHeapStatistics().heap_size_limit
  const isSlow = (): boolean => {
    if (delay === undefined || eventLoopDelayMs === null) return false
    const { count, mean } = delay
    delay.reset()
    // There is none where the loop stood still all the time.
    return count === 0 || mean / 1e6 > eventLoopDelayMs
  }
  return {
    isOver: () => {
      const { heapUsed, rss } = process.memoryUsage()
      return isSlow() || heapUsed > maxHeapBytes || rss > (rssBytes ?? Infinity)
    },
    reset: () => delay?.reset(),
    stop: () => delay?.disable()
  }
}

function tooMuch (): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The service is overloaded.',
    retryAfterSeconds: 2,
    cause: { reason: 'the process is overloaded' }
  })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route is served while the process is overloaded. */
    readonly isServedUnderOverload?: boolean
  }
}
