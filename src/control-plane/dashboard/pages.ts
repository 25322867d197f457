import type { FastifyInstance } from 'fastify'
import { auditRoutes } from './audit/routes.js'
import { gatewayRoutes } from './gateways/routes.js'
import { keyRoutes } from './keys/routes.js'
import { memberRoutes } from './members/routes.js'
import { organizationRoutes } from './organizations/routes.js'
import { home, organizationPath } from './paths.js'
import type { DashboardContext } from './options.js'
import { tokenRoutes } from './tokens/routes.js'
import { usageRoutes } from './usage/routes.js'

/** What members see and do. */
export async function pages (scope: FastifyInstance, parts: DashboardContext): Promise<void> {
  scope.get('/', async ({ member }, reply) =>
    reply.redirect(member.tenantId === undefined ? `${home}/organizations` : organizationPath(member.tenantId), 303)
  )
  for (const routes of [
    organizationRoutes,
    keyRoutes,
    memberRoutes,
    tokenRoutes,
    usageRoutes,
    auditRoutes,
    gatewayRoutes
  ]) { await scope.register(routes, parts) }
}
