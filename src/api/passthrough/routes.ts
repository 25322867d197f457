import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuseEncoded } from '../../envelope/body.js'
import { handleFhirError, handleNotFound } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import type { IdempotencyStore } from '../../idempotency/keyed-requests.js'
import type { RecordForm } from '../../keys/scopes.js'
import type { TenantStore } from '../../tenant-guard/guard.js'
import { authorizeInteraction } from './allowed.js'
import { sendFhirResponse } from './send-response.js'
import { getBinaryContent } from './binary.js'
import { terminologyProxy } from './terminology-proxy.js'
import { kickOff, type Exports } from './export-routes.js'
import { parseInteraction } from './interaction-of.js'
import { readKeyForInteraction, performIdempotently } from './idempotent.js'
import { readRequest } from './read-request.js'

/** OPTIONS of every path below `/v1/fhir`: 405 with the methods that the path has, without a key. */
export async function passthroughOptions (
  scope: FastifyInstance,
  { fhirBase }: { readonly fhirBase: string }
): Promise<void> {
  const mount = { fhirBase, prefix: scope.prefix }
  scope.setErrorHandler(handleFhirError)
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 0 }, async () => undefined)
  for (const path of ['', '/*']) {
    scope.options(path, async request => {
      parseInteraction(readRequest(request, mount))
    })
  }
}

interface PassthroughOptions {
  /** The datastore of the request's caller, seen through the guard. */
  readonly storeFor: (request: FastifyRequest, form: RecordForm) => TenantStore
  readonly keyedRequests: IdempotencyStore
  /** The gateway's own URL, before `/v1`. */
  readonly url: string
  /** The caller's bulk exports. */
  readonly exports: Exports
  /** The largest body of a request. */
  readonly bodyBytes: number
}

/**
 * `/v1/fhir`: unchanged FHIR R4, without the envelope. None of a request's bytes are forwarded; it is parsed,
 * authorized and rebuilt.
 */
export async function passthrough (
  scope: FastifyInstance,
  { storeFor, keyedRequests, url, exports, bodyBytes }: PassthroughOptions
): Promise<void> {
  const fhirBase = `${url}/v1/fhir`
  scope.decorateRequest('understood', undefined)
  const mount = { fhirBase, prefix: scope.prefix }
  scope.setErrorHandler(handleFhirError)
  scope.setNotFoundHandler(handleNotFound)
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: bodyBytes },
    async (_: FastifyRequest, body: Buffer) => body
  )
  scope.addHook('onRequest', (request, _, done) => {
    refuseEncoded(request)
    done()
  })
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const requested = readRequest(request, mount)
    const interaction = authorizeInteraction(request, parseInteraction(requested))
    const key = readKeyForInteraction(request, interaction)
    const store = storeFor(request, 'fhir')
    if (interaction.kind === 'export') return await kickOff(reply, interaction, { exports, store, url })
    const response = await performIdempotently(reply, interaction, { store, keyedRequests, key })
    const content =
      requested.wantsContent && response.record !== undefined ? getBinaryContent(request, response.record) : undefined
    return sendFhirResponse(reply, response, { interaction, fhirBase, content })
  }
  await scope.register(terminologyProxy, {
    toTerminologyRequest: async request => {
      const interaction = authorizeInteraction(request, parseInteraction(readRequest(request, mount)))
      if (interaction.kind !== 'terminology') throw new Failure('METHOD_NOT_ALLOWED')
      return await storeFor(request, 'fhir').buildTerminologyRequest(interaction)
    }
  })
  for (const path of ['', '/*']) {
    scope.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'],
      url: path,
      exposeHeadRoute: false,
      handler
    })
  }
}
