import accepts from '@fastify/accepts'
import fastify from 'fastify'
import { describedRoutes, type DescribedRoutes } from '../api/openapi/described-routes.js'
import { documentation } from '../api/openapi/routes.js'
import { eventRoutes } from '../api/events/routes.js'
import { webhookRoutes } from '../api/webhooks/routes.js'

/** What the handlers of routes need, which are not called here. */
const unused = new Proxy({}, {
  get: (_, name) => { throw new Error(`${String(name)} is needed by a route that is described only`) }
}) as never

/**
 * The routes besides those of the resources, as a gateway describes them, without a gateway: for the types of the
 * client, and for commands that write or compare the OpenAPI document. `hasEvents` is whether `/v1/events` is one.
 */
export async function describeRoutes (
  { hasEvents = false }: { readonly hasEvents?: boolean } = {}
): Promise<DescribedRoutes> {
  const app = fastify()
  await app.register(accepts)
  await app.register(documentation, { document: unused, offered: unused })
  await app.register(async scope => {
    if (hasEvents) await scope.register(eventRoutes, { feed: unused, cursors: unused })
    await scope.register(webhookRoutes, { webhooks: unused })
  }, { prefix: '/v1' })
  await app.ready()
  const described = describedRoutes(app)
  await app.close()
  return described
}
