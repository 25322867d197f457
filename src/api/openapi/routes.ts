import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { describeRoute, failuresOf, publicFailures, type JsonSchema } from '../../envelope/openapi-responses.js'
import { Failure } from '../../envelope/failures.js'
import { ServedDocument } from '../../envelope/served-document.js'
import type { Offered } from '../../tenant-guard/capabilities.js'
import { describedRoutes, type DescribedRoutes } from './described-routes.js'
import { pageScript, pageStyle, securityPolicy } from './page.js'

export interface DocumentationOptions {
  /** Requested when a client reads the documentation, and again when the datastores offer something else. */
  readonly document: (offered: Offered, described: DescribedRoutes) => JsonSchema
  /** What all shared datastores offer at present: the same object until it changes. */
  readonly offered: () => Promise<Offered>
}

const documentRoute = describeRoute({
  operationId: 'readOpenApi',
  tags: ['service'],
  security: [],
  summary: 'Get this document',
  responses: {
    200: {
      description: 'The OpenAPI document.',
      content: {
        'application/json': {
          schema: { type: 'object', properties: { openapi: { type: 'string' } }, required: ['openapi'] }
        }
      }
    },
    ...failuresOf(publicFailures)
  }
})

/**
 * `/openapi.json`, and `/docs` where it can be read and tried. Everything comes from this process; no page sends a
 * request to another host. It collects the descriptions of the routes that are registered after it, so it has no scope
 * of its own.
 */
export const documentation = fp<DocumentationOptions>(async (scope, { document, offered }) => {
  await scope.register(swagger, {
    openapi: { openapi: '3.1.1', info: { title: 'clinigate', version: '' } },
    hideUntagged: true,
    convertConstToEnum: false,
    refResolver: { buildLocalReference: ({ $id }) => String($id) }
  })
  const served = new ServedDocument<Offered>(offered => document(offered, describedRoutes(scope)), offered)
  scope.get('/openapi.json', documentRoute, async (request, reply) => await served.send(request, reply))
  await scope.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: securityPolicy,
    uiConfig: {
      layout: 'BaseLayout',
      docExpansion: 'none',
      filter: true,
      tagsSorter: 'alpha',
      deepLinking: true,
      displayRequestDuration: true,
      defaultModelsExpandDepth: -1,
      persistAuthorization: false
    },
    theme: {
      title: 'clinigate',
      css: [{ filename: 'page.css', content: pageStyle }],
      js: [{ filename: 'page.js', content: pageScript }]
    },
    uiHooks: { onRequest: async (request, reply) => await sendInstead(request, reply, served) }
  })
}, { name: 'documentation', fastify: '5.x' })

/**
 * The pages' own routes for the document: one is sent like everywhere else; the other would convert it to YAML at every
 * request.
 */
async function sendInstead (
  request: FastifyRequest,
  reply: FastifyReply,
  served: ServedDocument<Offered>
): Promise<void> {
  const { url } = request.routeOptions
  if (url === '/docs/yaml') throw new Failure('NOT_FOUND')
  if (url === '/docs/json') await served.send(request, reply)
}
