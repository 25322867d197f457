import type { BackendResponse } from '../backends/backend.js'
import { parseStored, printJson } from '../json/json.js'
import type { TenantContext } from './tenant-context.js'

/**
 * JSON text of a datastore with the gateway's URLs in place of the datastore's own. A text that escapes its slashes
 * must be printed again before.
 */
export function rewriteUrls ({ backend, fhirBase }: Pick<TenantContext, 'backend' | 'fhirBase'>, text: string): string {
  return text.includes(backend.baseUrl) ? text.replaceAll(`${backend.baseUrl}/`, `${fhirBase}/`) : text
}

/** The JSON of a response as it is shown. */
export function rewriteUrlsInText (
  context: Pick<TenantContext, 'backend' | 'fhirBase'>,
  { body }: Pick<BackendResponse, 'body'>
): string {
  // A text that escapes its slashes hides URLs from the replacement.
  return rewriteUrls(context, body.includes('\\/') ? printJson(parseStored(body)) : body)
}
