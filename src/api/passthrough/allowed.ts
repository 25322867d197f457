import type { FastifyRequest } from 'fastify'
import { failureOf } from '../../envelope/error-handlers.js'
import type { Caller } from '../../keys/caller.js'
import { hasScope, requireEveryScope, requireScope } from '../../keys/scopes.js'
import type { Batch, BundleEntry, FhirInteraction, Patch } from '../../tenant-guard/interaction.js'
import { isAppendOnly, policy } from '../../tenant-guard/policy.js'

/**
 * The interaction as far as the caller's scopes permit it; its kind and type are stored on the request. A Bundle shows
 * the written records, and a refused delete the records that refer to the one named, only to callers that may read.
 * @throws {Failure} INSUFFICIENT_SCOPE; in a batch only the entries that need another scope are refused
 */
export function authorizeInteraction (
  request: Pick<FastifyRequest, 'caller' | 'understood'>,
  interaction: FhirInteraction
): FhirInteraction {
  const { caller } = request
  request.understood = { kind: interaction.kind, type: interaction.type }
  const showsWritten = 'showsWritten' in interaction && interaction.showsWritten && mayRead(caller)
  if (interaction.kind === 'batch') {
    return {
      ...interaction,
      showsWritten,
      entries: interaction.entries.map(entry => ('failure' in entry ? entry : orRefused(caller, entry)))
    }
  }
  const parts = interaction.kind === 'transaction' ? interaction.entries.map(entry => entry.interaction) : [interaction]
  for (const part of parts) requireScopes(caller, part)
  if (interaction.kind === 'delete') return { ...interaction, listsReferrers: mayRead(caller) }
  return interaction.kind === 'transaction' ? { ...interaction, showsWritten } : interaction
}

/** Whether the caller may see the record that a write left: after an update or a patch it holds more than was sent. */
export function maySeeWritten (caller: Caller, { kind }: Pick<FhirInteraction, 'kind'>): boolean {
  return (kind !== 'update' && kind !== 'patch') || mayRead(caller)
}

const mayRead = ({ scopes }: Caller): boolean => hasScope(scopes, 'read')

function orRefused (caller: Caller, entry: BundleEntry): Batch['entries'][number] {
  try {
    requireScopes(caller, entry.interaction)
    return entry
  } catch (error) {
    return { failure: failureOf(error) }
  }
}

function requireScopes (caller: Caller, interaction: FhirInteraction): void {
  const { scopes } = policy[interaction.kind]
  if (scopes !== 'entries') for (const scope of scopes) requireScope(caller, scope)
  if (deletions.has(interaction.kind) && isAppendOnly(interaction.type)) requireEveryScope(caller)
  if ('patch' in interaction && tests(interaction)) requireScope(caller, 'read')
}

const deletions: ReadonlySet<FhirInteraction['kind']> = new Set(['delete', 'conditional-delete'])

/** Whether a patch tests stored values: it fails where a value differs. */
const tests = ({ patch }: Pick<Patch, 'patch'>): boolean =>
  patch.some(operation => (operation as { readonly op?: unknown } | null)?.op === 'test')

declare module 'fastify' {
  interface FastifyRequest {
    /** The interaction and type of a raw FHIR request, in terms of R4; undefined until it is parsed. */
    understood: { readonly kind: FhirInteraction['kind'] | 'import', readonly type: string } | undefined
  }
}
