import { ExactNumber } from '../../json.js'
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import { linkElements } from '../writes/link-elements.js'
import type { Link } from '../writes/references.js'

/** Where records of an import are stored, by what they are called in it: `Patient/p1` → `Patient/i0123…`. */
export type Targets = Pick<ReadonlyMap<string, string>, 'get'>

/** A resource, and what it refers to. */
export interface Linked { readonly resource: FhirResource, readonly links: readonly Link[] }

/** A resource whose references to records of its import lead to where those are stored. */
export function resolveLinks ({ resource, links }: Linked, targets: Targets): Linked {
  const texts = new Map<string, string>()
  const after = links.map(link => {
    const target = link.record && targets.get(link.record)
    if (target === undefined) return link
    const reference = target + suffixOf(link.reference, link.record!)
    texts.set(link.reference, reference)
    return { ...link, reference, record: target }
  })
  return texts.size === 0 ? { resource, links } : { resource: withTexts(resource, texts, false) as FhirResource, links: after }
}

/** A version of a canonical stays; that of a reference was another record's. */
function suffixOf (reference: string, record: string): string {
  const rest = reference.slice(record.length)
  return rest.startsWith('/') ? '' : rest
}

function withTexts (value: unknown, texts: ReadonlyMap<string, string>, isLink: boolean): unknown {
  if (typeof value === 'string') return isLink ? texts.get(value) ?? value : value
  if (value === null || typeof value !== 'object' || value instanceof ExactNumber) return value
  if (Array.isArray(value)) return value.map(item => withTexts(item, texts, isLink))
  return Object.fromEntries(Object.entries(value as FhirElement).map(([key, item]) => [key, withTexts(item, texts, key === 'reference' || linkElements.has(key))]))
}
