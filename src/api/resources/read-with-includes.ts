import { buildIncompleteEntry } from '../../envelope/operation-outcome.js'
import { maxIssues, type Issue } from '../../envelope/failures.js'
import type { StoredResource } from '../../mappings/fhir.js'
import { listMeaningWarnings } from '../../mappings/core/meaning.js'
import { incompleteLists } from '../../mappings/relations.js'
import type { Include } from '../../tenant-guard/interaction.js'
import type { Related } from '../../tenant-guard/guard.js'
import { formatClosedTypesNote } from '../../tenant-guard/reads/includes.js'
import type { IncludeRequest, Relation } from './include.js'
import type { Context } from './reads.js'

/**
 * Reads a record together with the requested includes.
 * @param url the gateway's own, before `/v1`
 * @throws {Failure} NOT_FOUND
 */
export async function readWithIncludes (
  { mapping, store, url }: Pick<Context, 'mapping' | 'store'> & { readonly url: string },
  id: string,
  includeRequest: IncludeRequest
): Promise<{ readonly data: unknown, readonly warnings: readonly Issue[] }> {
  const found = await store.readRelated({
    kind: 'read-related',
    type: mapping.type,
    id,
    includes: includeRequest.includes
  })
  if (includeRequest.form === 'fhir') {
    return { data: buildSearchset(found, includeRequest.includes, `${url}/v1/fhir`), warnings: [] }
  }
  const emptyLists = Object.fromEntries(includeRequest.emptyLists.map(path => [path, []]))
  return {
    data: { ...mapping.present(found.record), ...emptyLists, ...buildLists(found, includeRequest.relations) },
    warnings: [found.record, ...found.related].flatMap(record =>
      listMeaningWarnings(record, `${record.resourceType}/${record.id}`)
    ).slice(0, maxIssues)
  }
}

function buildLists (
  { related, cutTypes }: Related, relations: readonly Relation[]
): Readonly<Record<string, unknown>> {
  const lists = relations.map(
    ({ mapping: { path, type, present } }) =>
      [path, related.filter(({ resourceType }) => resourceType === type).map(present)] as const
  )
  const cut = relations.filter(({ mapping: { type } }) => cutTypes.has(type)).map(({ mapping: { path } }) => path)
  return { ...Object.fromEntries(lists), ...cut.length > 0 && { [incompleteLists]: cut } }
}

/** A searchset as http://hl7.org/fhir/R4/bundle.html#searchset defines, all of its URLs the gateway's. */
function buildSearchset (found: Related, includes: readonly Include[], base: string): unknown {
  const { record, related, cutTypes, closedTypes } = found
  const createEntryBuilder = (mode: 'match' | 'include') => (resource: StoredResource) => ({
    fullUrl: `${base}/${resource.resourceType}/${resource.id}`,
    resource,
    search: { mode }
  })
  const requested = [
    `_id=${record.id}`,
    ...includes.map(
      ({ direction, type, parameter, target }) =>
        `_${direction}=${type}:${parameter}${target === undefined ? '' : `:${target}`}`
    )
  ]
  return {
    resourceType: 'Bundle',
    type: 'searchset',
    total: 1,
    link: [{ relation: 'self', url: `${base}/${record.resourceType}?${requested.join('&')}` }],
    entry: [
      createEntryBuilder('match')(record),
      ...related.map(createEntryBuilder('include')),
      ...buildNotes(cutTypes, closedTypes)
    ]
  }
}

function buildNotes (cutTypes: ReadonlySet<string>, closedTypes: readonly string[]): readonly unknown[] {
  const cut =
    cutTypes.size === 0
      ? undefined
      : `There may be more records of these types than the response includes: ${[...cutTypes].join(', ')}. Search for them with their filters.`
  return [formatClosedTypesNote(closedTypes), cut].flatMap(note =>
    note === undefined ? [] : [buildIncompleteEntry(note)]
  )
}
