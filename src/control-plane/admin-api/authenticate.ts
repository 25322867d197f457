import fp from 'fastify-plugin'
import { controlServiceFor, type ControlService } from '../store/desk.js'
import type { ControlStore } from '../store/store.js'
import { tokenActor } from '../store/token-store.js'
import { bearerToken } from '../../envelope/bearer.js'
import { Failure } from '../../envelope/failures.js'

/**
 * Admits only requests with a valid management token into the scope, and sets the control service of each to that of
 * the token's owner.
 */
export const withControlService = fp<{ readonly control: ControlStore }>(async (app, { control }) => {
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
