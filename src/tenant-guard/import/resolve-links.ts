import { mapJson } from '../../json/json.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { uriElements } from '../writes/link-elements.js'
import type { ReferenceSite } from '../writes/references.js'

/** Where records of an import are stored, by what they are called in it: `Patient/p1` → `Patient/i0123…`. */
export type Targets = Pick<ReadonlyMap<string, string>, 'get'>

/** A resource, and what it refers to. */
interface ResolvedRecord { readonly resource: FhirResource, readonly links: readonly ReferenceSite[] }

/** A resource whose references to records of its import lead to where those are stored. */
export function resolveLinks ({ resource, links }: ResolvedRecord, targets: Targets): ResolvedRecord {
  const { texts, links: after } = resolveSites(links, targets)
  if (texts.size === 0) return { resource, links }
  return {
    resource: mapJson(resource, (item, name) =>
      isLinkElement(name) && typeof item === 'string' ? (texts.get(item) ?? item) : item
    ),
    links: after
  }
}

/** The new text of each reference, by its old text, and the sites of those whose target is stored. */
export function resolveSites (
  links: readonly ReferenceSite[],
  targets: Targets
): { readonly texts: ReadonlyMap<string, string>, readonly links: readonly ReferenceSite[] } {
  const texts = new Map<string, string>()
  const after = links.map(link => {
    const target = link.record && targets.get(link.record)
    if (target === undefined) return link
    const reference = target + getSuffix(link.reference, link.record!)
    texts.set(link.reference, reference)
    return { ...link, reference, record: target }
  })
  return { texts, links: after }
}

/** A version of a canonical stays; that of a reference was another record's. */
function getSuffix (reference: string, record: string): string {
  const rest = reference.slice(record.length)
  return rest.startsWith('/') ? '' : rest
}

/** Whether texts in an element may refer to a record. */
export const isLinkElement = (name: string): boolean => name === 'reference' || uriElements.has(name)
