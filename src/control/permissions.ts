import type { Actor } from '../actor.js'
import { ControlRefused } from './refused.js'

const missing = {
  organization: 'There is no organization with this tenant id.',
  key: 'There is no key with this id.',
  member: 'There is no member with this id.',
  invitation: 'There is no invitation with this id.',
  token: 'There is no token with this id.'
} as const

/** What can be looked for and not be there. */
type Thing = keyof typeof missing

/** The refusal of what is not there, and of what is another organization's: the same, so that nobody learns which. */
export function missingThing (thing: Thing): ControlRefused {
  return new ControlRefused('missing', missing[thing])
}

/** Operators see everything, others what belongs to their organization. */
export function requireSees (actor: Actor, tenantId: string | undefined, thing: Thing): void {
  if (actor.role === 'operator') return
  if (tenantId !== actor.tenantId) throw missingThing(thing)
}

/** Operators and admins may change something; whether it is theirs is asked before. */
export function requireAdmin (actor: Actor): void {
  if (actor.role === 'viewer') throw new ControlRefused('forbidden', 'Your role allows you to view but not to change anything. Ask an admin of your organization.')
}

/** What concerns the service as a whole. */
export function requireOperator (actor: Actor): void {
  if (actor.role !== 'operator') throw new ControlRefused('forbidden', 'Only operators of the service can do this.')
}
