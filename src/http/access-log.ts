import type { FastifyContextConfig } from 'fastify'
import fp from 'fastify-plugin'
import { onResponseEnd } from '../net/on-response-end.js'

/**
 * One line for each request, when it has ended; at debug level for a successful probe, since there is one every second.
 * It names the route's pattern and never the URL, whose path and query hold ids and names of patients; no header and no
 * body.
 */
export const accessLog = fp(async app => {
  app.addHook('onRequest', (request, reply, done) => {
    onResponseEnd(request, reply, isCompleted => {
      const { method, routeOptions, caller } = request
      const status = isCompleted ? reply.statusCode : null
      request.log[isSuccessfulProbe(routeOptions.config, status) ? 'debug' : 'info']({
        method,
        route: routeOptions.url ?? null,
        status,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        keyId: caller?.keyId,
        tenantId: caller?.tenantId
      }, isCompleted ? 'responded' : 'the client disconnected before the response was complete')
    })
    done()
  })
}, { name: 'access-log', fastify: '5.x' })

function isSuccessfulProbe ({ isProbe }: FastifyContextConfig, status: number | null): boolean {
  return isProbe === true && status !== null && status >= 200 && status < 300
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a route is for clients that check the health of the process repeatedly, such as a load balancer. */
    readonly isProbe?: boolean
  }
}
