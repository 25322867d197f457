import { formatSuggestion } from '../envelope/nearest.js'
import { isTenantType, resourceTypes } from '../fhir/resource-types.js'
import { mappings } from '../mappings/registry.js'
import { changes, type ChangeEvent, type ChangeKind } from './event.js'
import type { Intent, MadeChange } from './intent.js'

/** Each FHIR type has at most one simple resource. */
const pathsByType = new Map(mappings.map(({ type, path }) => [type, path]))

/** `patients.created`, or `fhir.Basic.created` for a FHIR type without a simple resource. */
export function toEventType (type: string, kind: ChangeKind): string {
  return `${pathsByType.get(type) ?? `fhir.${type}`}.${kind}`
}

const tenantTypes = [...resourceTypes].filter(isTenantType)

/** All that narrows a list of events: each type of events, all of a resource, and all. */
const typeFilters: ReadonlySet<string> = new Set([
  '*',
  ...tenantTypes.flatMap(type => ['*', ...changes].map(kind => toEventType(type, kind as ChangeKind)))
])

/**
 * The first of some filters that no event has, by its position, and what to send instead: `no such type of events; did
 * you mean patients.created?`, without its text. Undefined if there is none.
 */
export function findUnknownType (
  filters: readonly string[]
): { readonly at: number, readonly message: string } | undefined {
  const at = filters.findIndex(filter => !typeFilters.has(filter))
  if (at === -1) return undefined
  const [, type = '', kind = ''] = /^fhir\.(\w+)\.(\*|\w+)$/.exec(filters[at]!) ?? []
  // A type with a simple resource has the name of that in all of its events.
  const meant = pathsByType.has(type) ? `${pathsByType.get(type)}.${kind}` : filters[at]!
  const otherwise = '; types are such as patients.created, patients.*, fhir.Basic.deleted or *'
  return { at, message: `no such type of events${formatSuggestion(meant, [...typeFilters], otherwise)}` }
}

/**
 * The id of the event about one change of an intent. It is the same whenever the intent is concluded, so that an event
 * that is sent twice is recognized.
 */
function toEventId (intentId: string, at: number): string {
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
        id: toEventId(intentId, at),
        tenantId,
        mode,
        type: toEventType(change.type, change.kind),
        createdAt: now.toISOString(),
        resourceType: change.type,
        resourceId: change.id,
        ...change.version !== undefined && { versionId: change.version },
        requestId
      }])
}
