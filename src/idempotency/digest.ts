import { createHash } from 'node:crypto'
import { ExactNumber, printJson } from '../json/json.js'
import type { Mode } from '../config/mode.js'

/** The parts of a request that determine its effect. If all are equal, it is the same request sent twice. */
export interface IdempotentRequest {
  readonly tenantId: string
  readonly mode: Mode
  /** The client's Idempotency-Key. */
  readonly key: string
  readonly method: string
  /** The resource's name in the URL. */
  readonly route: string
  readonly id?: string
  readonly ifMatch?: string
  readonly body: unknown
}

/**
 * A SHA-256 hash in base64url, 43 characters. The order of members in objects does not matter; numbers are compared by
 * their text.
 */
export function digest (...parts: readonly unknown[]): string {
  return createHash('sha256').update(printJson(sortMembers(parts))).digest('base64url')
}

/** The name under which the key is stored. The same key of another tenant or mode has a different name. */
export function computeRequestName ({ tenantId, mode, key }: IdempotentRequest): string {
  return digest('key', tenantId, mode, key)
}

/**
 * Distinguishes requests with the same key. It includes the key, which is not stored, so that a body can't be guessed
 * from it.
 */
export function computeFingerprint ({ key, method, route, id, ifMatch, body }: IdempotentRequest): string {
  return digest('request', key, method, route, id ?? null, ifMatch ?? null, body)
}

const dayMs = 86_400_000

/**
 * The tags of a create request: for the day on which it was first seen, and for the day before, when another gateway
 * may have seen it. With the day, the same key can be used again later.
 * @param name from {@link computeRequestName}
 * @param fingerprint from {@link computeFingerprint}
 */
export function computeIdempotencyTags (
  name: string, fingerprint: string, firstSeenAt: Date
): readonly [string, string] {
  const day = Math.floor(firstSeenAt.getTime() / dayMs)
  return [digest('mark', name, fingerprint, day), digest('mark', name, fingerprint, day - 1)]
}

function sortMembers (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, item]) => [name, sortMembers(item)])
  )
}
