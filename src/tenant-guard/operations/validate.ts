import { randomUUID } from 'node:crypto'
import type { BackendResponse } from '../../backends/backend.js'
import { Failure, limitIssues } from '../../envelope/failures.js'
import { printJson, mapJson } from '../../json/json.js'
import { validateStructure } from '../../mappings/r4/structure.js'
import { sendRequest, toFailureCause, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-response.js'
import type { Validate } from '../interaction.js'
import { parseIssues, type BackendIssue } from './backend-issues.js'
import { createRequest } from '../writes/writes.js'
import type { FhirResource } from '../../mappings/fhir.js'

/**
 * The datastore's validation of a resource as it would be stored. An invalid resource is a response, not a failure; a
 * reference to a record that is not the tenant's is a failure, as on a write. The resource is validated against R4 and
 * the operator's definitions, never against a questionnaire or measure of tenants, which HAPI looks up among those of
 * all. Violations of R4's form are reported here: a datastore may drop them before it validates.
 */
export async function validate (context: TenantContext, request: Validate): Promise<FhirResponse> {
  const faults = validateStructure(request.resource)
  if (faults.length > 0) return toOutcomeResponse(limitIssues(faults))
  const { resource } = await createRequest(context, request)
  const { resource: sent, restored } = replaceCanonicals(resource)
  const response = await sendRequest(context, {
    method: 'POST',
    path: `${request.type}/$validate`,
    body: printJson(sent),
    isSafe: true
  })
  const issues = parseIssues(context, { body: restored(response.body) })
  if (isNotOffered(response, issues)) {
    throw new Failure('NOT_IMPLEMENTED', {
      message: 'The datastore does not validate.',
      cause: toFailureCause(response)
    })
  }
  if (issues === undefined || ![200, 400, 412, 422].includes(response.status)) {
    throw unexpectedResponse(response, 'a validation was not answered')
  }
  const tag = `${request.type}.meta.tag[${resource.meta!.tag!.length - 1}]`
  const visibleIssues = issues.filter(({ expression = [] }) => !expression.some(path => path.startsWith(tag)))
  return toOutcomeResponse(visibleIssues.length > 0 ? visibleIssues : [nothingFound])
}

const toOutcomeResponse = (issue: readonly BackendIssue[]): FhirResponse => ({
  status: 200,
  body: JSON.stringify({ resourceType: 'OperationOutcome', issue })
})

/** Whether a datastore does not have an operation. HAPI says so with the status 400. */
export function isNotOffered (
  { status }: Pick<BackendResponse, 'status'>,
  issues: readonly BackendIssue[] = []
): boolean {
  return (
    status === 404 ||
    status === 405 ||
    status === 501 ||
    (status === 400 && issues.some(({ code }) => code === 'not-supported'))
  )
}

const nothingFound: BackendIssue = {
  severity: 'information',
  code: 'informational',
  diagnostics: 'No issues were found.'
}

/**
 * Elements whose canonical may name a definition that tenants store: a Questionnaire, Measure, Library, PlanDefinition
 * or ActivityDefinition. Without `profile`, `valueSet` and `system`, which lead to what the operator loaded.
 */
const ofTenants: ReadonlySet<string> = new Set([
  'canonical',
  'definition',
  'definitionCanonical',
  'derivedFrom',
  'instantiates',
  'instantiatesCanonical',
  'library',
  'measure',
  'questionnaire',
  'resource',
  'valueCanonical',
  'valueUri',
  'valueUrl'
])

/** A resource whose canonicals resolve to nothing, and the function that restores them. */
interface MaskedResource {
  readonly resource: FhirResource
  /** JSON text with the canonicals of the resource in place of those that were put there. */
  readonly restored: (json: string) => string
}

/**
 * A resource for a validator that looks canonicals up among the definitions of all tenants, by URL alone, and reveals
 * their constraints. So its canonicals are replaced by names that do not exist.
 */
export function replaceCanonicals (resource: FhirResource): MaskedResource {
  const originals = new Map<string, string>()
  const createPlaceholder = (original: string): string => {
    const name = `urn:uuid:${randomUUID()}`
    originals.set(name, original)
    return name
  }
  return {
    resource: mapJson(resource, (item, name) =>
      typeof item === 'string' && ofTenants.has(name) && !item.startsWith('#') ? createPlaceholder(item) : item
    ),
    // In one pass: a resource may have a hundred thousand canonicals, and the response an issue for each.
    restored: json =>
      json.replaceAll(/urn:uuid:[0-9a-f-]{36}/g, name =>
        originals.has(name) ? JSON.stringify(originals.get(name)).slice(1, -1) : name
      )
  }
}
