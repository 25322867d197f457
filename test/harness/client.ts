import { parseStored, printJson } from '../../src/json/json.js'
import type { Mode } from '../../src/config/mode.js'
import type { TestGateway } from './gateway.js'

/** A response as a client reads it, its numbers with their own text. */
export interface ClientResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The envelope; undefined where there was no body. */
  readonly body: any
  /** `data` of the envelope. */
  readonly data: any
}

/** One application with its key: sends requests through the whole pipeline. */
export interface Client {
  readonly tenantId: string
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>
  ) => Promise<ClientResponse>
}

/** A client with a new key; of a new organization unless `tenantId` says another. */
export async function createGatewayClient (
  gateway: TestGateway,
  request: { readonly tenantId?: string; readonly mode?: Mode; readonly plan?: string } = {}
): Promise<Client> {
  const { tenantId, secret } = await gateway.createKey(request)
  return {
    tenantId,
    async send (method, path, body, headers = {}) {
      const response = await gateway.inject({
        method: method as 'GET',
        url: `/v1/${path}`,
        headers: {
          'x-api-key': secret,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers
        },
        ...(body === undefined ? {} : { payload: printJson(body) })
      })
      const read = response.body === '' ? undefined : (parseStored(response.body) as { data: unknown })
      return {
        status: response.statusCode,
        headers: response.headers as Record<string, string>,
        text: response.body,
        body: read,
        data: read?.data
      }
    }
  }
}

/** Plans without any limit, since a test sends more requests in a minute than most plans allow. */
export const unlimitedPlans = { pro: { requestsPerMinute: null, requestsPerMonth: null, overage: true } } as const
