import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ControlStore } from '../store/store.js'
import { ControlError, failureCodes } from '../store/control-error.js'
import { bodyTypes, jsonBodies, parseBody } from '../../envelope/body.js'
import { errorHandler, notFoundHandler } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import { rawQuery } from '../../envelope/query.js'
import { envelope } from '../../envelope/reply.js'
import { ServedDocument } from '../../envelope/served-document.js'
import { refuseIdempotencyKey } from '../../idempotency/header.js'
import { managementDocument } from './document.js'
import { bodyCheck, queryCheck } from '../../envelope/checked-input.js'
import { statusOf, type NamedOperation } from './operation.js'
import { operations } from './operations.js'
import { controlServiceFor, type ControlService } from '../store/desk.js'
import { tokenActor } from '../store/token-store.js'
import { bearerToken } from '../../envelope/headers.js'

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
  scope.setErrorHandler((error, request, reply) => errorHandler(failureOfRefusal(error), request, reply))
  scope.setNotFoundHandler(notFoundHandler)
  const document = new ServedDocument(() => managementDocument(options))
  scope.get('/openapi.json', async (request, reply) => await document.send(request, reply))
  await scope.register(withToken, { control: options.control })
}

async function withToken (scope: FastifyInstance, { control }: Pick<ManagementOptions, 'control'>): Promise<void> {
  scope.addHook('onRequest', async (_, reply) => { reply.header('cache-control', 'no-store') })
  await scope.register(withControlService, { control })
  scope.addHook('onRequest', async request => refuseIdempotencyKey(request))
  await scope.register(envelope)
  await scope.register(readable)
  await scope.register(changing)
}

/** Some clients send an empty object with whatever changes something. */
async function readable (scope: FastifyInstance): Promise<void> {
  scope.addContentTypeParser(
    bodyTypes,
    { parseAs: 'buffer', bodyLimit: bodyBytes },
    async (_: FastifyRequest, body: Buffer) => (body.length === 0 ? undefined : parseBody(body))
  )
  for (const operation of operations.filter(({ body }) => body === undefined)) addRoute(scope, operation)
}

async function changing (scope: FastifyInstance): Promise<void> {
  await scope.register(jsonBodies, { limitBytes: bodyBytes })
  for (const operation of operations.filter(({ body }) => body !== undefined)) addRoute(scope, operation)
}

function addRoute (scope: FastifyInstance, operation: NamedOperation): void {
  const checkBody = bodyCheck(operation.body)
  const checkQuery = queryCheck(operation.query)
  scope.route({
    method: operation.method,
    url: operation.path,
    handler: async (request, reply) => {
      const input = {
        ids: request.params as Record<string, string>,
        query: checkQuery(rawQuery(request.raw.url)),
        body: checkBody(request.body)
      }
      reply.code(statusOf(operation))
      return await operation.run(request.adminControlService, input)
    }
  })
}

function failureOfRefusal (error: unknown): unknown {
  return error instanceof ControlError ? new Failure(failureCodes[error.reason], { message: error.message }) : error
}

/**
 * Admits only requests with a valid management token into the scope, and sets the control service of each to that of
 * the token's owner.
 */
const withControlService = fp<{ readonly control: ControlStore }>(async (app, { control }) => {
  app.decorateRequest('adminControlService')
  app.addHook('onRequest', async request => {
    const token = await control.tokens.whoHas(bearerToken(request.raw.rawHeaders) ?? '')
    const actor = token && tokenActor(token)
    if (actor === undefined) {
      throw new Failure('UNAUTHORIZED', {
        message: 'Send a valid management token in the header Authorization: Bearer <token>.',
        headers: { 'www-authenticate': 'Bearer realm="control"' }
      })
    }
    request.adminControlService = controlServiceFor(control, actor)
  })
}, { name: 'management-desk', fastify: '5.x' })

declare module 'fastify' {
  interface FastifyRequest {
    /** Known in every scope that {@link withControlService} guards, from its hook on. */
    adminControlService: ControlService
  }
}
