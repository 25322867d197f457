import type { FastifyReply, FastifyRequest } from 'fastify'
import type {} from '../envelope/body.js'

/** How long a client may take to send the body of a request, in milliseconds. */
const maxMs = 60_000

/**
 * Ends a request whose body does not arrive in time. The HTTP server could do that itself, but not by route: a streamed
 * body may take any time as long as data arrives.
 */
export function limitBodyTime ({ raw, routeOptions }: FastifyRequest, ms = maxMs): void {
  if (!hasBody(raw) || routeOptions.config.isStreamed === true) return
  const timer = setTimeout(() => {
    const timeoutError = Object.assign(new Error('the request body did not arrive in time'), {
      code: 'ERR_HTTP_REQUEST_TIMEOUT'
    })
    const { server } = raw.socket as typeof raw.socket & { readonly server?: NodeJS.EventEmitter }
    if (server?.emit('clientError', timeoutError, raw.socket) !== true) raw.destroy()
  }, ms).unref()
  raw.once('close', () => clearTimeout(timer))
}

/** How long after the response the rest of a body is read, in milliseconds. */
const lingeringMs = 10_000

/**
 * Reads and drops the rest of a body after the response: a client that sends everything before it reads then gets the
 * response (RFC 9112, section 9.6), and the end of a connection is only noticed while it is read. A body that has not
 * ended after {@link lingeringMs} is cut off.
 */
export function drainRequestBody ({ raw }: FastifyRequest, { raw: response }: FastifyReply, ms = lingeringMs): void {
  if (!hasBody(raw)) return
  const { socket } = raw
  response.once('finish', () => {
    if (raw.readableEnded) return
    const timer = setTimeout(() => socket.destroy(), ms).unref()
    // A listener, so that the body flows even if its previous reader releases it only later.
    raw.once('end', () => clearTimeout(timer)).on('data', () => {}).resume()
  })
}

function hasBody ({ headers }: FastifyRequest['raw']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
