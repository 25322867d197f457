import type { FastifyRequest } from 'fastify'
import { Failure } from '../envelope/failures.js'
import { getHeaderValues } from '../envelope/headers.js'

/** The header's name and form, also for the documentation. */
export const idempotencyKey = {
  header: 'Idempotency-Key',
  form: '^[!-~]{1,255}$',
  lifetimeHours: 24,
  replayedHeader: 'Idempotent-Replayed'
} as const

/**
 * The Idempotency-Key of a request; undefined if there is none.
 * @param rawHeaders alternating names and values, like Node's `rawHeaders`
 * @throws {Failure} BAD_REQUEST
 */
export function readIdempotencyKey (rawHeaders: readonly string[]): string | undefined {
  const keys = getHeaderValues(rawHeaders, idempotencyKey.header)
  const [key] = keys
  if (key === undefined) return undefined
  if (keys.length === 1 && new RegExp(idempotencyKey.form).test(key)) return key
  throw new Failure('BAD_REQUEST', {
    message: `${idempotencyKey.header}: expected one key of 1 to 255 visible ASCII characters, new for each request, such as a UUID.`
  })
}

/** The refusal of a key on a request that does not support it, since its sender would rely on it. */
export function idempotencyUnsupported (): Failure {
  return new Failure('BAD_REQUEST', {
    message: `${idempotencyKey.header}: this request does not support the header, and takes effect each time it is sent. Leave the header out, and check the current state before you send the request again.`
  })
}

/**
 * Refuses a key on a route that does not support it. On methods that are idempotent anyway it is ignored.
 * @throws {Failure} BAD_REQUEST
 */
export function refuseIdempotencyKey ({ method, raw, routeOptions }: FastifyRequest): void {
  const isRepeatable = method !== 'POST' && method !== 'PATCH'
  if (
    !isRepeatable &&
    routeOptions.config.takesIdempotencyKey !== true &&
    readIdempotencyKey(raw.rawHeaders) !== undefined
  ) { throw idempotencyUnsupported() }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route supports Idempotency-Key. */
    readonly takesIdempotencyKey?: boolean
  }
}
