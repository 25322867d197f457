import { Failure, fieldIssue, type Issue } from '../../envelope/failures.js'
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'

/** Bundles that are messages of FHIR's own protocol and no records; HAPI refuses to store them. */
const protocolTypes: ReadonlySet<unknown> = new Set([
  'transaction', 'transaction-response', 'batch', 'batch-response', 'history', 'searchset'
])

/**
 * Refuses a Bundle that a datastore would not store as it was sent. Other resources pass.
 * @throws {Failure} VALIDATION_ERROR with the paths
 */
export function requireStorableBundle ({ resourceType, type, entry }: FhirResource): void {
  if (resourceType !== 'Bundle') return
  const issues = protocolTypes.has(type)
    ? [
        fieldIssue(
          'Bundle.type',
          'send a transaction or batch to the base URL (POST /v1/fhir). A Bundle that is stored is a collection, document or message',
          'business-rule'
        )
      ]
    : (Array.isArray(entry) ? entry : []).flatMap(droppedId)
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
}

/** HAPI drops an id that the fullUrl has as a UUID, and with it what a signature of the document covers. */
function droppedId (entry: unknown, at: number): Issue[] {
  const { fullUrl, resource } = isElement(entry) ? entry : {} as FhirElement
  if (!isElement(resource) || typeof resource.id !== 'string' || fullUrl !== `urn:uuid:${resource.id}`) return []
  return [
    fieldIssue(
      `Bundle.entry[${at}].resource.id`,
      'leave out the id, which fullUrl has already: the datastore would drop it',
      'business-rule'
    )
  ]
}
