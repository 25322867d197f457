import { subsetted, type FhirElement } from '../../mappings/fhir.js'
import { mandatoryElements, resolveAliases } from '../../mappings/r4/elements.js'

/** What every record keeps. */
const always = ['resourceType', 'id', 'meta']

/**
 * Keeps of the records of a type the elements that are wanted and those that are mandatory, and marks them; undefined
 * where they are wanted whole.
 * @param elements as `_elements` of a bulk export has them: `birthDate` of every type, `Patient.name` of one
 */
export function subsetOf (
  type: string,
  elements: readonly string[]
): ((record: FhirElement) => FhirElement) | undefined {
  const requested = elements.flatMap(element => {
    const [name, ofType] = element.split('.').reverse() as [string, string?]
    return ofType === undefined || ofType === type ? [name] : []
  })
  if (requested.length === 0) return undefined
  const kept = [...always, ...mandatoryElements(type), ...requested.flatMap(name => [name, `${name}[x]`])]
  const decided = new Map<string, boolean>()
  const isSelected = (member: string): boolean =>
    decided.get(member) ??
    decided
      .set(
        member,
        kept.some(element => resolveAliases(element, member))
      )
      .get(member)!
  return record => {
    const { meta, ...others } = Object.fromEntries(Object.entries(record).filter(([member]) => isSelected(member)))
    const { tag = [], ...ofMeta } = (meta ?? {}) as { readonly tag?: readonly unknown[] }
    const { resourceType, id, ...content } = others
    return { resourceType, id, meta: { ...ofMeta, tag: [...tag, subsetted] }, ...content }
  }
}
