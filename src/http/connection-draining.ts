import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import fp from 'fastify-plugin'
import { serverClosing } from '../envelope/malformed-http.js'
import { hasPendingResponse, isReceivingBody } from './pipelining.js'
import type { Readiness } from './readiness.js'

/** How long connections may stay open once the server closes while their clients send nothing, in milliseconds. */
export interface DrainingTimes {
  /** Those on which nothing was sent. Their first request may be on its way. */
  readonly silentMs: number
  /** Those on which a part of a request's head arrived. Node no longer limits that time once the server closes. */
  readonly headMs: number
  /** Those on which a body stopped arriving. */
  readonly bodyMs: number
}

const defaultTimes: DrainingTimes = { silentMs: 500, headMs: 5_000, bodyMs: 5_000 }
/** How often connections are examined while the server closes, in milliseconds. */
const examineMs = 100

/**
 * Ends connections before the server closes, by a header in each response, and while it does. A connection whose
 * response had begun before gets no such header, and would delay the end until the idle timeout. Node itself keeps
 * connections open whose client has not sent a whole request yet, on all of its versions.
 */
export const drainConnections = fp<{ readonly readiness: Readiness, readonly draining?: DrainingTimes }>(
  async (app, { readiness, draining = defaultTimes }) => {
    const { server } = app
    const connections = new Set<Socket>()
    let isClosing = false
    server.on('connection', (socket: Socket) => {
      connections.add(socket)
      socket.once('close', () => connections.delete(socket))
    })
    app.addHook('preClose', async () => {
      isClosing = true
      readiness.beginShutdown()
      endUnusedConnections(server, connections, draining)
      rejectStalledRequests(server, connections, draining)
    })
    app.addHook('onRequest', (_, reply, done) => {
      if (readiness.isShuttingDown) reply.header('connection', 'close')
      done()
    })
    app.addHook('onResponse', (_, __, done) => {
      // The connection is idle once the server has seen the response's end, too.
      if (isClosing) setImmediate(() => server.closeIdleConnections())
      done()
    })
  },
  { name: 'drain-connections', fastify: '5.x', dependencies: ['bound-pipelining'] }
)

/** Until the server has closed, ends each connection that has no pending response and has had its time. */
function endUnusedConnections (
  server: Server, connections: ReadonlySet<Socket>, { silentMs, headMs }: DrainingTimes
): void {
  const beganAt = performance.now()
  const examining = setInterval(() => {
    const closingMs = performance.now() - beganAt
    for (const socket of connections) {
      if (closingMs >= (socket.bytesRead === 0 ? silentMs : headMs) && !hasPendingResponse(socket)) socket.destroy()
    }
  }, examineMs).unref()
  server.once('close', () => clearInterval(examining))
}

/**
 * Until the server has closed, refuses each request whose body stops arriving: its client may have gone, and would hold
 * the process until its end by force.
 */
function rejectStalledRequests (server: Server, connections: ReadonlySet<Socket>, { bodyMs }: DrainingTimes): void {
  const seen = new WeakMap<Socket, { readonly bytes: number, readonly atMs: number }>()
  const examining = setInterval(() => {
    const atMs = performance.now()
    for (const socket of connections) {
      const bytes = socket.bytesRead
      const before = seen.get(socket)
      if (before?.bytes !== bytes) seen.set(socket, { bytes, atMs })
      else if (atMs - before.atMs >= bodyMs && isReceivingBody(socket)) {
        const stalled = Object.assign(new Error('the request body stopped arriving'), { code: serverClosing })
        if (!server.emit('clientError', stalled, socket)) socket.destroy()
      }
    }
  }, examineMs).unref()
  server.once('close', () => clearInterval(examining))
}
