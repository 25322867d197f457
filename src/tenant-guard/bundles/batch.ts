import { failureOf } from '../../envelope/error-handlers.js'
import type { Failure } from '../../envelope/failures.js'
import { bundleAnswer, EntryTexts, noRoom } from './bundle-answer.js'
import type { Door } from '../door.js'
import type { FhirAnswer } from '../fhir-answer.js'
import type { Batch, BundleEntry } from '../fhir-interaction.js'
import { inTurns } from '../in-turns.js'
import { policy } from '../policy.js'
import { linksIn, recordsOf } from '../writes/references.js'

/** How an entry is performed: as the same request alone. */
export type Perform = (interaction: BundleEntry['interaction']) => Promise<FhirAnswer>

/**
 * Performs each entry separately; a failure takes the place of its answer and stops no other entry.
 * @throws {Failure} VALIDATION_ERROR when all together refer to more records than a request may
 */
export async function batch (door: Door, { entries, showsWritten }: Batch, perform: Perform): Promise<FhirAnswer> {
  recordsOf(entries.flatMap(entry => 'interaction' in entry && 'resource' in entry.interaction ? linksIn(entry.interaction.resource, [door.backend.baseUrl]) : []))
  const texts = new EntryTexts(door)
  const answers = await inTurns(entries, async entry => {
    if ('failure' in entry) return texts.of({ outcome: entry, isRead: false, isShown: false })
    if (isRead(entry) && texts.isFull) return texts.of(noRoom)
    const outcome = await perform(entry.interaction).catch((error: unknown) => failed(door, failureOf(error)))
    return texts.of({ outcome, isRead: isRead(entry), isShown: showsWritten || isRead(entry), conditions: entry.conditions })
  })
  return bundleAnswer('batch-response', answers)
}

/** Whether an entry only reads, so that what it finds is its answer. */
export const isRead = ({ interaction }: BundleEntry): boolean => !policy[interaction.kind].scopes.includes('write')

/** An entry that failed, logged where it is our own trouble, since no error handler sees it. */
export function failed (door: Door, failure: Failure): { readonly failure: Failure } {
  if (failure.status >= 500) door.onTrouble(failure)
  return { failure }
}
