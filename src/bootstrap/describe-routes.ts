import accepts from '@fastify/accepts'
import fastify from 'fastify'
import { collectDescribedRoutes, type DescribedRoutes } from '../api/openapi/described-routes.js'
import { documentation } from '../api/openapi/routes.js'
import { eventRoutes } from '../api/events/routes.js'
import { webhookRoutes } from '../api/webhooks/routes.js'
import { health } from '../http/health.js'
import { metadata } from '../http/metadata.js'
import { jobFileRoute } from '../jobs/downloads.js'
import { exportRoute } from '../jobs/export/routes.js'
import { importResultsRoute } from '../jobs/import/results.js'
import { importRoute } from '../jobs/import/routes.js'
import { jobRoutes } from '../jobs/job-routes.js'
import { usageRoute } from '../limits/usage-route.js'

/** Replaces the dependencies of the routes' handlers, which are not called here. */
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
  await app.register(health, { readiness: unused, version: '', checks: {}, now: () => new Date(0) })
  await app.register(metadata, { capabilityStatement: unused, fhirStatement: unused, offered: unused })
  await app.register(async scope => {
    await scope.register(usageRoute, { plans: unused, months: unused })
    await scope.register(jobRoutes, { jobs: unused, url: '', now: unused })
    await scope.register(jobFileRoute, { jobs: unused, spool: unused })
    await scope.register(exportRoute, { jobs: unused, spool: unused, mappings: [], url: '' })
    await scope.register(importRoute, { jobs: unused, spool: unused, rules: unused, url: '', bodyBytes: 1 })
    await scope.register(importResultsRoute, { jobs: unused, spool: unused })
    if (hasEvents) await scope.register(eventRoutes, { feed: unused, cursors: unused })
    await scope.register(webhookRoutes, { webhooks: unused, hasEvents })
  }, { prefix: '/v1' })
  await app.ready()
  const described = collectDescribedRoutes(app)
  await app.close()
  return described
}
