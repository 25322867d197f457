import { getHeapStatistics } from 'node:v8'
import underPressure from '@fastify/under-pressure'
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

/** The options of {@link overload}. */
export interface OverloadOptions {
  readonly overload: OverloadLimits
  readonly readiness: Readiness
}

/** How long a process is not judged after it begins to listen: the start itself causes a delay. */
const warmupMs = 2_500

/** Refuses the requests of its scope with 503 while the process is overloaded, before anything is done for them. */
export const overload = fp<OverloadOptions>(async (app, { overload, readiness }) => {
  await app.register(underPressure, {
    maxEventLoopDelay: overload.eventLoopDelayMs ?? 0,
    maxHeapUsedBytes: (overload.heapPercent ?? 0) / 100 * getHeapStatistics().heap_size_limit,
    maxRssBytes: overload.rssBytes ?? 0,
    pressureHandler: async () => { if (isSettled) throw overloaded() }
  })
  let isSettled = false
  app.addHook('onListen', async () => { setTimeout(() => { isSettled = true }, warmupMs).unref() })
  readiness.addBlocker(() => isSettled && app.isUnderPressure())
}, { name: 'overload', fastify: '5.x' })

function overloaded (): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'The service is overloaded.',
    retryAfterSeconds: 2,
    cause: { reason: 'the process is overloaded' }
  })
}
