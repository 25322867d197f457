import { parseStored } from '../../json/json.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Search } from '../interaction.js'
import { jsonOf, type TenantContext } from '../tenant-context.js'
import { bytesOf, isMatch, outlinedJsonOf, type BackendBundleEntry } from './backend-bundle.js'
import { searchChecked } from './checked-search.js'
import { rejectedFilter } from './own-matches.js'
import type { Page, JsonPage } from './pages.js'
import { findPage, openCursor, type Form, type OwnPage } from './search.js'

const defaultCount = 20

/** One page of a search, as records. */
export async function search (context: TenantContext, request: Search): Promise<Page> {
  const page = await findRecords(context, request, asRecords)
  if ('resources' in page) return page
  return { resources: matchesOf(page.own), ...continuation(page) }
}

/**
 * One page of a search, as the datastore's text where that shows matches alone and all of them are the tenant's, else
 * as records. Only what identifies the records of the text is parsed.
 */
export async function searchJson (context: TenantContext, request: Search): Promise<Page | JsonPage> {
  const page = await findRecords(context, request, asJson)
  if ('resources' in page) return page
  const { bundle, own, response } = page
  if (bundle.entriesStart === undefined) return { resources: matchesOf(own), ...continuation(page) }
  const isText = own.length === bundle.entries.length && own.every(isMatch)
  if (isText) return { json: bytesOf(response), records: matchesOf(own), ...continuation(page) }
  const { entry } = parseStored(response.body) as { readonly entry: readonly BackendBundleEntry[] }
  const shown = new Set(own)
  return { resources: matchesOf(entry.filter((_, at) => shown.has(bundle.entries[at]!))), ...continuation(page) }
}

const asRecords: Form = { read: response => ({ response, parse: jsonOf }), rejected: rejectedFilter }
const asJson: Form = {
  read: response => ({ response, parse: response => outlinedJsonOf(response, jsonOf) }),
  rejected: rejectedFilter
}

async function findRecords (context: TenantContext, request: Search, form: Form): Promise<Page | OwnPage> {
  const opened = openCursor(context, request)
  const { parameters, conditions = [], count = defaultCount } = request
  if (opened?.checked !== undefined) {
    const { checked, count, total } = opened
    return await searchChecked(context, request, { ...checked, count, total, after: checked })
  }
  if (opened === undefined && conditions.length > 0) {
    return await searchChecked(context, request, { parameters, conditions, count })
  }
  return await findPage(context, { ...request, total: 'accurate' }, { opened, form })
}

const matchesOf = (entries: readonly BackendBundleEntry[]): StoredResource[] =>
  entries.filter(isMatch).map(({ resource }) => resource as StoredResource)

function continuation ({ total, cursor }: OwnPage): Omit<Page, 'resources'> {
  return { ...total !== undefined && { total }, ...cursor !== undefined && { cursor } }
}
