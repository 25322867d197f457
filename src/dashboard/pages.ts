import type { FastifyInstance } from 'fastify'
import type { DashboardParts } from './routes.js'

/** What members see and do. */
export async function pages (scope: FastifyInstance, _: DashboardParts): Promise<void> {
  scope.get('/', async ({ member }, reply) => reply.redirect(member.tenantId === undefined ? '/dashboard/organizations' : `/dashboard/organizations/${member.tenantId}`, 303))
}
