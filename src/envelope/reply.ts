import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { printJson } from '../json.js'
import type { Failure, Issue } from './failures.js'
import type {} from './identity.js'

/** What every answer says about itself. The three numbers are null where no limit applies. */
interface ReplyMeta {
  readonly requestId: string
  /** When the request came in, ISO 8601. */
  readonly timestamp: string
  readonly status: number
  readonly rateLimitTotal: number | null
  readonly rateLimitRemaining: number | null
  readonly rateLimitReset: number | null
  /** What is not wrong with a record that was written, but should be known; absent when there is nothing. */
  readonly warnings?: readonly Issue[]
}

/** An answer as the client reads it. */
interface Envelope<T> { readonly data: T, readonly meta: ReplyMeta }

/** An answer that is not a success, as the client reads it. */
export interface FailureEnvelope extends Envelope<null> {
  readonly error: string
  readonly code: string
  readonly message: string
  readonly issues: readonly Issue[]
}

/**
 * Puts whatever a handler of the scope returns into the envelope, as `data`, and prints exact numbers with their own text.
 * A handler that sends text or a stream speaks for itself.
 */
export const envelope = fp(async app => {
  app.setReplySerializer(printJson)
  app.addHook('preSerialization', async (request, { statusCode }, data: unknown): Promise<Envelope<unknown>> =>
    ({ data, meta: metaOf(request, statusCode) }))
}, { name: 'envelope', dependencies: ['identity'], fastify: '5.x' })

/** Sends what is JSON text already, in the envelope of a success. */
export function sendText (reply: FastifyReply, data: string): FastifyReply {
  const { request, statusCode } = reply
  return reply.type('application/json; charset=utf-8').send(`{"data":${data},"meta":${JSON.stringify(metaOf(request, statusCode))}}`)
}

/** Sends a failure with the headers that it asks for, in any scope. */
export function sendFailure (reply: FastifyReply, failure: Failure): FastifyReply {
  const body = failureEnvelope(failure, metaOf(reply.request, failure.status))
  // As text, which no hook that wraps successes sees.
  return reply.code(failure.status).headers(failure.headers).type('application/json; charset=utf-8').send(JSON.stringify(body))
}

/** The body of a failure: nothing of its cause, nothing of what was sent. */
export function failureEnvelope (failure: Failure, meta: ReplyMeta): FailureEnvelope {
  return { data: null, error: failure.title, code: failure.code, message: failure.message, issues: failure.issues, meta }
}

function metaOf ({ id, arrivedAt, rate, warnings = [] }: FastifyRequest, status: number): ReplyMeta {
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
