import type { FastifyInstance } from 'fastify'
import { plainNumbers } from '../../json/json.js'
import type { Webhooks } from '../../events/webhooks/webhook.js'
import { ControlError } from '../store/control-error.js'
import { webhookCalls, webhookRequest, type WebhookResponse } from './webhook-messages.js'

const maxRequestBytes = 65_536

/** The calls of gateways to the webhooks: one route per call. The body has the arguments. */
export function webhookLinkRoutes (scope: FastifyInstance, webhooks: Webhooks): void {
  for (const name of webhookCalls) {
    const options = { schema: { body: webhookRequest(name) }, bodyLimit: maxRequestBytes } as const
    scope.post<{ Body: unknown[] }>(`/webhooks/${name}`, options, async ({ body }): Promise<WebhookResponse> => {
      try {
        const call = webhooks[name] as (...given: unknown[]) => Promise<unknown>
        return { response: (await call.apply(webhooks, plainNumbers(body))) ?? null }
      } catch (error) {
        if (!(error instanceof ControlError)) throw error
        const { reason, message, field } = error
        return { refused: { reason, message, ...field !== undefined && { field } } }
      }
    })
  }
}
