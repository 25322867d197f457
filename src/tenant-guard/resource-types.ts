import { isValidId } from '../fhir/names.js'

export { isTenantType, resourceTypes, sharedTypes } from '../fhir/resource-types.js'

/** Whether this is an id as R4 has it, and no step in a path. */
export function isId (id: unknown): id is string {
  return typeof id === 'string' && isValidId(id) && id !== '.' && id !== '..'
}
