import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fp from 'fastify-plugin'
import { onResponseEnd } from '../net/on-response-end.js'

/** The most requests on one connection that may wait for a response. */
const maxPipelined = 256

/** The responses that each connection waits for. */
const responses = new WeakMap<Socket, Set<ServerResponse>>()

/** Whether a request on the connection has not had its whole response yet. Its body may not have arrived either. */
export function hasPendingResponse (socket: Socket): boolean {
  return (responses.get(socket)?.size ?? 0) > 0
}

/** Whether a request on the connection has not arrived completely. */
export function isReceivingBody (socket: Socket): boolean {
  for (const { req } of responses.get(socket) ?? []) if (!req.complete) return true
  return false
}

/**
 * Disconnects a client that continues to send requests on one connection and reads no responses: Node reads them all,
 * and since responses are sent in order, everything after a slow one would be held in memory. When a connection ends,
 * so do all of its responses.
 */
export const limitPipelining = fp(async app => {
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request
    const pending = responses.get(socket) ?? trackResponses(socket)
    responses.set(socket, pending)
    if (pending.size === maxPipelined) socket.destroy()
    // Requests that were read before their connection ended have no client to respond to.
    if (socket.destroyed) {
      end(reply.raw)
      return reply.hijack()
    }
    pending.add(reply.raw)
    onResponseEnd(request, reply, () => pending.delete(reply.raw))
    done()
  })
}, { name: 'bound-pipelining', fastify: '5.x' })

/**
 * Node itself ends only the first response of a connection, and code that waits for the end of those after it would
 * wait for ever.
 */
function end (response: ServerResponse): void {
  response.destroy().emit('close')
}

/** The responses that end with the connection. */
function trackResponses (socket: Socket): Set<ServerResponse> {
  const pending = new Set<ServerResponse>()
  socket.once('close', () => {
    for (const response of pending) end(response)
  })
  return pending
}
