import { Failure } from '../envelope/failures.js'
import { hasTest } from '../envelope/json-patch.js'
import type { FhirInteraction, Interaction, InteractionKind, Transaction } from './interaction.js'
import { isAccessEvent } from './access-event-id.js'
import { isId } from '../fhir/names.js'
import { resourceTypes, sharedTypes } from '../fhir/resource-types.js'

/** The requirements of one kind of interaction, and the guard's restriction of it. */
interface Rule {
  /** The scopes that the key needs; the effect counts, not the HTTP method. `entries`: those that its entries need. */
  readonly scopes: ReadonlyArray<'read' | 'write'> | 'entries'
  /** The subject: a tenant's records of a type, one of them, several, or what all tenants share. */
  readonly on: 'type' | 'record' | 'bundle' | 'shared'
  /** How one tenant is isolated from another's records, as the documentation prints it. */
  readonly isolation: string
}

/** Every interaction that the guard performs; what is not here does not reach a datastore. */
export const policy: Readonly<Record<InteractionKind, Rule>> = {
  read: { scopes: ['read'], on: 'record', isolation: "The answer must carry the tenant's tag." },
  vread: {
    scopes: ['read'],
    on: 'record',
    isolation: "The record must be the tenant's now, and that version of it must carry the tenant's tag."
  },
  history: {
    scopes: ['read'],
    on: 'record',
    isolation:
      "The record must be the tenant's now; each version must carry the tenant's tag; the page link is sealed."
  },
  'read-related': {
    scopes: ['read'],
    on: 'record',
    isolation:
      "The tag is a condition of the record, in the URL; only search parameters of R4 are followed, one reference far; what comes along without the tenant's tag is left out."
  },
  search: {
    scopes: ['read'],
    on: 'type',
    isolation:
      "The tag is a condition of the search, and of each search that a chain or _has becomes: in the URL, and of a search by form in the form as well; the record whose compartment is searched must be the tenant's; each match must carry it, else the search is repeated among the tenant's own matches; what comes along without it is left out; the page link is sealed."
  },
  everything: {
    scopes: ['read'],
    on: 'record',
    isolation:
      "The patient must be the tenant's; what comes along without the tenant's tag is left out; the page link is sealed."
  },
  create: {
    scopes: ['write'],
    on: 'type',
    isolation: 'The tag is put on; each reference must lead to a record of the tenant; the answer must carry the tag.'
  },
  'create-once': {
    scopes: ['write'],
    on: 'type',
    isolation: 'As create; the tag is also a condition of what counts as made before, in If-None-Exist.'
  },
  'conditional-create': {
    scopes: ['read', 'write'],
    on: 'type',
    isolation: 'As create; the tag is also a condition of what counts as there, in If-None-Exist.'
  },
  update: { scopes: ['write'], on: 'record', isolation: "The record must be the tenant's; then as create." },
  'conditional-update': {
    scopes: ['read', 'write'],
    on: 'type',
    isolation:
      'The record is found by a search with the tag; then as update, or as conditional-create where there is none.'
  },
  patch: {
    scopes: ['write'],
    on: 'record',
    isolation:
      "The record must be the tenant's; the patch is applied here, and its result stored as an update of the version that was read."
  },
  'conditional-patch': {
    scopes: ['read', 'write'],
    on: 'type',
    isolation: 'The record is found by a search with the tag; then as patch.'
  },
  delete: { scopes: ['write'], on: 'record', isolation: "The stored record must carry the tenant's tag." },
  'conditional-delete': {
    scopes: ['read', 'write'],
    on: 'type',
    isolation: 'The record is found by a search with the tag; then as delete. Several are never deleted at once.'
  },
  import: {
    scopes: ['write'],
    on: 'record',
    isolation:
      'The id is that of a record of the tenant, or made here by a secret of the organization; then as create.'
  },
  validate: {
    scopes: ['read'],
    on: 'type',
    isolation:
      'The resource is stamped and its references are checked before the datastore sees it; nothing is stored.'
  },
  terminology: {
    scopes: ['read'],
    on: 'shared',
    isolation: 'Only what the operator loaded is asked, by its URL; no tenant can write there.'
  },
  export: {
    scopes: ['read'],
    on: 'shared',
    isolation:
      "The tag is a condition of each type's only filter in the datastore's native export, in _typeFilter, and of each search where it has none, as in a search; a group must be the tenant's, and so must its members and the patients that a request names; each line must carry the tag, else it is left out; a client sees no file and no address of the datastore's."
  },
  batch: { scopes: 'entries', on: 'bundle', isolation: 'Each entry is performed as the same request alone.' },
  transaction: {
    scopes: 'entries',
    on: 'bundle',
    isolation: 'Each entry is decided on as the same request alone; what one of them may not do, none of them does.'
  }
}

/** The policy as the documentation prints it, a line for each interaction. */
export function formatPolicyTable (): string {
  const rows = Object.entries(policy).map(
    ([kind, { scopes, isolation }]) =>
      `| ${kind} | ${scopes === 'entries' ? 'as its entries' : scopes.join(', ')} | ${isolation} |`
  )
  return ["| interaction | needs | how one tenant is kept from another's records |", '|---|---|---|', ...rows].join(
    '\n'
  )
}

/** An effect that a key must permit; without a type, on records of any. */
interface RequiredScope { readonly effect: 'read' | 'write', readonly type?: string }

/**
 * Everything that a key must permit for an interaction: besides what the interaction does to its own type, to read each
 * type whose records decide about the response, since a client could find out their contents by such a request.
 */
export function listRequiredScopes (interaction: FhirInteraction): readonly RequiredScope[] {
  const { on, scopes } = policy[interaction.kind]
  if (scopes === 'entries') return 'references' in interaction ? toReadScopes(listCriteriaTypes(interaction)) : []
  const type = on === 'shared' ? {} : { type: interaction.type }
  return [...scopes.map(effect => ({ effect, ...type })), ...toReadScopes(listInspectedTypes(interaction))]
}

const toReadScopes = (types: readonly string[]): RequiredScope[] => types.map(type => ({ effect: 'read', type }))

const listCriteriaTypes = ({ references }: Pick<Transaction, 'references'>): string[] =>
  [...references.values()].map(({ type }) => type)

function listInspectedTypes (interaction: FhirInteraction): readonly string[] {
  switch (interaction.kind) {
    case 'search':
      return [...(interaction.joins ?? []).flatMap(({ types }) => types), interaction.within?.type ?? []].flat()
    case 'everything':
      return interaction.parameters.flatMap(([name, value]) => (name === '_type' ? value.split(',') : []))
    case 'export':
      return interaction.request.level === 'group' ? ['Group'] : []
    case 'patch':
    case 'conditional-patch':
      return hasTest(interaction.patch) ? [interaction.type] : []
    default:
      return []
  }
}

/**
 * Refuses an interaction that no tenant may have, before any look-up.
 * @throws {Failure} METHOD_NOT_ALLOWED for a type that is shared by nature and for a change of what the gateway
 * maintains, NOT_FOUND for a type or id that cannot be
 */
export function authorize (interaction: Interaction): void {
  const { on, scopes } = policy[interaction.kind]
  if (on === 'bundle' || on === 'shared') return
  if (sharedTypes.has(interaction.type)) {
    throw new Failure('METHOD_NOT_ALLOWED', {
      message: 'Records of this type cannot belong to one organization.',
      headers: { allow: '' }
    })
  }
  if (!resourceTypes.has(interaction.type)) throw new Failure('NOT_FOUND')
  const { id } = interaction as { id?: unknown }
  if (on === 'record' && !isId(id)) throw new Failure('NOT_FOUND')
  if (on === 'record' && scopes.includes('write')) requireMutable(interaction.type, id)
  if (changes.has(interaction.kind) && isAppendOnly(interaction.type)) throw unchangeable()
}

const changes: ReadonlySet<InteractionKind> = new Set([
  'update', 'conditional-update', 'patch', 'conditional-patch'
])

/**
 * Whether records of a type are evidence: they are created and read, never changed, and deleted only by a key that may
 * do everything.
 */
export const isAppendOnly = (type: string): boolean => type === 'AuditEvent'

/** The refusal of a change of a record that {@link isAppendOnly}. */
export function unchangeable (): Failure {
  return new Failure('METHOD_NOT_ALLOWED', {
    message: 'Records of this type are never changed. Create another one.',
    headers: { allow: 'GET, HEAD, DELETE' }
  })
}

/**
 * Refuses a change of what the gateway maintains for a tenant: the AuditEvents that it wrote. The id alone identifies
 * them, so it needs no look-up.
 * @throws {Failure} METHOD_NOT_ALLOWED
 */
export function requireMutable (type: string, id: unknown): void {
  if (isAccessEvent(type, id)) {
    throw new Failure('METHOD_NOT_ALLOWED', {
      message: 'The gateway wrote this record of an access. It can be read, but not changed or deleted.',
      headers: { allow: 'GET, HEAD' }
    })
  }
}
