import fp from 'fastify-plugin'
import type { Readiness } from './readiness.js'

/**
 * Lets go of connections before the server closes, by telling so with each answer, and while it does. One whose answer had begun before could not be told that it ends with it, and would
 * hold the server up for as long as an idle connection may last.
 */
export const letGo = fp<{ readonly readiness: Readiness }>(async (app, { readiness }) => {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    readiness.leave()
  })
  app.addHook('onRequest', async (_, reply) => { if (readiness.isLeaving) reply.header('connection', 'close') })
  app.addHook('onResponse', async () => {
    // The connection is idle once the server has seen the answer's end, too.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
  })
}, { name: 'let-go', fastify: '5.x' })
