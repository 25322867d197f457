import type { FastifyInstance } from 'fastify'
import { GatewaysPage } from './list.js'
import { onlyOperators } from '../organization-requests.js'
import type { DashboardParts } from '../parts.js'

/** The page of the gateways. */
export async function gatewayRoutes (scope: FastifyInstance, { url }: DashboardParts): Promise<void> {
  scope.get('/gateways', { onRequest: onlyOperators }, async ({ desk }, reply) => await reply.page('Gateways', <GatewaysPage gateways={await desk.listGateways()} controlUrl={url} />))
}
