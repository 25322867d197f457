import { ExactNumber } from '../json.js'
import { linkElements } from '../tenant-guard/writes/link-elements.js'

/**
 * A resource whose references to records here are relative, as the datastore knows them: to a client the base of this
 * gateway stands before them, and the datastore would take that for another server.
 */
export function withOwnReferences<T> (value: T, fhirBase: string): T {
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
  if (Array.isArray(value)) return value.map(item => withOwnReferences(item as unknown, fhirBase)) as T
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, isOwnLink(key, item, fhirBase) ? item.slice(fhirBase.length + 1) : withOwnReferences(item as unknown, fhirBase)])) as T
}

function isOwnLink (key: string, value: unknown, fhirBase: string): value is string {
  // The fullUrl and the request of a Bundle's entry have a reading of their own.
  const mayLink = key === 'reference' || (linkElements.has(key) && key !== 'fullUrl')
  return mayLink && typeof value === 'string' && value.startsWith(`${fhirBase}/`)
}
