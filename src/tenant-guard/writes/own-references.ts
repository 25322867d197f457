import { isElement } from '../../mappings/kit/path.js'
import { membersOf } from '../../mappings/r4/elements.js'
import { leadsToRecord } from './references.js'

/**
 * A resource whose references to records here are relative, as the datastore knows them: to a client the base of this
 * gateway stands before them, and the datastore would take that for another server. So it is with what R4 has as url or
 * canonical; a uri is a name, which stays as it is. Changes the resource in place, as nobody has seen it yet.
 */
export function withOwnReferences<T> (resource: T, fhirBase: string): T {
  return relative(resource, { name: '', type: 'Resource' }, fhirBase) as T
}

/** A text that leads to a record here, relative; any other as it is. */
export function ownReference (text: string, fhirBase: string): string {
  const rest = below(fhirBase, text)
  return rest !== undefined && leadsToRecord(rest) ? rest : text
}

/** An element by its name, and the type that R4 gives it. */
interface Place { readonly name: string, readonly type: string }

function relative (value: unknown, place: Place, fhirBase: string): unknown {
  if (typeof value === 'string') return relativeText(value, place, fhirBase)
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) value[at] = relative(value[at], place, fhirBase)
  } else if (isElement(value)) {
    makeRelative(value, place.type, fhirBase)
  }
  return value
}

function makeRelative (holder: Record<string, unknown>, type: string, fhirBase: string): void {
  const members = membersOf(type === 'Resource' ? String(holder.resourceType) : type)
  for (const name in holder) {
    const member = members?.get(name)
    // Beside a primitive stands what it has as an element: its extensions.
    if (member !== undefined) holder[name] = relative(holder[name], { name, type: member.type }, fhirBase)
    else if (name.startsWith('_')) relative(holder[name], { name, type: 'Element' }, fhirBase)
  }
}

function relativeText (text: string, { name, type }: Place, fhirBase: string): string {
  if (name === 'reference') {
    const rest = below(fhirBase, text)
    // What a transaction may have in place of an id.
    if (rest !== undefined && /^[A-Za-z]+\?/.test(rest)) return rest
  } else if (type !== 'canonical' && type !== 'url') return text
  return ownReference(text, fhirBase)
}

function below (fhirBase: string, text: string): string | undefined {
  return text.startsWith(`${fhirBase}/`) ? text.slice(fhirBase.length + 1) : undefined
}
