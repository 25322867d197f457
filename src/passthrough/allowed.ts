import type { FastifyRequest } from 'fastify'
import { failureOf } from '../envelope/error-handlers.js'
import type { Caller } from '../keys/caller.js'
import { requireScope } from '../keys/scopes.js'
import type { Batch, BundleEntry, FhirInteraction } from '../tenant-guard/fhir-interaction.js'
import { policy } from '../tenant-guard/policy.js'

/**
 * The interaction as far as the caller may have it; the request remembers what was understood.
 * @throws {Failure} INSUFFICIENT_SCOPE; of a batch only the entries are refused that need another scope
 */
export function allowed (request: Pick<FastifyRequest, 'caller' | 'understood'>, interaction: FhirInteraction): FhirInteraction {
  const { caller } = request
  request.understood = { kind: interaction.kind, type: interaction.type }
  if (interaction.kind === 'batch') return { ...interaction, entries: interaction.entries.map(entry => 'failure' in entry ? entry : orRefused(caller, entry)) }
  const parts = interaction.kind === 'transaction' ? interaction.entries.map(entry => entry.interaction) : [interaction]
  for (const part of parts) requireScopes(caller, part)
  return interaction
}

function orRefused (caller: Caller, entry: BundleEntry): Batch['entries'][number] {
  try {
    requireScopes(caller, entry.interaction)
    return entry
  } catch (error) {
    return { failure: failureOf(error) }
  }
}

function requireScopes (caller: Caller, { kind }: FhirInteraction): void {
  const { scopes } = policy[kind]
  if (scopes !== 'entries') for (const scope of scopes) requireScope(caller, scope)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What a request of raw FHIR asks for, in words of R4; undefined until it was understood. */
    understood: { readonly kind: FhirInteraction['kind'] | 'import', readonly type: string } | undefined
  }
}
