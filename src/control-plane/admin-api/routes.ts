import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ControlStore } from '../store/store.js'
import { ControlError, failureCodes } from '../store/control-error.js'
import { bodyTypes, jsonBodies, parseBody } from '../../envelope/body.js'
import { handleError, handleNotFound } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import { getRawQuery } from '../../envelope/query.js'
import { envelope } from '../../envelope/reply.js'
import { ServedDocument } from '../../envelope/served-document.js'
import { refuseIdempotencyKey } from '../../idempotency/header.js'
import { buildManagementDocument } from './document.js'
import { createBodyCheck, createQueryCheck } from '../../envelope/checked-input.js'
import { getSuccessStatus, type NamedOperation } from './operation.js'
import { operations } from './operations.js'
import { createControlService, type ControlService } from '../store/control-service.js'
import { toTokenActor } from '../store/token-store.js'
import { parseBearerToken } from '../../envelope/headers.js'

/** The dependencies of the management API; `url` is its public URL. */
interface ManagementOptions {
  readonly control: ControlStore
  readonly version: string
  readonly url: string
}

/** Names, scopes and a few settings: no body is longer. */
const bodyBytes = 65_536

/**
 * The management API below `/control/v1`: for programs, with tokens of its own. Every request has the permissions of
 * its token.
 */
export async function management (scope: FastifyInstance, options: ManagementOptions): Promise<void> {
  scope.setErrorHandler((error, request, reply) => handleError(toApiFailure(error), request, reply))
  scope.setNotFoundHandler(handleNotFound)
  const document = new ServedDocument(() => buildManagementDocument(options))
  scope.get('/openapi.json', async (request, reply) => await document.send(request, reply))
  await scope.register(authenticatedRoutes, { control: options.control })
}

async function authenticatedRoutes (
  scope: FastifyInstance, { control }: Pick<ManagementOptions, 'control'>
): Promise<void> {
  scope.addHook('onRequest', async (_, reply) => { reply.header('cache-control', 'no-store') })
  await scope.register(withControlService, { control })
  scope.addHook('onRequest', async request => refuseIdempotencyKey(request))
  await scope.register(envelope)
  await scope.register(routesWithoutBody)
  await scope.register(routesWithBody)
}

/** Some clients send an empty object with every request that changes something. */
async function routesWithoutBody (scope: FastifyInstance): Promise<void> {
  scope.addContentTypeParser(
    bodyTypes,
    { parseAs: 'buffer', bodyLimit: bodyBytes },
    async (_: FastifyRequest, body: Buffer) => (body.length === 0 ? undefined : parseBody(body))
  )
  for (const operation of operations.filter(({ body }) => body === undefined)) addRoute(scope, operation)
}

async function routesWithBody (scope: FastifyInstance): Promise<void> {
  await scope.register(jsonBodies, { limitBytes: bodyBytes })
  for (const operation of operations.filter(({ body }) => body !== undefined)) addRoute(scope, operation)
}

function addRoute (scope: FastifyInstance, operation: NamedOperation): void {
  const checkBody = createBodyCheck(operation.body)
  const checkQuery = createQueryCheck(operation.query)
  scope.route({
    method: operation.method,
    url: operation.path,
    handler: async (request, reply) => {
      const input = {
        ids: request.params as Record<string, string>,
        query: checkQuery(getRawQuery(request.raw.url)),
        body: checkBody(request.body)
      }
      reply.code(getSuccessStatus(operation))
      return await operation.run(request.adminControlService, input)
    }
  })
}

function toApiFailure (error: unknown): unknown {
  return error instanceof ControlError ? new Failure(failureCodes[error.reason], { message: error.message }) : error
}

/**
 * Admits only requests with a valid management token into the scope, and sets the control service of each to that of
 * the token's owner.
 */
const withControlService = fp<{ readonly control: ControlStore }>(async (app, { control }) => {
  app.decorateRequest('adminControlService')
  app.addHook('onRequest', async request => {
    const token = await control.tokens.findBySecret(parseBearerToken(request.raw.rawHeaders) ?? '')
    const actor = token && toTokenActor(token)
    if (actor === undefined) {
      throw new Failure('UNAUTHORIZED', {
        message: 'Send a valid management token in the header Authorization: Bearer <token>.',
        headers: { 'www-authenticate': 'Bearer realm="control"' }
      })
    }
    request.adminControlService = createControlService(control, actor)
  })
}, { name: 'management-service', fastify: '5.x' })

declare module 'fastify' {
  interface FastifyRequest {
    /** Known in every scope that {@link withControlService} guards, from its hook on. */
    adminControlService: ControlService
  }
}
