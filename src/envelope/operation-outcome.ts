import type { FastifyReply } from 'fastify'
import { catalog, type Failure, type Issue } from './failures.js'

/** FHIR's resource for errors and messages: http://hl7.org/fhir/R4/operationoutcome.html */
interface OperationOutcome {
  readonly resourceType: 'OperationOutcome'
  readonly issue: ReadonlyArray<Omit<Issue, 'severity'> & { readonly severity: 'error' | 'warning' | 'information' }>
}

/** A failure as an OperationOutcome. It contains nothing of the cause or of the request. */
export function toOperationOutcome ({ code, message, issues }: Failure): OperationOutcome {
  const full = { severity: 'error', code: catalog[code].issueType, diagnostics: message } as const
  return { resourceType: 'OperationOutcome', issue: issues.length > 0 ? issues : [full] }
}

/** An OperationOutcome that confirms a success, for a client that requests one. */
export function buildSuccessOutcome (diagnostics: string, warnings: readonly Issue[] = []): OperationOutcome {
  const success = { severity: 'information', code: 'informational', diagnostics } as const
  return { resourceType: 'OperationOutcome', issue: [success, ...buildWarningsOutcome(warnings).issue] }
}

/** The warnings about a change that was made. */
export function buildWarningsOutcome (warnings: readonly Issue[]): OperationOutcome {
  return { resourceType: 'OperationOutcome', issue: warnings.map(issue => ({ ...issue, severity: 'information' })) }
}

/** The media type of raw FHIR. */
export const fhirType = 'application/fhir+json; charset=utf-8'

/** Whether a request for this URL gets a response in FHIR, even if no route matches. */
export const isFhirPath = (url = ''): boolean => /^\/v1\/fhir(?:[/?]|$)/.test(url)

/** Sends a failure as an OperationOutcome, with its headers. */
export function sendOutcome (reply: FastifyReply, failure: Failure): FastifyReply {
  return reply
    .code(failure.status)
    .headers(failure.headers)
    .type(fhirType)
    .send(JSON.stringify(toOperationOutcome(failure)))
}

/** The entry of a searchset that reports that it is incomplete. */
export function buildIncompleteEntry (diagnostics: string): unknown {
  return {
    resource: { resourceType: 'OperationOutcome', issue: [{ severity: 'warning', code: 'incomplete', diagnostics }] },
    search: { mode: 'outcome' }
  }
}
