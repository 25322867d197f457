import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { uuidv7 } from 'uuidv7'
import { failureOf } from './error-handlers.js'
import { Failure } from './failures.js'
import { identify } from './identity.js'
import { failureEnvelope, sendFailure } from './reply.js'

/** Answers a request that is not HTTP, straight on its connection, and ends the connection: where the next request begins is unknown. */
export function malformedHttpHandler (now: () => Date) {
  return function (this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
    this.log.debug({ code: error.code }, 'malformed HTTP')
    if (!socket.writable || isAnsweringAnother(socket)) socket.destroy()
    else socket.end(rawAnswer(failureOfParser(error), now()), () => socket.destroy())
  }
}

/** Answers what the framework refuses before it knows a route, such as a path that cannot be decoded. */
export function frameworkErrorHandler (now: () => Date) {
  return function (error: Error, request: FastifyRequest, reply: FastifyReply): void {
    identify(request, reply, now())
    sendFailure(reply, failureOf(error))
  }
}

const messages: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'Send fewer or shorter headers, and a shorter URL.',
  ERR_HTTP_REQUEST_TIMEOUT: 'Send the whole request sooner.'
}

function failureOfParser ({ code = '' }: NodeJS.ErrnoException): Failure {
  return new Failure('BAD_REQUEST', { message: messages[code] ?? 'Send a well-formed HTTP/1.1 request.' })
}

function rawAnswer (failure: Failure, now: Date): string {
  const requestId = uuidv7()
  const timestamp = now.toISOString()
  const body = JSON.stringify(failureEnvelope(failure, {
    requestId, timestamp, status: failure.status, rateLimitTotal: null, rateLimitRemaining: null, rateLimitReset: null
  }))
  return [
    `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    `x-request-id: ${requestId}`,
    `x-timestamp: ${timestamp}`,
    '',
    body
  ].join('\r\n')
}

/**
 * Whether what can't be read came after a whole request that still waits for its answer or is getting it. A second answer there
 * would be taken for the first one's: a change that is made would seem refused.
 */
function isAnsweringAnother (socket: Socket & { readonly _httpMessage?: ServerResponse | null }): boolean {
  const answer = socket._httpMessage
  return answer != null && (answer.headersSent || answer.req.complete)
}
