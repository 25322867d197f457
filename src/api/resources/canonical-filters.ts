import type { Mapping } from '../../mappings/core/mapping.js'
import { urlOf } from '../../record-input/references.js'
import { splitUnescaped } from '../../fhir/search-escaping.js'
import type { TenantStore } from '../../tenant-guard/guard.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { escapedParts } from './filter-value.js'

/** The parameters of a search, each id of a definition replaced by the URL under which records refer to it. */
export async function resolveCanonicalFilters (
  mapping: Mapping,
  store: TenantStore,
  parameters: readonly SearchParameter[]
): Promise<readonly SearchParameter[]> {
  const canonicals = new Map(Object.values(mapping.filters).map(({ param, canonicalOf }) => [param, canonicalOf]))
  return await Promise.all(
    parameters.map(async ([param, value]) => {
      const type = canonicals.get(param)
      if (type === undefined) return [param, value] as const
      const urls = await Promise.all(
        splitUnescaped(value, ',').map(async part => {
          const url = await urlOf(store, type, part)
          return url === undefined ? part : escapedParts(url)
        })
      )
      return [param, urls.join(',')] as const
    })
  )
}
