import type { Actor } from '../../config/actor.js'
import { ControlError } from './control-error.js'

const missing = {
  organization: 'There is no organization with this tenant id.',
  key: 'There is no key with this id.',
  member: 'There is no member with this id.',
  invitation: 'There is no invitation with this id.',
  token: 'There is no token with this id.',
  webhook: 'There is no webhook with this id.',
  subscription: 'There is no subscription with this id.'
} as const

/** The kinds of entities that may be missing. */
type EntityKind = keyof typeof missing

/**
 * The refusal of an entity that does not exist or belongs to another organization. It is the same for both, so that
 * callers can't distinguish them.
 */
export function notFound (thing: EntityKind): ControlError {
  return new ControlError('missing', missing[thing])
}

/**
 * @throws {ControlError} missing, if the actor may not see it. Operators see everything, others only entities of their
 * organization.
 */
export function requireReadAccess (actor: Actor, tenantId: string | undefined, thing: EntityKind): void {
  if (actor.role === 'operator') return
  if (tenantId !== actor.tenantId) throw notFound(thing)
}

/**
 * @throws {ControlError} forbidden, if the actor may not change anything. Check with {@link requireReadAccess} first.
 */
export function requireAdmin (actor: Actor): void {
  if (actor.role === 'viewer') {
    throw new ControlError(
      'forbidden',
      'Your role allows you to view but not to change anything. Ask an admin of your organization.'
    )
  }
}

/** For operations on the service itself. @throws {ControlError} forbidden, for everyone but operators */
export function requireOperator (actor: Actor): void {
  if (actor.role !== 'operator') throw new ControlError('forbidden', 'Only operators of the service can do this.')
}
