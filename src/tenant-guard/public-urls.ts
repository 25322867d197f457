import type { BackendAnswer } from '../backends/backend.js'
import { parseStored, printJson } from '../json.js'
import type { Door } from './door.js'

/**
 * JSON text of a datastore with the gateway's URLs in place of the datastore's own. A text that escapes its slashes must
 * be printed anew before.
 */
export function withPublicUrls ({ backend, fhirBase }: Pick<Door, 'backend' | 'fhirBase'>, text: string): string {
  return text.includes(backend.baseUrl) ? text.replaceAll(`${backend.baseUrl}/`, `${fhirBase}/`) : text
}

/** The JSON of an answer as it is shown. */
export function publicText (door: Pick<Door, 'backend' | 'fhirBase'>, { body }: Pick<BackendAnswer, 'body'>): string {
  // A text that escapes its slashes hides URLs from the replacement.
  return withPublicUrls(door, body.includes('\\/') ? printJson(parseStored(body)) : body)
}
