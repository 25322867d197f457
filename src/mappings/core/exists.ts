import type { FhirElement } from '../fhir.js'
import { isElement, itemsAt } from './path.js'

/**
 * Whether R4 counts an element as existing: it has a value, or an id or extensions in its place. A choice is named
 * `age[x]`.
 */
export function exists (holder: FhirElement, name: string): boolean {
  const form = new RegExp(`^_?${name.replace('[x]', '[A-Z]\\w*')}$`)
  return Object.keys(holder).some(key => form.test(key))
}

/** Whether a CodeableConcept has one of these codes of a system. */
export function hasCoding (concept: unknown, system: string, ...codes: readonly string[]): boolean {
  return (
    isElement(concept) &&
    itemsAt(concept, 'coding').some(
      coding => isElement(coding) && coding.system === system && codes.includes(coding.code as string)
    )
  )
}
