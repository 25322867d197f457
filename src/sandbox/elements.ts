import type { StoredResource } from '../mappings/fhir.js'

const subsetted = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }

/** The resource with only the named elements; type, id and meta always stay, and meta says that the rest is missing. */
export function onlyElements (resource: StoredResource, names: readonly string[] | undefined): StoredResource {
  if (!names) return resource
  const isWanted = (key: string) => names.some(name => key === name || (!(name in resource) && isChoice(key, name)))
  const { resourceType, id, meta } = resource
  const kept = Object.fromEntries(Object.entries(resource).filter(([key]) => isWanted(key.replace(/^_/, ''))))
  return { resourceType, id, ...kept, meta: { ...meta, tag: [...meta.tag ?? [], subsetted] } }
}

/** `valueQuantity` is a choice of `value`. */
function isChoice (key: string, name: string): boolean {
  return key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length))
}
