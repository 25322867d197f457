import { timingSafeEqual } from 'node:crypto'
import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import { Failure, type FailureCode } from '../envelope/failures.js'
import { getHeaderValues } from '../envelope/headers.js'
import type { Mode } from '../config/mode.js'
import type { KeyCache } from './cache.js'
import type { Caller } from './caller.js'
import type { KeyRecord, Replica } from './replica.js'
import { hashSecret, readSecret } from './secret.js'

const retryAfterSeconds = 5

/** The parts that validate keys; a `maxStalenessMinutes` of `null` accepts a copy of any age. */
interface AuthenticatorParts {
  readonly replica: Pick<Replica, 'syncedAt'>
  readonly cache: Pick<KeyCache, 'find'>
  readonly maxStalenessMinutes: number | null
}

/**
 * Identifies the caller from a request's headers, alternating names and values like Node's `rawHeaders`; at once where
 * the key is cached.
 * @throws {Failure} UNAUTHORIZED, INVALID_KEY_FORMAT, INVALID_KEY, KEY_REVOKED, KEY_EXPIRED, BACKEND_UNAVAILABLE
 */
export type Authenticate = (rawHeaders: readonly string[], now: Date) => Caller | Promise<Caller>

/** Validates keys against the local copy; refuses all of them while the copy is incomplete or too old. */
export function createAuthenticator ({ replica, cache, maxStalenessMinutes }: AuthenticatorParts): Authenticate {
  return (rawHeaders, now) => {
    const presented = readPresentedKey(rawHeaders)
    requireFresh(replica.syncedAt(), now, maxStalenessMinutes)
    const found = cache.find(presented.hash, now)
    return found instanceof Promise
      ? found.then(key => admit(key, presented, now))
      : admit(found, presented, now)
  }
}

interface PresentedKey { readonly mode: Mode, readonly hash: string }

function readPresentedKey (rawHeaders: readonly string[]): PresentedKey {
  const headerKeys = listNonEmptyValues(rawHeaders, 'x-api-key')
  const bearerKeys = listNonEmptyValues(rawHeaders, 'authorization').flatMap(
    text => bearer.exec(text)?.[1]?.trim() || []
  )
  const [secret] = [...headerKeys, ...bearerKeys]
  if (secret === undefined) throw authenticationFailure('UNAUTHORIZED')
  const error = findRepeatedKeyError(headerKeys, bearerKeys)
  const read = error === undefined ? readSecret(secret) : undefined
  if (read === undefined) throw authenticationFailure('INVALID_KEY_FORMAT', error ?? findKeyFormatError(secret))
  return { mode: read.mode, hash: hashSecret(secret) }
}

/** Credentials of other schemes than Bearer belong to a proxy, and are no key. */
const bearer = /^bearer(?: +(.*))?$/i

/** The values of all headers with a name, except empty ones, which a client sends for a variable that was never set. */
function listNonEmptyValues (rawHeaders: readonly string[], name: string): readonly string[] {
  return getHeaderValues(rawHeaders, name).filter(text => text.trim() !== '')
}

function findRepeatedKeyError (headerKeys: readonly string[], bearerKeys: readonly string[]): string | undefined {
  if (headerKeys.length > 1) return 'Send the x-api-key header once.'
  if (bearerKeys.length > 1) return 'Send the Authorization header once.'
  return headerKeys.length + bearerKeys.length > 1 && headerKeys[0] !== bearerKeys[0]
    ? 'Send one key, in x-api-key or after Authorization: Bearer. The two differ.'
    : undefined
}

/** Whether a copy that was last complete at `syncedAt` is recent enough; `null` is any age; `undefined` never is. */
export function isFresh (syncedAt: Date | undefined, now: Date, maxStalenessMinutes: number | null): boolean {
  return syncedAt !== undefined && now.getTime() - syncedAt.getTime() <= (maxStalenessMinutes ?? Infinity) * 60_000
}

function requireFresh (syncedAt: Date | undefined, now: Date, maxStalenessMinutes: number | null): void {
  if (isFresh(syncedAt, now, maxStalenessMinutes)) return
  throw new Failure('BACKEND_UNAVAILABLE', {
    message: 'Keys cannot be checked at the moment.',
    retryAfterSeconds,
    cause:
      syncedAt === undefined
        ? 'the local key copy is still being built'
        : `the local key copy is too old: ${syncedAt.toISOString()}`
  })
}

function admit (found: KeyRecord | undefined, presented: PresentedKey, now: Date): Caller {
  if (found === undefined || !isSame(found, presented)) throw authenticationFailure('INVALID_KEY')
  if (found.revokedAt !== undefined) throw authenticationFailure('KEY_REVOKED')
  if (found.expiresAt !== undefined && found.expiresAt <= now.getTime()) throw authenticationFailure('KEY_EXPIRED')
  return found.caller
}

function isSame (found: KeyRecord, presented: PresentedKey): boolean {
  return found.caller.mode === presented.mode && timingSafeEqual(Buffer.from(found.hash), Buffer.from(presented.hash))
}

/** Advice for a key with an invalid format; undefined if the text does not show the cause. */
function findKeyFormatError (text: string): string | undefined {
  if (/["'`\u2018-\u201f\xab\xbb]/.test(text) || /\xe2\x80[\x98-\x9f]/.test(text)) {
    return 'Send the key without quotation marks.'
  }
  if (/^(?:bearer|basic|apikey|token|key)\b[ :=]/i.test(text)) {
    return 'Send the key alone in x-api-key, without Bearer or another word before it, or once after Authorization: Bearer.'
  }
  if (/^cg_/.test(text)) {
    return 'Send a secret key, which begins with svc_test_ or svc_live_. Tokens of the control plane open no records.'
  }
  return undefined
}

function authenticationFailure (code: FailureCode, message?: string): Failure {
  return new Failure(code, {
    ...(message !== undefined && { message }),
    headers: { 'www-authenticate': 'ApiKey header="x-api-key", Bearer' }
  })
}

/** The options of the plugin {@link authenticate}; `now` is the wall clock. */
interface AuthenticateOptions {
  readonly authenticate: Authenticate
  /** Called for each request whose key is refused with 401; an error that it throws becomes the response. */
  readonly onRefused?: (request: FastifyRequest) => Promise<void>
  readonly now: () => Date
}

/** Admits only requests with a valid key to the scope in which it is registered, and sets `caller` on each. */
export const authenticate = fp<AuthenticateOptions>(async (app, { authenticate, onRefused, now }) => {
  app.decorateRequest('caller')
  const refuse = async (request: FastifyRequest, error: unknown): Promise<never> => {
    if (error instanceof Failure && error.status === 401) await onRefused?.(request)
    throw error
  }
  // No promise for a key that is cached, as nearly all are.
  app.addHook('onRequest', (request, _, done) => {
    const admit = (caller: Caller) => {
      request.caller = caller
      done()
    }
    const refuseCaller = (error: unknown) => { refuse(request, error).catch(done) }
    let caller: Caller | Promise<Caller>
    try {
      caller = authenticate(request.raw.rawHeaders, now())
    } catch (error) {
      return refuseCaller(error)
    }
    if (caller instanceof Promise) caller.then(admit, refuseCaller)
    else admit(caller)
  })
}, { name: 'authenticate', fastify: '5.x' })

declare module 'fastify' {
  interface FastifyRequest {
    /** Set in every scope that {@link authenticate} guards, from its hook on. */
    caller: Caller
  }
}
