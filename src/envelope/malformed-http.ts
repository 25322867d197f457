import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { uuidv7 } from 'uuidv7'
import { toFailure } from './error-handlers.js'
import { Failure } from './failures.js'
import { setRequestMetadata } from './request-metadata.js'
import { fhirType, toOperationOutcome, isFhirPath } from './operation-outcome.js'
import { buildFailureEnvelope } from './reply.js'

/**
 * Responds to malformed HTTP directly on the socket, and closes the connection, since it is unknown where the next
 * request starts.
 */
export function createMalformedHttpHandler (now: () => Date, pages?: RefusalPages) {
  return function (this: FastifyInstance, error: ParserError, socket: RespondingSocket): void {
    const { code } = error
    if (!socket.writable || isRespondingToAnother(socket)) {
      this.log.debug({ code }, 'malformed HTTP')
      socket.destroy()
      return
    }
    const form = selectForm(findRequestUrl(error, socket), pages)
    const failure = toParserFailure(error)
    const requestId = uuidv7()
    this.log.info({ requestId, status: failure.status, code }, 'malformed HTTP was refused')
    socket.end(formatRawResponse(failure, { requestId, timestamp: now().toISOString(), form }), () => socket.destroy())
  }
}

/** Node's error for malformed HTTP, with the last bytes that were received. */
interface ParserError extends NodeJS.ErrnoException { readonly rawPacket?: unknown }

/** A socket with the response in progress. */
type RespondingSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

/** The requested URL, as far as it was received. Undefined if the malformed bytes do not start with a request line. */
function findRequestUrl (
  { rawPacket }: ParserError, { _httpMessage: activeResponse }: RespondingSocket
): string | undefined {
  if (activeResponse != null) return activeResponse.req.url
  return rawPacket instanceof Buffer
    ? /^[A-Z]+ (\/[^ ?]*)/.exec(rawPacket.subarray(0, 100).toString('latin1'))?.[1]
    : undefined
}

/** Responds to requests that the framework refuses before routing, such as a path that can't be decoded. */
export function createFrameworkErrorHandler (now: () => Date, pages?: RefusalPages) {
  return function (error: Error, request: FastifyRequest, reply: FastifyReply): void {
    setRequestMetadata(request, reply, now())
    const form = selectForm(request.raw.url, pages)
    const failure = toFailure(error)
    // No hook runs, so that the access log has no line for it.
    request.log.info({ method: request.method, route: null, status: failure.status }, 'responded')
    reply
      .code(failure.status)
      .headers({ ...failure.headers, ...form.headers })
      .send(form.body(failure, { requestId: request.id, timestamp: request.arrivedAt }))
  }
}

const messages: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: 'Send fewer or shorter headers, and a shorter URL.',
  ERR_HTTP_REQUEST_TIMEOUT: 'Send the complete request faster.'
}

/** The code of an error for a request that has not arrived completely when the server closes. */
export const serverClosing = 'ERR_SERVER_CLOSING'

function toParserFailure ({ code = '' }: NodeJS.ErrnoException): Failure {
  if (code === serverClosing) {
    return new Failure('BACKEND_UNAVAILABLE', {
      message: 'This process ends, and did not receive the complete request. Send it again.', retryAfterSeconds: 1
    })
  }
  return new Failure('BAD_REQUEST', { message: messages[code] ?? 'Send a well-formed HTTP/1.1 request.' })
}

/** The format of a response that no route sends. */
interface RefusalForm {
  /** Includes the content type. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: (failure: Failure, about: { readonly requestId: string, readonly timestamp: string }) => string
}

/** The format of the responses that people read, and the path below which they are. */
export interface RefusalPages extends RefusalForm { readonly below: string }

const outcomeForm: RefusalForm = {
  headers: { 'content-type': fhirType },
  body: failure => JSON.stringify(toOperationOutcome(failure))
}
const envelopeForm: RefusalForm = {
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: (failure, about) =>
    JSON.stringify(
      buildFailureEnvelope(failure, {
        ...about,
        status: failure.status,
        rateLimitTotal: null,
        rateLimitRemaining: null,
        rateLimitReset: null
      })
    )
}

function selectForm (url: string | undefined, pages: RefusalPages | undefined): RefusalForm {
  if (isFhirPath(url)) return outcomeForm
  return pages !== undefined && `${url?.split('?', 1)[0]}/`.startsWith(`${pages.below}/`) ? pages : envelopeForm
}

function formatRawResponse (
  failure: Failure,
  { requestId, timestamp, form }: { readonly requestId: string, readonly timestamp: string, readonly form: RefusalForm }
): string {
  const body = form.body(failure, { requestId, timestamp })
  return [
    `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}`,
    'connection: close',
    ...Object.entries({ ...failure.headers, ...form.headers }).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    `x-request-id: ${requestId}`,
    `x-timestamp: ${timestamp}`,
    '',
    body
  ].join('\r\n')
}

/**
 * Whether the malformed bytes follow a complete request whose response is pending or in progress. Another response
 * would be taken for that of the first request: a change that is made would seem to be refused.
 */
function isRespondingToAnother (socket: RespondingSocket): boolean {
  const response = socket._httpMessage
  return response != null && (response.headersSent || response.req.complete)
}
