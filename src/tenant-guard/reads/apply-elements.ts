import type { BackendResponse } from '../../backends/backend.js'
import { printJson } from '../../json/json.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { createSubsetter } from '../../mappings/r4/subset.js'
import type { Projection, SearchParameter } from '../interaction.js'
import { parseCheckedJson, parseJson } from '../tenant-context.js'
import { isMatch } from './backend-bundle.js'

/** How a datastore marks what it shortened; a text within a record has no unescaped quotes. */
const subsettedPattern = /"code"\s*:\s*"SUBSETTED"/

/** The requested elements of a type; `elements` is `_elements`, undefined for whole records. */
interface RequestedElements {
  readonly type: string
  readonly elements: string | undefined
  readonly of: 'record' | 'matches'
  /** Parses a response that is shown as received; {@link parseCheckedJson} by default. */
  readonly check?: (response: BackendResponse) => unknown
}

/** A response, and how its JSON is had. */
interface ReadableResponse {
  readonly response: BackendResponse
  /** @throws {Failure} as {@link parseCheckedJson} */
  readonly parse: (response: BackendResponse) => unknown
}

/**
 * A response whose record, or whose matches, have only the requested and the mandatory elements. A datastore that
 * obeys `_elements` marks what it shortened; of one that does not, the gateway shortens the records itself, from the
 * one parse of the response.
 */
export function applyElements (
  response: BackendResponse,
  { type, elements, of, check = parseCheckedJson }: RequestedElements
): ReadableResponse {
  const shorten = elements === undefined ? undefined : createSubsetter(type, elements.split(','))
  if (shorten === undefined || response.status !== 200 || subsettedPattern.test(response.body)) {
    return { response, parse: check }
  }
  const original = parseJson(response)
  const shortenOfType = (value: unknown): unknown =>
    isElement(value) && value.resourceType === type ? shorten(value as FhirResource) : value
  const value = of === 'record' ? shortenOfType(original) : withMatches(original, shortenOfType)
  return {
    response: value === original ? response : { ...response, body: printJson(value) },
    parse: () => value
  }
}

/** A Bundle with the resource of each match changed; what is no Bundle of entries, unchanged. */
function withMatches (bundle: unknown, change: (resource: unknown) => unknown): unknown {
  if (!isElement(bundle) || !Array.isArray(bundle.entry)) return bundle
  const entry = bundle.entry.map((item: unknown) =>
    isElement(item) && isElement(item.resource) && isMatch(item) ? { ...item, resource: change(item.resource) } : item
  )
  return { ...bundle, entry }
}

/** The parameters of a shape; the meta, which the check of the response needs, is requested in any case. */
export function toProjectionParameters ({ elements, summary }: Projection = {}): SearchParameter[] {
  return [
    ...elements === undefined ? [] : [['_elements', `${elements},id,meta`] as const],
    ...summary === undefined ? [] : [['_summary', summary] as const]
  ]
}
