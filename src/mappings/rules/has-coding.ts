import { isElement, itemsAt } from '../kit/path.js'

/** Whether a CodeableConcept has one of these codes of a system. */
export function hasCoding (concept: unknown, system: string, ...codes: readonly string[]): boolean {
  return isElement(concept) && itemsAt(concept, 'coding').some(coding => isElement(coding) && coding.system === system && codes.includes(coding.code as string))
}
