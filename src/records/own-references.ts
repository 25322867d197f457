import { mapJson } from '../json.js'
import { linkElements } from '../tenant-guard/writes/link-elements.js'

/**
 * A resource whose references to records here are relative, as the datastore knows them: to a client the base of this
 * gateway stands before them, and the datastore would take that for another server.
 */
export function withOwnReferences<T> (value: T, fhirBase: string): T {
  return mapJson(value, (item, name) => isOwnLink(name, item, fhirBase) ? item.slice(fhirBase.length + 1) : item)
}

function isOwnLink (key: string, value: unknown, fhirBase: string): value is string {
  // The fullUrl and the request of a Bundle's entry have a reading of their own.
  const mayLink = key === 'reference' || (linkElements.has(key) && key !== 'fullUrl')
  return mayLink && typeof value === 'string' && value.startsWith(`${fhirBase}/`)
}
