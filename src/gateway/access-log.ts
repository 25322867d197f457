import fp from 'fastify-plugin'

/**
 * One line for each answer. It names the route's pattern and never the URL, whose path and query hold ids and names of
 * patients; no header and no body.
 */
export const accessLog = fp(async app => {
  app.addHook('onResponse', async (request, reply) => {
    const { method, routeOptions, caller } = request
    request.log.info({
      method,
      route: routeOptions.url ?? null,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      keyId: caller?.keyId,
      tenantId: caller?.tenantId
    }, 'answered')
  })
}, { name: 'access-log', fastify: '5.x' })
