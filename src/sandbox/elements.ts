import { subsetted, type StoredResource } from '../mappings/fhir.js'
import { elementsOfText } from '../mappings/r4/elements.js'

/** What of each resource is wanted; absent means all of it. */
export interface Shape {
  readonly elements?: readonly string[]
  /** http://hl7.org/fhir/R4/search.html#summary; `true` may show more than R4's summary, and here shows all. */
  readonly summary?: string
}

/** The resource as it is wanted. */
export function projected (resource: StoredResource, { elements, summary }: Shape): StoredResource {
  if (elements !== undefined) return onlyElements(resource, elements)
  if (summary === 'text') return onlyElements(resource, elementsOfText(resource.resourceType))
  return summary === 'data' ? onlyElements(resource, Object.keys(resource).filter(name => name !== 'text')) : resource
}

/** The resource with only the named elements; type, id and meta always stay, and meta says that the rest is missing. */
function onlyElements (resource: StoredResource, names: readonly string[]): StoredResource {
  const isSelected = (key: string) => names.some(name => key === name || (!(name in resource) && isChoice(key, name)))
  const { resourceType, id, meta } = resource
  const stored = Object.fromEntries(Object.entries(resource).filter(([key]) => isSelected(key.replace(/^_/, ''))))
  return { resourceType, id, ...stored, meta: { ...meta, tag: [...meta.tag ?? [], subsetted] } }
}

/** `valueQuantity` is a choice of `value`. */
function isChoice (key: string, name: string): boolean {
  return key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length))
}
