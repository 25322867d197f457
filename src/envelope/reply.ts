import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { printJson } from '../json/json.js'
import type { Failure, Issue, Referrers } from './failures.js'
import type {} from './request-metadata.js'

/** The metadata of every response. The numbers are null if no limit applies. */
interface ReplyMeta {
  readonly requestId: string
  /** When the request arrived, ISO 8601. */
  readonly timestamp: string
  readonly status: number
  readonly rateLimitTotal: number | null
  readonly rateLimitRemaining: number | null
  readonly rateLimitReset: number | null
  /** Warnings about a valid record that was written. Absent if there are none. */
  readonly warnings?: readonly Issue[]
}

/** A response as the client sees it. */
interface Envelope<T> { readonly data: T, readonly meta: ReplyMeta }

/** A failed response as the client sees it. */
export interface FailureEnvelope extends Envelope<null> {
  readonly error: string
  readonly code: string
  readonly message: string
  readonly issues: readonly Issue[]
  /** Of a delete that is refused: the records that refer to the one to delete. */
  readonly details?: Referrers
  /** As in `meta`, for clients that look for it here. */
  readonly requestId: string
}

/**
 * Wraps what a handler of the scope returns in the envelope, as `data`, and writes exact numbers with their original
 * text.
 * Text and streams are sent unchanged.
 */
export const envelope = fp(async app => {
  app.setReplySerializer(printJson)
  app.addHook('preSerialization', (request, { statusCode }, data: unknown, done) => {
    const wrapped: Envelope<unknown> = { data, meta: buildMeta(request, statusCode) }
    done(null, wrapped)
  })
}, { name: 'envelope', dependencies: ['identity'], fastify: '5.x' })

const dataStart = Buffer.from('{"data":')

/** Sends JSON, in parts of UTF-8, in the envelope of a success. */
export function sendJson (reply: FastifyReply, data: readonly Buffer[]): FastifyReply {
  const { request, statusCode } = reply
  const meta = Buffer.from(`,"meta":${JSON.stringify(buildMeta(request, statusCode))}}`)
  return reply.type('application/json; charset=utf-8').send(Buffer.concat([dataStart, ...data, meta]))
}

/** Sends data in the envelope of a success, with its status at the top too: monitors of other services look there. */
export function sendWithStatus (
  reply: FastifyReply,
  data: { readonly status: string; readonly [name: string]: unknown }
): FastifyReply {
  const { request, statusCode } = reply
  return reply
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ status: data.status, data, meta: buildMeta(request, statusCode) }))
}

/** Sends a failure with its headers, in any scope. */
export function sendFailure (reply: FastifyReply, failure: Failure): FastifyReply {
  const body = buildFailureEnvelope(failure, buildMeta(reply.request, failure.status))
  // As text, since the hook that wraps successes ignores text.
  return reply
    .code(failure.status)
    .headers(failure.headers)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(body))
}

/** The body of a failure. It contains nothing of the cause or of the request. */
export function buildFailureEnvelope (failure: Failure, meta: ReplyMeta): FailureEnvelope {
  return {
    data: null,
    error: failure.title,
    code: failure.code,
    message: failure.message,
    issues: failure.issues,
    ...failure.details !== undefined && { details: failure.details },
    requestId: meta.requestId,
    meta
  }
}

function buildMeta ({ id, arrivedAt, rate, warnings = [] }: FastifyRequest, status: number): ReplyMeta {
  return {
    requestId: id,
    timestamp: arrivedAt,
    status,
    rateLimitTotal: rate?.limit ?? null,
    rateLimitRemaining: rate?.remaining ?? null,
    rateLimitReset: rate?.resetSeconds ?? null,
    ...warnings.length > 0 && { warnings }
  }
}
