import type { StoredResource } from '../../mappings/fhir.js'
import type { CreateContext } from '../../mappings/core/element.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { splitUnescaped } from '../../fhir/search-escaping.js'
import { fetchCanonicalUrl } from '../../record-input/references.js'
import type { Page, TenantStore, JsonPage } from '../../tenant-guard/guard.js'
import type { RecordChecks, SearchParameter } from '../../tenant-guard/interaction.js'
import { UnsupportedParameter } from '../../tenant-guard/reads/require-searchable.js'
import { escapeParts, isMet } from './filter-value.js'
import type { Query } from './query.js'

/** The context of every interaction: the resource group, and the datastore as its caller may see it. */
export interface Context {
  readonly mapping: Mapping
  readonly store: TenantStore
  readonly createContext: CreateContext
}

/** One resource of the caller's tenant. @throws {Failure} NOT_FOUND */
export function read ({ mapping, store }: Context, id: string): Promise<StoredResource> {
  return store.read({ kind: 'read', type: mapping.type, id })
}

/** One page of a search, as the datastore's JSON where the mapping can write from that. */
export async function search ({ mapping, store }: Context, query: Query): Promise<Page | JsonPage> {
  const parameters = await resolveCanonicalFilters(mapping, store, query.parameters)
  const checks = query.conditions.length > 0 || query.cursor !== undefined ? { checks: buildRecordChecks(mapping) } : {}
  const { path: route, type } = mapping
  try {
    const request = { kind: 'search', type, route, ...query, parameters, ...checks } as const
    return mapping.print === undefined ? await store.search(request) : await store.searchJson(request)
  } catch (error) {
    throw error instanceof UnsupportedParameter ? withSentName(mapping, query, error) : error
  }
}

/** The refusal of a FHIR search parameter, with the filter or the sorting that the client sent. */
function withSentName ({ filters }: Mapping, query: Query, { parameter }: UnsupportedParameter): UnsupportedParameter {
  const filter = Object.keys(filters).find(name => filters[name]!.param === parameter)
  const isSent = query.parameters.some(([name]) => name.split(':', 1)[0] === parameter)
  return new UnsupportedParameter(parameter, isSent ? filter : 'sort')
}

/** How records are checked by the filters that R4 has no search parameter for. */
function buildRecordChecks ({ filters }: Mapping): RecordChecks {
  return {
    getElements: conditions =>
      conditions.flatMap(([name]) => filters[name]!.paths!.map(path => path.split('.', 1)[0]!)),
    isMet: (record, conditions) => conditions.every(([name, value]) => isMet(filters[name]!, value, record))
  }
}

/** The parameters of a search, each id of a definition replaced by the URL under which records refer to it. */
async function resolveCanonicalFilters (
  mapping: Mapping,
  store: TenantStore,
  parameters: readonly SearchParameter[]
): Promise<readonly SearchParameter[]> {
  const filters = Object.values(mapping.filters)
  const findCanonicalType = (param: string): string | undefined =>
    filters.findLast(filter => filter.param === param)?.canonicalOf
  if (!parameters.some(([param]) => findCanonicalType(param) !== undefined)) return parameters
  return await Promise.all(
    parameters.map(async ([param, value]) => {
      const type = findCanonicalType(param)
      if (type === undefined) return [param, value] as const
      const urls = await Promise.all(
        splitUnescaped(value, ',').map(async part => {
          const url = await fetchCanonicalUrl(store, type, part)
          return url === undefined ? part : escapeParts(url)
        })
      )
      return [param, urls.join(',')] as const
    })
  )
}
