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
    : (Array.isArray(entry) ? entry : []).flatMap(checkEntryId)
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
}

/**
 * HAPI reads the id of an entry's resource out of the fullUrl. It drops an id with which a URN ends, and adds one where
 * another fullUrl has it: either changes what a signature of the document covers.
 */
function checkEntryId (entry: unknown, at: number): Issue[] {
  const { fullUrl, resource } = isElement(entry) ? entry : {} as FhirElement
  if (!isElement(resource) || typeof fullUrl !== 'string') return []
  const message = describeIdAlteration(fullUrl, resource.id)
  return message === undefined ? [] : [fieldIssue(`Bundle.entry[${at}].resource.id`, message, 'business-rule')]
}

/** @returns undefined where the datastore does not change the id */
function describeIdAlteration (fullUrl: string, id: unknown): string | undefined {
  if (id !== undefined) {
    return fullUrl.startsWith('urn:') && fullUrl.endsWith(`:${String(id)}`)
      ? 'leave out the id, which fullUrl has already: the datastore would drop it'
      : undefined
  }
  return hasNoId.test(fullUrl)
    ? undefined
    : 'send an id here too, the one in fullUrl, or a fullUrl that begins with urn:uuid: the datastore would add one'
}

/** URNs, and URLs with one step at most after the host, or none after the last slash. */
const hasNoId = /^urn:|:\/\/[^/]*\/[^/]*$|\/$/
