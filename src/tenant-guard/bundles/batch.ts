import { toFailure } from '../../envelope/error-handlers.js'
import type { Failure } from '../../envelope/failures.js'
import { buildBundleResponse, EntryWriter, responseTooLarge } from './bundle-response.js'
import { mayRead, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Batch, BundleEntry } from '../interaction.js'
import { mapConcurrently } from '../map-concurrently.js'
import { policy } from '../policy.js'
import { collectReferences, ReferenceFailure, collectRecords, type ReferenceSite } from '../writes/references.js'
import { BundleReferences, getSentReference } from './bundle-references.js'

/** How an entry is performed: as the same request alone. */
export type Perform = (interaction: BundleEntry['interaction']) => Promise<FhirResponse>

/**
 * Performs each entry separately; a failure takes the place of its response and stops no other entry.
 * @throws {Failure} VALIDATION_ERROR when all together refer to more records than a request may
 */
export async function batch (
  context: TenantContext,
  { entries, showsWritten }: Batch,
  perform: Perform
): Promise<FhirResponse> {
  const links = entries.map(entry =>
    'interaction' in entry && 'resource' in entry.interaction
      ? collectReferences(entry.interaction.resource, [context.backend.baseUrl], context.fhirBase)
      : []
  )
  collectRecords(links.flat())
  const independent = requireIndependence(entries, links, context.backend.baseUrl)
  const texts = new EntryWriter(context)
  const entryResponses = await mapConcurrently(independent, async entry => {
    if ('failure' in entry) return texts.writeEntry({ outcome: entry, isRead: false, isShown: false })
    if (isRead(entry) && texts.isFull) return texts.writeEntry(responseTooLarge)
    const outcome = await perform(entry.interaction).catch((error: unknown) => logFailure(context, toFailure(error)))
    return texts.writeEntry({
      outcome,
      isRead: isRead(entry),
      isShown: isRead(entry) || (showsWritten && mayRead(context, entry.interaction.type)),
      conditions: entry.conditions
    })
  })
  return buildBundleResponse('batch-response', entryResponses)
}

/**
 * The entries, those that refer to what another entry creates as failures: the server could take the reference for a
 * record that happens to have the same id. http://hl7.org/fhir/R4/http.html#brules
 */
function requireIndependence (
  entries: Batch['entries'],
  links: ReadonlyArray<readonly ReferenceSite[]>,
  backendUrl: string
): Batch['entries'] {
  const storedAs = entries.map(entry =>
    'interaction' in entry && 'id' in entry.interaction
      ? `${entry.interaction.type}/${entry.interaction.id}`
      : undefined
  )
  const bundle = new BundleReferences(
    entries.map((entry, at) =>
      'failure' in entry ? {} : { fullUrl: entry.fullUrl, sentAs: getSentReference(entry), storedAs: storedAs[at] }
    ),
    backendUrl
  )
  return entries.map((entry, at) => {
    const refused = links[at]!.filter(({ reference }) => {
      const target = bundle.find(reference, at)
      return target === 'ambiguous' || (target !== undefined && storedAs[target] !== reference)
    })
    return refused.length === 0
      ? entry
      : { failure: new ReferenceFailure(refused.map(link => ({ ...link, reason: 'batch' }))) }
  })
}

/** Whether an entry only reads, so that what it finds is its response. */
export const isRead = ({ interaction }: BundleEntry): boolean => !policy[interaction.kind].scopes.includes('write')

/** An entry that failed, logged where it is an internal error, since no error handler sees it. */
export function logFailure (context: TenantContext, failure: Failure): { readonly failure: Failure } {
  if (failure.status >= 500) context.onError(failure)
  return { failure }
}
