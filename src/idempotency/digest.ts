import { createHash } from 'node:crypto'
import { ExactNumber, printJson } from '../json.js'
import type { Mode } from '../mode.js'

/** What a request is, as far as it decides what is done. Two that are equal in all of it are one request, sent twice. */
export interface KeyedRequest {
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

/** A SHA-256 in base64url, 43 characters. Names in objects count in any order, and numbers by their text. */
export function digest (...parts: readonly unknown[]): string {
  return createHash('sha256').update(printJson(ordered(parts))).digest('base64url')
}

/** The name of the key in the store: other tenants' equal keys are other keys, and so are those of test and live. */
export function nameOf ({ tenantId, mode, key }: KeyedRequest): string {
  return digest('key', tenantId, mode, key)
}

/** Tells the request from others with the same key. The key, which is stored nowhere, keeps a body from being guessed. */
export function fingerprintOf ({ key, method, route, id, ifMatch, body }: KeyedRequest): string {
  return digest('request', key, method, route, id ?? null, ifMatch ?? null, body)
}

const dayMs = 86_400_000

/**
 * The marks of a request that creates a record: of the day on which it was first seen, and of the day before, since
 * another gateway may have seen it then. The day makes room for the same key later.
 * @param name of {@link nameOf}
 * @param fingerprint of {@link fingerprintOf}
 */
export function marksOf (name: string, fingerprint: string, firstSeenAt: Date): readonly [string, string] {
  const day = Math.floor(firstSeenAt.getTime() / dayMs)
  return [digest('mark', name, fingerprint, day), digest('mark', name, fingerprint, day - 1)]
}

function ordered (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([name, item]) => [name, ordered(item)]))
}
