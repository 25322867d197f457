import { isElement } from '../../mappings/core/path.js'
import { findElementDefinitions } from '../../mappings/r4/elements.js'
import { isRecordReference } from './references.js'

/**
 * A resource whose references to records here are relative, as the datastore knows them: a client's have the base of
 * this gateway, and the datastore would take that for another server. So it is with what R4 has as url or canonical; a
 * uri is a name, which stays unchanged. Changes the resource in place, as no other code has seen it yet.
 */
export function relativizeReferences<T> (resource: T, fhirBase: string): T {
  return mapLinks(resource, (text, kind) => toRelative(text, kind, fhirBase))
}

/** A text that leads to a record here, relative; any other unchanged. */
export function relativizeReference (text: string, fhirBase: string): string {
  const rest = stripBase(fhirBase, text)
  return rest !== undefined && isRecordReference(rest) ? rest : text
}

/** The kind of a text that may lead to a record: the text of a Reference, or a primitive of this type. */
type LinkKind = 'reference' | 'canonical' | 'url' | 'uri' | 'oid' | 'uuid' | 'xhtml'

const linkKinds: ReadonlySet<string> = new Set<LinkKind>(['canonical', 'url', 'uri', 'oid', 'uuid', 'xhtml'])

/**
 * A resource with each text that may lead to a record mapped to another, by the types that R4 gives to elements;
 * strings, codes and values of identifiers are never among them: http://hl7.org/fhir/R4/http.html#trules. Changes the
 * resource in place.
 */
export function mapLinks<T> (resource: T, map: (text: string, kind: LinkKind) => string): T {
  return mapElement(resource, { name: '', type: 'Resource' }, map) as T
}

/** An element by its name, and its type in R4. */
interface TypedElement { readonly name: string, readonly type: string }

type MapLink = Parameters<typeof mapLinks>[1]

function mapElement (value: unknown, element: TypedElement, map: MapLink): unknown {
  if (typeof value === 'string') {
    const kind = element.name === 'reference' ? 'reference' : element.type
    return kind === 'reference' || linkKinds.has(kind) ? map(value, kind as LinkKind) : value
  }
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = mapElement(value[at], element, map)
  } else if (isElement(value)) {
    mapMembers(value, element.type, map)
  }
  return value
}

function mapMembers (holder: Record<string, unknown>, type: string, map: MapLink): void {
  const members = findElementDefinitions(type === 'Resource' ? String(holder.resourceType) : type)
  for (const name in holder) {
    const member = members?.get(name)
    // The extensions of a primitive are in its sibling element.
    if (member !== undefined) holder[name] = mapElement(holder[name], { name, type: member.type }, map)
    else if (name.startsWith('_')) mapElement(holder[name], { name, type: 'Element' }, map)
  }
}

function toRelative (text: string, kind: LinkKind, fhirBase: string): string {
  if (kind === 'reference') {
    const rest = stripBase(fhirBase, text)
    // What a transaction may have in place of an id.
    if (rest !== undefined && /^[A-Za-z]+\?/.test(rest)) return rest
  } else if (kind !== 'canonical' && kind !== 'url') return text
  return relativizeReference(text, fhirBase)
}

function stripBase (fhirBase: string, text: string): string | undefined {
  return text.startsWith(`${fhirBase}/`) ? text.slice(fhirBase.length + 1) : undefined
}
