import fp from 'fastify-plugin'
import { whenEnded } from './when-ended.js'

/**
 * One line for each request, when it has ended. It names the route's pattern and never the URL, whose path and query hold ids and names of
 * patients; no header and no body.
 */
export const accessLog = fp(async app => {
  app.addHook('onRequest', (request, reply, done) => {
    whenEnded(request, reply, isAnswered => {
      const { method, routeOptions, caller } = request
      request.log.info({
        method,
        route: routeOptions.url ?? null,
        status: isAnswered ? reply.statusCode : null,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        keyId: caller?.keyId,
        tenantId: caller?.tenantId
      }, isAnswered ? 'answered' : 'the client disconnected before the response was complete')
    })
    done()
  })
}, { name: 'access-log', fastify: '5.x' })
