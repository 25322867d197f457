import { hasDroppedId } from '../../backends/entry-ids.js'
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
export function requireStorableBundle ({ resourceType, type, entry, signature }: FhirResource): void {
  if (resourceType !== 'Bundle') return
  const issues = protocolTypes.has(type)
    ? [
        fieldIssue(
          'Bundle.type',
          'send a transaction or batch to the base URL (POST /v1/fhir). A Bundle that is stored is a collection, document or message',
          'business-rule'
        )
      ]
    : (Array.isArray(entry) ? entry : []).flatMap((each, at) => checkEntryId(each, at, signature !== undefined))
  if (issues.length > 0) throw new Failure('VALIDATION_ERROR', { issues })
}

/**
 * HAPI reads the id of an entry's resource out of the fullUrl. It adds one where a fullUrl other than a URN has it, and
 * drops one with which a URN ends. What it drops the gateway restores, but a signed document must not even be stored in
 * another form.
 */
function checkEntryId (entry: unknown, at: number, isSigned: boolean): Issue[] {
  const { fullUrl, resource } = isElement(entry) ? entry : {} as FhirElement
  if (!isElement(resource) || typeof fullUrl !== 'string') return []
  const message =
    isSigned && hasDroppedId(entry)
      ? droppedId
      : resource.id === undefined && !hasNoId.test(fullUrl) ? addedId : undefined
  return message === undefined ? [] : [fieldIssue(`Bundle.entry[${at}].resource.id`, message, 'business-rule')]
}

const droppedId =
  'datastores drop an id with which the fullUrl ends, and a Bundle with a signature must be stored as it is; sign it without the ids of entries whose fullUrl is a URN'
const addedId =
  'send an id here too, the one in fullUrl, or a fullUrl that begins with urn:uuid: the datastore would add one'

/** URNs, and URLs with one step at most after the host, or none after the last slash. */
const hasNoId = /^urn:|:\/\/[^/]*\/[^/]*$|\/$/
