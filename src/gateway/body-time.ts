import type { FastifyRequest } from 'fastify'
import type {} from '../envelope/body.js'

/** How long a client may take to send the body of a request, in milliseconds. */
const longestMs = 60_000

/**
 * Ends a request whose body does not arrive in time. The HTTP server could do that itself, but not by route: a streamed body may
 * take any time as long as it keeps coming.
 */
export function boundBodyTime ({ raw, routeOptions }: FastifyRequest, ms = longestMs): void {
  const hasBody = raw.headers['transfer-encoding'] !== undefined || Number(raw.headers['content-length'] ?? 0) > 0
  if (!hasBody || routeOptions.config.isStreamed === true) return
  const timer = setTimeout(() => {
    const late = Object.assign(new Error('the request body did not arrive in time'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
    const { server } = raw.socket as typeof raw.socket & { readonly server?: NodeJS.EventEmitter }
    if (server?.emit('clientError', late, raw.socket) !== true) raw.destroy()
  }, ms).unref()
  raw.once('close', () => clearTimeout(timer))
}
