/**
 * The ids that HAPI drops from a stored Bundle. It reads the id of an entry's resource out of a fullUrl that is a URN,
 * `urn:uuid:X`, and stores the resource with the id X like one without an id. So the gateway stores the id in an
 * extension of the entry, and everything that it receives from a datastore has the id in its place again.
 */
import { mapJson, parseStored, printJson } from '../json/json.js'
import type { FhirElement, FhirResource } from '../mappings/fhir.js'
import { isElement } from '../mappings/core/path.js'

/** The extension of an entry whose resource has this id. No client can send it. */
export const entryIdUrl = 'urn:clinigate:entry-id'

/** Whether HAPI drops the id of an entry's resource. Only entries of the stored Bundle itself are concerned. */
export function hasDroppedId (entry: unknown): boolean {
  if (!isElement(entry) || !isElement(entry.resource)) return false
  const { fullUrl, resource: { id } } = entry
  if (typeof fullUrl !== 'string' || typeof id !== 'string') return false
  return fullUrl.startsWith('urn:') && fullUrl.endsWith(`:${id}`)
}

/** A stored Bundle with an extension for each id that HAPI drops; other resources as they are. */
export function withEntryIdExtensions<T extends FhirResource> (resource: T): T {
  const { resourceType, entry } = resource
  if (resourceType !== 'Bundle' || !Array.isArray(entry) || !entry.some(hasDroppedId)) return resource
  return { ...resource, entry: entry.map(each => hasDroppedId(each) ? withExtension(each) : each) }
}

function withExtension (entry: FhirElement): FhirElement {
  const { extension = [] } = entry as { readonly extension?: readonly unknown[] }
  return { ...entry, extension: [...extension, { url: entryIdUrl, valueId: (entry.resource as FhirElement).id }] }
}

/** What {@link withEntryIdExtensions} made, as it was before; anything else is returned as it is. */
export function withoutEntryIdExtensions<T> (value: T): T {
  return mapJson(value, item => {
    if (!isElement(item) || !Array.isArray(item.extension) || !isElement(item.resource)) return item
    const id = item.extension.find(isEntryId)?.valueId
    if (id === undefined) return item
    const { extension, resource, ...others } = item
    const left = (extension as readonly unknown[]).filter(each => !isEntryId(each))
    const { resourceType, ...content } = resource as FhirElement
    return { ...left.length > 0 && { extension: left }, ...others, resource: { resourceType, id, ...content } }
  })
}

const isEntryId = (extension: unknown): boolean => isElement(extension) && extension.url === entryIdUrl

/** JSON of a datastore with the ids of entries in their places; text that is no JSON stays. */
export function restoreEntryIds (json: string): string {
  if (!json.includes(entryIdUrl)) return json
  let received: unknown
  try {
    received = parseStored(json)
  } catch {
    return json
  }
  const restored = withoutEntryIdExtensions(received)
  return restored === received ? json : printJson(restored)
}

/** Whether {@link restoreEntryIds} may change something. */
export const mayHaveEntryIdExtensions = (json: Buffer): boolean => json.includes(entryIdUrl)
