import type { Door } from './door.js'

/**
 * JSON text of a datastore with the gateway's URLs in place of the datastore's own. A text that escapes its slashes must
 * be printed anew before.
 */
export function withPublicUrls ({ backend, fhirBase }: Pick<Door, 'backend' | 'fhirBase'>, text: string): string {
  return text.includes(backend.baseUrl) ? text.replaceAll(`${backend.baseUrl}/`, `${fhirBase}/`) : text
}
