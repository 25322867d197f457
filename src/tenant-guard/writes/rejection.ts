import { Failure } from '../../envelope/failures.js'

/**
 * A datastore's refusal of a record, which has the form of R4. Its own words are not for the client.
 * @param hasCriteria whether it was to be made unless some record meets criteria
 */
export function rejection (cause: unknown, { hasCriteria = false } = {}): Failure {
  const message = hasCriteria
    ? "The datastore rejected this record. It must match its own criteria and meet the datastore's own rules."
    : 'The record has the form of FHIR R4, but the datastore rejected it by rules of its own. $validate in raw FHIR lists what it has against the record.'
  return new Failure('VALIDATION_ERROR', { message, cause })
}
