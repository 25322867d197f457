import type { FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { valuesOf } from '../envelope/sole-header.js'

/** What the header is called and what stands in it, for the documentation too. */
export const idempotencyKey = { header: 'Idempotency-Key', form: '^[!-~]{1,255}$', lifetimeHours: 24, replayedHeader: 'Idempotent-Replayed' } as const

/**
 * The key that a client chose for its request, so that it may send it again; undefined when it sent none.
 * @param rawHeaders names and values by turns, as Node's `rawHeaders` has them
 * @throws {Failure} BAD_REQUEST
 */
export function readIdempotencyKey (rawHeaders: readonly string[]): string | undefined {
  const keys = valuesOf(rawHeaders, idempotencyKey.header)
  const [key] = keys
  if (key === undefined) return undefined
  if (keys.length === 1 && new RegExp(idempotencyKey.form).test(key)) return key
  throw new Failure('BAD_REQUEST', { message: `${idempotencyKey.header}: expected one key of 1 to 255 visible ASCII characters, new for each request, such as a UUID.` })
}

/** Why a request is refused that has a key and takes none: its sender believes that it is done once. */
export function takesNone (): Failure {
  return new Failure('BAD_REQUEST', { message: `${idempotencyKey.header}: this request does not support the header, and takes effect each time it is sent. Leave the header out, and check the current state before you send the request again.` })
}

/**
 * Refuses a key on a route that does not say that it takes one. Methods that do nothing twice need none.
 * @throws {Failure} BAD_REQUEST
 */
export function refuseIdempotencyKey ({ method, raw, routeOptions }: FastifyRequest): void {
  const isRepeatable = method !== 'POST' && method !== 'PATCH'
  if (!isRepeatable && routeOptions.config.takesIdempotencyKey !== true && readIdempotencyKey(raw.rawHeaders) !== undefined) throw takesNone()
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route does once what is sent twice with one Idempotency-Key. */
    readonly takesIdempotencyKey?: boolean
  }
}
