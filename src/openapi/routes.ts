import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import type { JsonSchema } from './components.js'

export interface DocumentationOptions {
  /** Asked for at most once, when somebody reads the documentation. */
  readonly document: () => JsonSchema
}

/** `/openapi.json`, and `/docs` where it can be read and tried. Everything comes from this process; no page asks another host. */
export async function documentation (scope: FastifyInstance, { document }: DocumentationOptions): Promise<void> {
  let made: JsonSchema | undefined
  const once = (): JsonSchema => (made ??= document())
  scope.get('/openapi.json', async (_, reply) => await reply.type('application/json; charset=utf-8').send(JSON.stringify(once())))
  await scope.register(swagger, { mode: 'static', specification: { document: { openapi: '3.1.1', info: { title: 'clinigate', version: '' }, paths: {} } } })
  await scope.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    uiConfig: { docExpansion: 'none', deepLinking: true, tagsSorter: 'alpha', defaultModelsExpandDepth: 0 },
    theme: { title: 'clinigate' },
    transformSpecificationClone: false,
    transformSpecification: once
  })
}
