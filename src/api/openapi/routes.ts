import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import {
  describeRoute, buildFailureResponses, publicFailures, type JsonSchema
} from '../../envelope/openapi-responses.js'
import { Failure } from '../../envelope/failures.js'
import { ServedDocument } from '../../envelope/served-document.js'
import type { Offered } from '../../tenant-guard/capabilities.js'
import { collectDescribedRoutes, type DescribedRoutes } from './described-routes.js'

export interface DocumentationOptions {
  /** Requested when a client reads the documentation, and again when the datastores offer something else. */
  readonly document: (offered: Offered, described: DescribedRoutes) => JsonSchema
  /** The current common capabilities of all shared datastores: the same object until they change. */
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
    ...buildFailureResponses(publicFailures)
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
  const served = new ServedDocument<Offered>(offered => document(offered, collectDescribedRoutes(scope)), offered)
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
    uiHooks: { onRequest: async (request, reply) => await sendDocument(request, reply, served) }
  })
}, { name: 'documentation', fastify: '5.x' })

/**
 * The pages' own routes for the document: one is sent like everywhere else; the other would convert it to YAML at every
 * request.
 */
async function sendDocument (
  request: FastifyRequest,
  reply: FastifyReply,
  served: ServedDocument<Offered>
): Promise<void> {
  const { url } = request.routeOptions
  if (url === '/docs/yaml') throw new Failure('NOT_FOUND')
  if (url === '/docs/json') await served.send(request, reply)
}

/** Allows nothing of another host and no inline script; the pages' library sets styles inline. */
const securityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

/**
 * Where a resource is open, the simple form is next to the FHIR that it becomes; of failures only the descriptions are
 * shown.
 */
const pageStyle = `
.swagger-ui .info { margin: 30px 0; }
.swagger-ui .info .link, .swagger-ui .response-col_links { display: none; }
.swagger-ui .opblock-tag { flex-wrap: wrap; }
.swagger-ui .opblock-tag small { flex-basis: 100%; order: 1; padding: 0; text-align: left; cursor: auto; }
.swagger-ui .opblock-tag small :is(p + p, pre, pre + p) { display: none; }
.swagger-ui .is-open > .opblock-tag small .renderedMarkdown { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 1em; }
.swagger-ui .is-open > .opblock-tag small p:first-child { grid-column: 1 / -1; }
.swagger-ui .is-open > .opblock-tag small :is(p, pre) { display: block; margin: .4em 0; }
.swagger-ui .is-open > .opblock-tag small p:nth-of-type(2) { grid-area: 2 / 1; }
.swagger-ui .is-open > .opblock-tag small p:nth-of-type(3) { grid-area: 2 / 2; }
.swagger-ui .is-open > .opblock-tag small pre { grid-row: 3; overflow-x: auto; background: #fff; border: 1px solid #d8dde7; border-radius: 4px; padding: .8em; }
.swagger-ui .opblock-tag small pre code { color: #3b4151; background: none; padding: 0; font-weight: normal; }
.swagger-ui tr.response:is([data-code^="4"], [data-code^="5"]):not([data-code="422"]) .response-col_description > :not(.response-col_description__inner) { display: none; }
@media (max-width: 700px) {
  .swagger-ui .is-open > .opblock-tag small .renderedMarkdown { display: block; }
}
`

/** A click on an example selects its text; without this it would close the resource that the example belongs to. */
const pageScript = `
document.addEventListener('click', event => { if (event.target.closest('.opblock-tag pre')) event.stopPropagation() }, true)
`
