import type { BackendResponse } from '../../backends/backend.js'
import { parseStored } from '../../json/json.js'
import { isElement } from '../../mappings/core/path.js'
import type { TenantContext } from '../tenant-context.js'

/** A datastore's issues about a resource or a terminology request, in words that may be shown. */
export interface BackendIssue {
  readonly severity: 'fatal' | 'error' | 'warning' | 'information'
  /** http://hl7.org/fhir/R4/valueset-issue-type.html */
  readonly code: string
  readonly diagnostics?: string
  /** FHIRPath of the elements that it is about. */
  readonly expression?: readonly string[]
}

/** The issues of a response that is an OperationOutcome, rebuilt; undefined for anything else. */
export function parseIssues (
  context: Pick<TenantContext, 'backend' | 'fhirBase'>,
  { body }: Pick<BackendResponse, 'body'>
): readonly BackendIssue[] | undefined {
  const { resourceType, issue } = parseOutcome(body)
  if (resourceType !== 'OperationOutcome' || !Array.isArray(issue)) return undefined
  return issue.filter(isElement).map(item => toIssue(context, item))
}

function parseOutcome (body: string): { readonly resourceType?: unknown, readonly issue?: unknown } {
  try {
    return Object(parseStored(body))
  } catch {
    return {}
  }
}

const severities: ReadonlySet<unknown> = new Set(['fatal', 'error', 'warning', 'information'])

function toIssue (
  context: Pick<TenantContext, 'backend' | 'fhirBase'>,
  { severity, code, diagnostics, details, expression, location }: Record<string, unknown>
): BackendIssue {
  const text = [diagnostics, (details as { text?: unknown } | undefined)?.text].find(
    words => typeof words === 'string' && words !== ''
  )
  const paths = [expression, location].map(filterPaths).find(found => found.length > 0)
  return {
    severity: severities.has(severity) ? (severity as BackendIssue['severity']) : 'error',
    code: typeof code === 'string' && /^[a-z-]{1,40}$/.test(code) ? code : 'processing',
    ...(text !== undefined && { diagnostics: removeBackendDetails(context, text as string) }),
    ...(paths !== undefined && { expression: paths })
  }
}

/** HAPI names lines and columns too, of a text that the client never saw. */
function filterPaths (paths: unknown): string[] {
  return Array.isArray(paths)
    ? paths.filter(path => typeof path === 'string' && /^[A-Z]\w*(?:[.[]|$)/.test(path) && path.length <= maxPath)
    : []
}

const maxPath = 500
const maxText = 2_000

/** Without the datastore's own codes and addresses. */
function removeBackendDetails (
  { backend: { baseUrl }, fhirBase }: Pick<TenantContext, 'backend' | 'fhirBase'>,
  text: string
): string {
  const { origin } = new URL(baseUrl)
  return text
    .replaceAll(/HAPI-\d{4}(?:: ?)?/g, '')
    .replaceAll(baseUrl, fhirBase)
    .replaceAll(origin, new URL(fhirBase).origin)
    .slice(0, maxText)
}
