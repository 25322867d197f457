import type { FastifyRequest } from 'fastify'
import { toFailure } from '../../envelope/error-handlers.js'
import type { Caller } from '../../keys/caller.js'
import { isLimited, may, requireEveryScope, requireScope } from '../../keys/scopes.js'
import type { Batch, Export, FhirInteraction } from '../../tenant-guard/interaction.js'
import { isAppendOnly, listRequiredScopes } from '../../tenant-guard/policy.js'
import { limitTypes } from '../../jobs/model/job.js'

/**
 * The interaction as far as the caller's scopes permit it; its kind and type are stored on the request. An export has
 * only the types that the caller may read, and a refused delete names what refers to the record only to callers that
 * may read all types.
 * @throws {Failure} INSUFFICIENT_SCOPE; in a batch only the entries that need another scope are refused
 */
export function authorizeInteraction (
  request: Pick<FastifyRequest, 'caller' | 'understood'>,
  interaction: FhirInteraction
): FhirInteraction {
  const { caller } = request
  request.understood = { kind: interaction.kind, type: interaction.type }
  if (interaction.kind === 'batch') {
    return { ...interaction, entries: interaction.entries.map(entry => authorizeEntry(caller, entry)) }
  }
  requireScopes(caller, interaction)
  if (interaction.kind === 'export') return authorizeExport(caller, interaction)
  if (interaction.kind === 'delete') return { ...interaction, listsReferrers: !isLimited(caller.scopes, 'read') }
  if (interaction.kind === 'transaction') {
    for (const { interaction: part } of interaction.entries) requireScopes(caller, part)
  }
  return interaction
}

/** Whether the caller may see the record that a write left: after an update or a patch it holds more than was sent. */
export function maySeeWritten (caller: Caller, { kind, type }: Pick<FhirInteraction, 'kind' | 'type'>): boolean {
  return (kind !== 'update' && kind !== 'patch') || may(caller.scopes, 'read', { fhirType: type })
}

function authorizeEntry (caller: Caller, entry: Batch['entries'][number]): Batch['entries'][number] {
  if ('failure' in entry) return entry
  try {
    requireScopes(caller, entry.interaction)
    return entry
  } catch (error) {
    return { failure: toFailure(error) }
  }
}

function requireScopes (caller: Caller, interaction: FhirInteraction): void {
  for (const { effect, type } of listRequiredScopes(interaction)) {
    requireScope(caller, effect, type === undefined ? 'any' : { fhirType: type })
  }
  if (deletions.has(interaction.kind) && isAppendOnly(interaction.type)) requireEveryScope(caller)
}

const deletions: ReadonlySet<FhirInteraction['kind']> = new Set(['delete', 'conditional-delete'])

/** An export of the types that the caller may read; one that names another type is refused. */
function authorizeExport (caller: Caller, interaction: Export): Export {
  if (!isLimited(caller.scopes, 'read')) return interaction
  const { request, namesTypes } = interaction
  const named = [...namesTypes ? request.types : [], ...Object.keys(request.filters ?? {})]
  for (const type of named) requireScope(caller, 'read', { fhirType: type })
  const limited = limitTypes(request, type => may(caller.scopes, 'read', { fhirType: type }))
  if (limited.types.length === 0) requireScope(caller, 'read', { fhirType: request.types[0] ?? interaction.type })
  return { ...interaction, request: limited }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The interaction and type of a raw FHIR request, in terms of R4; undefined until it is parsed. */
    understood: { readonly kind: FhirInteraction['kind'] | 'import', readonly type: string } | undefined
  }
}
