import fp from 'fastify-plugin'
import type { Readiness } from './readiness.js'

/**
 * Ends connections before the server closes, by a header in each response, and while it does. A connection whose
 * response had begun before gets no such header, and would delay the end until the idle timeout.
 */
export const drainConnections = fp<{ readonly readiness: Readiness }>(async (app, { readiness }) => {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
    readiness.beginShutdown()
  })
  app.addHook('onRequest', (_, reply, done) => {
    if (readiness.isLeaving) reply.header('connection', 'close')
    done()
  })
  app.addHook('onResponse', (_, __, done) => {
    // The connection is idle once the server has seen the response's end, too.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}, { name: 'let-go', fastify: '5.x' })
