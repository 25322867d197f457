import { Failure } from '../../envelope/failures.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { structureFaults } from '../../mappings/r4/structure.js'

/**
 * A datastore's refusal of a record. Its own words are not for the client, so the record is checked here against R4:
 * a day or time out of form is the most common reason.
 * @param record absent where it is not known which one was refused
 * @param hasCriteria whether it was to be made unless some record meets criteria
 */
export function notAccepted (record: FhirResource | undefined, cause: unknown, { hasCriteria = false } = {}): Failure {
  const message = hasCriteria ? 'The datastore rejected this record. It must match its own criteria and be valid FHIR R4.' : 'The datastore rejected this record as invalid FHIR R4.'
  return misformed(record, cause) ?? new Failure('VALIDATION_ERROR', { message, cause })
}

/** The refusal of a record that is seen to be out of form; undefined where nothing is seen. */
export function misformed (record: FhirResource | undefined, cause: unknown): Failure | undefined {
  const issues = record === undefined ? [] : structureFaults(record, { forms: true })
  return issues.length > 0 ? new Failure('VALIDATION_ERROR', { issues, cause }) : undefined
}
