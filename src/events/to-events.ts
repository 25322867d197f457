import { mappings } from '../mappings/registry.js'
import type { ChangeEvent, ChangeKind } from './event.js'
import type { Intent, MadeChange } from './intent.js'

/** Each FHIR type has at most one simple resource. */
const pathOf = new Map(mappings.map(({ type, path }) => [type, path]))

/** `patients.created`, or `fhir.Basic.created` for a FHIR type without a simple resource. */
export function eventType (type: string, kind: ChangeKind): string {
  return `${pathOf.get(type) ?? `fhir.${type}`}.${kind}`
}

/**
 * The id of the event about one change of an intent. It is the same whenever the intent is concluded, so that an event
 * that is sent twice is recognized.
 */
function eventId (intentId: string, at: number): string {
  return `evt_${intentId}${at.toString(36).padStart(4, '0')}`
}

/** The events of an intent: one for each change that was made. */
export function toEvents (
  { owner: { tenantId, mode }, requestId, eventId: intentId }: Intent,
  made: ReadonlyArray<MadeChange | undefined>,
  now: Date
): readonly ChangeEvent[] {
  return made.flatMap((change, at) => change === undefined
    ? []
    : [{
        id: eventId(intentId, at),
        tenantId,
        mode,
        type: eventType(change.type, change.kind),
        createdAt: now.toISOString(),
        resourceType: change.type,
        resourceId: change.id,
        ...change.version !== undefined && { versionId: change.version },
        requestId
      }])
}
