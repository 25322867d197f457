import { Failure } from '../envelope/failures.js'
import type { Interaction } from './interaction.js'
import { isId, resourceTypes, sharedTypes } from './resource-types.js'

/** What one kind of interaction needs and what the guard does about it. */
export interface Rule {
  /** What the key must be allowed to do; the effect counts, not the HTTP method. */
  readonly scope: 'read' | 'write'
  readonly on: 'type' | 'record'
  /** How one tenant is kept from another's records, as the documentation prints it. */
  readonly isolation: string
}

/** Every interaction that the guard performs; what is not here does not reach a datastore. */
export const policy: Readonly<Record<Interaction['kind'], Rule>> = {
  read: { scope: 'read', on: 'record', isolation: 'The answer must carry the tenant\'s tag.' },
  vread: { scope: 'read', on: 'record', isolation: 'The record must be the tenant\'s now, and that version of it must carry the tenant\'s tag.' },
  'read-related': { scope: 'read', on: 'record', isolation: 'The tag is a condition of the record; only search parameters of R4 are followed, one reference far; what comes along without the tenant\'s tag is left out.' },
  search: { scope: 'read', on: 'type', isolation: 'The tag is a condition of the search; each match must carry it; the page link is sealed.' },
  create: { scope: 'write', on: 'type', isolation: 'The tag is put on; each reference must lead to a record of the tenant; the answer must carry the tag.' },
  'create-once': { scope: 'write', on: 'type', isolation: 'As create; the tag is also a condition of what counts as made before.' },
  update: { scope: 'write', on: 'record', isolation: 'The record must be the tenant\'s; then as create, on the version that was read.' },
  delete: { scope: 'write', on: 'record', isolation: 'The stored record must carry the tenant\'s tag.' }
}

/**
 * Refuses an interaction that no tenant may have, before anything is looked up.
 * @throws {Failure} METHOD_NOT_ALLOWED for a type that is shared by nature, NOT_FOUND for a type or id that cannot be
 */
export function decide (interaction: Interaction): void {
  const rule = policy[interaction.kind]
  if (sharedTypes.has(interaction.type)) throw new Failure('METHOD_NOT_ALLOWED', { message: 'Records of this type cannot belong to one organization.', headers: { allow: '' } })
  if (!resourceTypes.has(interaction.type)) throw new Failure('NOT_FOUND')
  if (rule.on === 'record' && !isId((interaction as { id?: unknown }).id)) throw new Failure('NOT_FOUND')
}
