const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** The pauses after each failed attempt, by the Standard Webhooks specification. */
const pausesMs = [
  5 * secondMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs
] as const

/** The most attempts at an event; after the last one its webhook is disabled. */
export const maxAttempts = pausesMs.length + 1

/** Receivers that come back at once must not get everything in one moment. */
const jitter = 0.1

/** The longest pause before another attempt, which also bounds what a receiver requests by Retry-After. */
export const maxPauseMs = 10 * hourMs * (1 + jitter)

/** The facts of a failed attempt that determine the pause before the next one. */
interface FailedDelivery {
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** The pause that the receiver requested by Retry-After. */
  readonly retryAfterMs?: number
}

/** How long to wait after a failed attempt; undefined after the last one. */
export function pauseAfter (
  { attempt, retryAfterMs = 0 }: FailedDelivery,
  random: () => number = Math.random
): number | undefined {
  const pauseMs = pausesMs[attempt - 1]
  if (pauseMs === undefined) return undefined
  return Math.min(Math.max(pauseMs * (1 + jitter * random()), retryAfterMs), maxPauseMs)
}
