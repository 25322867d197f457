import type { StoredResource } from '../mappings/fhir.js'

const subsetted = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }

/** The resource with only the named elements; type, id and meta always stay, and meta says that the rest is missing. */
export function onlyElements (resource: StoredResource, names: readonly string[] | undefined): StoredResource {
  if (!names) return resource
  const wanted = new Set(names.flatMap(name => [name, `_${name}`]))
  const { resourceType, id, meta } = resource
  const kept = Object.fromEntries(Object.entries(resource).filter(([name]) => wanted.has(name)))
  return { resourceType, id, ...kept, meta: { ...meta, tag: [...meta.tag ?? [], subsetted] } }
}
