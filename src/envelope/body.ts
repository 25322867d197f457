import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import { JsonSyntaxError, JsonTooLarge, parseStrict, type JsonBudget } from '../json/json.js'
import { earlierNames } from './accept.js'
import { Failure } from './failures.js'

/** The media types of a body that is not a patch. */
export const plainTypes = ['application/json', 'application/fhir+json'] as const

/** All media types of JSON bodies. A patch may have any of them: its shape determines the kind of patch. */
export const bodyTypes = [...plainTypes, 'application/merge-patch+json', 'application/json-patch+json']

/**
 * Parses JSON bodies strictly in the scope in which it is registered, and refuses all others. `limitBytes` is the
 * largest size.
 */
export const jsonBodies = fp<{ readonly limitBytes: number }>(async (app, { limitBytes }) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    [...bodyTypes, ...earlierNames],
    { parseAs: 'buffer', bodyLimit: limitBytes },
    async (request: FastifyRequest, body: Buffer) => readBody(request, body)
  )
  app.addHook('onRequest', (request, _, done) => {
    if (request.routeOptions.config.isStreamed !== true) refuseEncoded(request)
    done()
  })
  app.addHook('preValidation', (request, _, done) => {
    requireBody(request)
    done()
  })
}, { name: 'json-bodies', fastify: '5.x' })

function readBody (request: FastifyRequest, body: Buffer): unknown {
  requireUtf8(request.headers['content-type'] ?? '')
  return body.length === 0 ? undefined : parseBody(body)
}

/**
 * Parses a body that must not be empty.
 * @param budget the limit on this and other texts of the request in total
 * @throws {Failure} INVALID_JSON, PAYLOAD_TOO_LARGE
 */
export function parseBody (body: Uint8Array, budget?: JsonBudget): unknown {
  try {
    return parseStrict(body, budget)
  } catch (error) {
    if (error instanceof JsonTooLarge) {
      throw new Failure('PAYLOAD_TOO_LARGE', { message: `Send less at once: ${error.reason}.` })
    }
    if (error instanceof JsonSyntaxError) {
      throw new Failure('INVALID_JSON', { message: `Correct the JSON: ${error.reason}.` })
    }
    throw error
  }
}

/**
 * Refuses compressed bodies, since a small request could expand to a large one.
 * @throws {Failure} UNSUPPORTED_MEDIA_TYPE
 */
export function refuseEncoded ({ headers }: Pick<FastifyRequest, 'headers'>): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || encoding.trim().toLowerCase() === 'identity') return
  throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'Send the body without Content-Encoding.' })
}

/** The failure of a body that has none of these media types. */
export function unsupportedMediaType (types: Iterable<string>): Failure {
  return new Failure('UNSUPPORTED_MEDIA_TYPE', {
    message: `Send the Content-Type header with the type of the body: ${[...types].join(' or ')}.`
  })
}

/** @throws {Failure} UNSUPPORTED_MEDIA_TYPE for a body that declares an encoding other than UTF-8 */
export function requireUtf8 (contentType: string): void {
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s";]*)/gi)].map(match => match[1]!.toLowerCase())
  if (charsets.every(charset => charset === 'utf-8' || charset === 'utf8')) return
  throw new Failure('UNSUPPORTED_MEDIA_TYPE', { message: 'Send the body in UTF-8.' })
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route reads a body of any size as a stream, and handles its content encoding. */
    readonly isStreamed?: boolean
  }
}

const methodsWithBody = new Set(['POST', 'PUT', 'PATCH'])

function requireBody ({ method, body }: FastifyRequest): void {
  if (body !== undefined || !methodsWithBody.has(method)) return
  throw new Failure('INVALID_JSON', {
    message: 'Send a JSON value as the request body, with the header Content-Type: application/json.'
  })
}
