import { subsetted, type FhirElement } from '../fhir.js'
import { listMandatoryElements, isMemberOfElement } from './elements.js'

/** Members that every record retains. */
const always = ['resourceType', 'id', 'meta']

/**
 * Reduces the records of a type to the requested and the mandatory elements, and tags them as SUBSETTED; undefined if
 * the complete records are requested.
 * @param elements as in `_elements` of a bulk export: `birthDate` for every type, `Patient.name` for one
 */
export function createSubsetter (
  type: string,
  elements: readonly string[]
): ((record: FhirElement) => FhirElement) | undefined {
  const requested = elements.flatMap(element => {
    const [name, ofType] = element.split('.').reverse() as [string, string?]
    return ofType === undefined || ofType === type ? [name] : []
  })
  if (requested.length === 0) return undefined
  const retained = [...always, ...listMandatoryElements(type), ...requested.flatMap(name => [name, `${name}[x]`])]
  const decided = new Map<string, boolean>()
  const isSelected = (member: string): boolean =>
    decided.get(member) ??
    decided
      .set(
        member,
        retained.some(element => isMemberOfElement(element, member))
      )
      .get(member)!
  return record => {
    const { meta, ...others } = Object.fromEntries(Object.entries(record).filter(([member]) => isSelected(member)))
    const { tag = [], ...ofMeta } = (meta ?? {}) as { readonly tag?: readonly unknown[] }
    const { resourceType, id, ...content } = others
    return { resourceType, id, meta: { ...ofMeta, tag: [...tag, subsetted] }, ...content }
  }
}
