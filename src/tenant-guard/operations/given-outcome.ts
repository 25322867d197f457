import type { BackendAnswer } from '../../backends/backend.js'
import { parseStored } from '../../json.js'
import { isElement } from '../../mappings/kit/path.js'
import type { Door } from '../door.js'

/** What a datastore says of a resource or a question, in words that may be shown. */
export interface GivenIssue {
  readonly severity: 'fatal' | 'error' | 'warning' | 'information'
  /** http://hl7.org/fhir/R4/valueset-issue-type.html */
  readonly code: string
  readonly diagnostics?: string
  /** FHIRPath of the elements that it is about. */
  readonly expression?: readonly string[]
}

/** The issues of an answer that is an OperationOutcome, built anew; undefined for anything else. */
export function issuesIn (door: Pick<Door, 'backend' | 'fhirBase'>, { body }: Pick<BackendAnswer, 'body'>): readonly GivenIssue[] | undefined {
  const { resourceType, issue } = outcomeIn(body)
  if (resourceType !== 'OperationOutcome' || !Array.isArray(issue)) return undefined
  return issue.filter(isElement).map(item => issueOf(door, item))
}

function outcomeIn (body: string): { readonly resourceType?: unknown, readonly issue?: unknown } {
  try {
    return Object(parseStored(body))
  } catch {
    return {}
  }
}

const severities: ReadonlySet<unknown> = new Set(['fatal', 'error', 'warning', 'information'])

function issueOf (door: Pick<Door, 'backend' | 'fhirBase'>, { severity, code, diagnostics, details, expression, location }: Record<string, unknown>): GivenIssue {
  const text = [diagnostics, (details as { text?: unknown } | undefined)?.text].find(words => typeof words === 'string' && words !== '')
  const paths = [expression, location].map(pathsIn).find(found => found.length > 0)
  return {
    severity: severities.has(severity) ? severity as GivenIssue['severity'] : 'error',
    code: typeof code === 'string' && /^[a-z-]{1,40}$/.test(code) ? code : 'processing',
    ...text !== undefined && { diagnostics: scrubbed(door, text as string) },
    ...paths !== undefined && { expression: paths }
  }
}

/** HAPI names lines and columns too, of a text that nobody here has seen. */
function pathsIn (places: unknown): string[] {
  return Array.isArray(places) ? places.filter(place => typeof place === 'string' && /^[A-Z]\w*(?:[.[]|$)/.test(place) && place.length <= longestPath) : []
}

const longestPath = 500
const longestText = 2_000

/** Without the datastore's own codes and addresses. */
function scrubbed ({ backend: { baseUrl }, fhirBase }: Pick<Door, 'backend' | 'fhirBase'>, text: string): string {
  const { origin } = new URL(baseUrl)
  return text.replaceAll(/HAPI-\d{4}(?:: ?)?/g, '').replaceAll(baseUrl, fhirBase).replaceAll(origin, new URL(fhirBase).origin).slice(0, longestText)
}
