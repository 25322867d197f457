import type { FhirResource } from '../mappings/fhir.js'

/**
 * An error that the sandbox responds with; `code` is an R4 issue type, `message` never repeats sent or stored content.
 */
export class FhirError extends Error {
  constructor (readonly status: number, readonly code: string, message: string) {
    super(message)
    this.name = 'FhirError'
  }
}

/** An OperationOutcome of one issue. */
export function buildOutcome (
  severity: 'information' | 'warning' | 'error',
  code: string,
  diagnostics: string
): FhirResource {
  return { resourceType: 'OperationOutcome', issue: [{ severity, code, diagnostics }] }
}

/** A request that cannot be understood: 400. */
export function invalid (message: string): FhirError {
  return new FhirError(400, 'invalid', message)
}
