import type { BackendResponse } from '../../backends/backend.js'
import { parseStored, printJson } from '../../json/json.js'
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { subsetOf } from '../../mappings/r4/subset.js'

/** How a datastore marks what it shortened; a text within a record has no unescaped quotes. */
const mark = /"code"\s*:\s*"SUBSETTED"/

/** What was requested of which type; `elements` is `_elements`, undefined for whole records. */
interface RequestedElements {
  readonly type: string
  readonly elements: string | undefined
  readonly of: 'record' | 'matches'
}

/**
 * A response whose record, or whose matches, have only the requested and the mandatory elements. A datastore that
 * obeys `_elements` marks what it shortened; of one that does not, the gateway shortens the records itself.
 */
export function applyElements (
  response: BackendResponse,
  { type, elements, of }: RequestedElements
): BackendResponse {
  const shorten = elements === undefined ? undefined : subsetOf(type, elements.split(','))
  if (shorten === undefined || response.status !== 200 || mark.test(response.body)) return response
  const parsed = parse(response.body)
  const isRequested = (value: unknown): value is FhirResource => isElement(value) && value.resourceType === type
  if (of === 'record') return isRequested(parsed) ? { ...response, body: printJson(shorten(parsed)) } : response
  if (!Array.isArray(parsed?.entry)) return response
  const entry = (parsed.entry as unknown[]).map(item =>
    isElement(item) && isRequested(item.resource) && modeOf(item) === 'match'
      ? { ...item, resource: shorten(item.resource) }
      : item
  )
  return { ...response, body: printJson({ ...parsed, entry }) }
}

const modeOf = ({ search }: FhirElement): unknown => (search as { mode?: unknown } | undefined)?.mode ?? 'match'

/** The JSON of a response; undefined for anything else, which the check of the response reports. */
function parse (body: string): FhirResource | undefined {
  try {
    const value: unknown = parseStored(body)
    return isElement(value) ? value as FhirResource : undefined
  } catch {
    return undefined
  }
}
