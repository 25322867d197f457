import type { FastifyInstance } from 'fastify'
import { plainNumbers } from '../../json/json.js'
import { ControlError } from '../store/control-error.js'
import { callRequest, receiverCalls, type CallResponse, type Receivers } from './receiver-messages.js'

const maxRequestBytes = 131_072

/** The calls of gateways to webhooks and subscriptions: one route per call. The body has the arguments. */
export function receiverRoutes (scope: FastifyInstance, receivers: Receivers): void {
  for (const [path, name] of receiverCalls) {
    const options = { schema: { body: callRequest(path, name) }, bodyLimit: maxRequestBytes } as const
    scope.post<{ Body: unknown[] }>(`/${path}/${name}`, options, async ({ body }): Promise<CallResponse> => {
      const called = receivers[path] as unknown as Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>
      try {
        return { response: (await called[name]!(...plainNumbers(body))) ?? null }
      } catch (error) {
        if (!(error instanceof ControlError)) throw error
        const { reason, message, field } = error
        return { refused: { reason, message, ...field !== undefined && { field } } }
      }
    })
  }
}
