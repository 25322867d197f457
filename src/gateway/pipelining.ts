import type { Socket } from 'node:net'
import fp from 'fastify-plugin'

/** Requests on one connection that may wait for an answer at a time. */
const mostUnanswered = 256

/**
 * Cuts off a client that goes on sending requests on one connection and takes no answers: Node reads them all, and since answers keep
 * their order, everything after a slow one would be held in memory.
 */
export const boundPipelining = fp(async app => {
  const unanswered = new WeakMap<Socket, number>()
  app.addHook('onRequest', async ({ socket, raw }, { raw: answer }) => {
    const count = (unanswered.get(socket) ?? 0) + 1
    unanswered.set(socket, count)
    answer.once('close', () => unanswered.set(socket, unanswered.get(socket)! - 1))
    if (count > mostUnanswered) raw.destroy()
  })
}, { name: 'bound-pipelining', fastify: '5.x' })
