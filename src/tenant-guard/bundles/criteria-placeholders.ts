import { Failure } from '../../envelope/failures.js'
import { escaped, splitUnescaped, unescaped } from '../../fhir/search-escaping.js'
import type { BundleEntry, SearchParameter } from '../interaction.js'
import { BundleReferences } from './bundle-references.js'
import { withEntryPath } from './entry-path.js'

/**
 * The entries with each fullUrl in their criteria replaced by the record that it stands for:
 * http://hl7.org/fhir/R4/http.html#trules
 * @throws {Failure} BAD_REQUEST for criteria that lead to what the transaction creates: no stored record can meet them
 */
export function resolveCriteriaPlaceholders (
  entries: readonly BundleEntry[],
  backendUrl: string
): readonly BundleEntry[] {
  if (!entries.some(({ interaction }) => 'criteria' in interaction)) return entries
  const bundle = new BundleReferences(entries, backendUrl)
  return entries.map((entry, at) => {
    const { interaction } = entry
    if (!('criteria' in interaction)) return entry
    const parameters = interaction.criteria.parameters.map(([name, value]): SearchParameter => [
      name,
      splitUnescaped(value, ',')
        .map(one => toRecord(unescaped(one), { entries, bundle, at }) ?? one)
        .join(',')
    ])
    return { ...entry, interaction: { ...interaction, criteria: { ...interaction.criteria, parameters } } }
  })
}

interface Position { readonly entries: readonly BundleEntry[], readonly bundle: BundleReferences, readonly at: number }

/** @returns undefined for a value that is no fullUrl of an entry */
function toRecord (value: string, { entries, bundle, at }: Position): string | undefined {
  const target = bundle.findPlaceholder(value)
  if (target === undefined) return undefined
  const { interaction } = entries[target]!
  if ('id' in interaction && interaction.id !== undefined) return escaped(`${interaction.type}/${interaction.id}`)
  throw withEntryPath(
    new Failure('BAD_REQUEST', {
      message:
        'Criteria cannot refer to a record that the same transaction creates, since no stored record can meet them. Use an identifier, or create the record without criteria.'
    }),
    [at]
  )
}
