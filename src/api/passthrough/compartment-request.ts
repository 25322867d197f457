import { Failure } from '../../envelope/failures.js'
import { invalidParameter } from '../../envelope/query.js'
import { findCompartmentParameters } from '../../mappings/r4/compartments.js'
import type { Search } from '../../tenant-guard/interaction.js'
import type { FhirRequest } from './fhir-request.js'
import { readFhirSearch } from './search-request.js'

/**
 * A search among the records of a type that belong to a patient or an encounter:
 * http://hl7.org/fhir/R4/compartmentdefinition.html
 * @throws {Failure} METHOD_NOT_ALLOWED for a type that R4 does not have there, and as a search
 */
export function parseCompartmentSearch (
  request: FhirRequest,
  { type, id }: { readonly type: string; readonly id: string }
): Search {
  const holder = request.path[0]!
  const parameters = findCompartmentParameters(holder, type)
  if (parameters === undefined) {
    throw new Failure('METHOD_NOT_ALLOWED', {
      message: `In R4, the ${holder} compartment contains no ${type} resources.`,
      headers: { allow: '' }
    })
  }
  if (request.query.some(([name]) => name === '_cursor')) {
    throw invalidParameter('_cursor', 'is supported only in the URL of the next link')
  }
  return { ...readFhirSearch(type, request), within: { type: holder, id, parameters } }
}
