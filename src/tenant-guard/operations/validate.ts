import type { BackendResponse } from '../../backends/backend.js'
import { Failure, formatList } from '../../envelope/failures.js'
import { printJson } from '../../json/json.js'
import { validateStructure } from '../../mappings/r4/structure.js'
import { sendRequest, failureCause, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { FhirResponse } from '../fhir-answer.js'
import type { Validate } from '../interaction.js'
import { parseIssues, type BackendIssue } from './given-outcome.js'
import { unresolvedCanonicals } from './unresolved-canonicals.js'
import { createRequest } from '../writes/writes.js'

/**
 * What the datastore thinks of a resource as it would be stored. That it is not valid is a response, and no failure; a
 * reference to what is not the tenant's is one, as on a write. It is held against R4 and what the operator loaded,
 * never against a questionnaire or measure of tenants, which HAPI looks up among those of all. What is not in R4's form
 * is said here: a datastore may drop it before it looks.
 */
export async function validate (context: TenantContext, request: Validate): Promise<FhirResponse> {
  const faults = validateStructure(request.resource)
  if (faults.length > 0) return outcome(formatList(faults))
  const { resource } = await createRequest(context, request)
  const { resource: sent, restored } = unresolvedCanonicals(resource)
  const response = await sendRequest(context, {
    method: 'POST',
    path: `${request.type}/$validate`,
    body: printJson(sent),
    isSafe: true
  })
  const issues = parseIssues(context, { body: restored(response.body) })
  if (isNotOffered(response, issues)) {
    throw new Failure('NOT_IMPLEMENTED', { message: 'The datastore does not validate.', cause: failureCause(response) })
  }
  if (issues === undefined || ![200, 400, 412, 422].includes(response.status)) {
    throw unexpectedResponse(response, 'a validation was not answered')
  }
  const tag = `${request.type}.meta.tag[${resource.meta!.tag!.length - 1}]`
  const shown = issues.filter(({ expression = [] }) => !expression.some(path => path.startsWith(tag)))
  return outcome(shown.length > 0 ? shown : [nothingFound])
}

const outcome = (issue: readonly BackendIssue[]): FhirResponse => ({
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
