import type { FastifyInstance } from 'fastify'
import { GatewaysPage } from './list.js'
import { operatorsOnly } from '../organization-requests.js'
import type { DashboardContext } from '../options.js'

/** The page of the gateways. */
export async function gatewayRoutes (scope: FastifyInstance, { url }: DashboardContext): Promise<void> {
  scope.get(
    '/gateways',
    { onRequest: operatorsOnly },
    async ({ controlService }, reply) =>
      await reply.page('Gateways', <GatewaysPage gateways={await controlService.listGateways()} controlUrl={url} />)
  )
}
