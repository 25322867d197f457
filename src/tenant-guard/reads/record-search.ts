import { parseStored } from '../../json/json.js'
import type { StoredResource } from '../../mappings/fhir.js'
import type { Search } from '../interaction.js'
import { parseJson, type TenantContext } from '../tenant-context.js'
import { toBytes, isMatch, parseOutlinedJson, type BackendBundleEntry } from './backend-bundle.js'
import { searchChecked } from './checked-search.js'
import { rejectedFilter } from './own-matches.js'
import type { Page, JsonPage } from './pages.js'
import { findPage, openCursor, type Form, type OwnPage } from './search.js'

const defaultCount = 20

/** One page of a search, as records. */
export async function search (context: TenantContext, request: Search): Promise<Page> {
  const page = await findRecords(context, request, asRecords)
  if ('resources' in page) return page
  return { resources: getMatches(page.own), ...toContinuation(page) }
}

/**
 * One page of a search, as the datastore's text where that shows matches alone and all of them are the tenant's, else
 * as records. Only what identifies the records of the text is parsed.
 */
export async function searchJson (context: TenantContext, request: Search): Promise<Page | JsonPage> {
  const page = await findRecords(context, request, asJson)
  if ('resources' in page) return page
  const { bundle, own, response } = page
  if (bundle.entriesStart === undefined) return { resources: getMatches(own), ...toContinuation(page) }
  const isText = own.length === bundle.entries.length && own.every(isMatch)
  if (isText) return { json: toBytes(response), records: getMatches(own), ...toContinuation(page) }
  const { entry } = parseStored(response.body) as { readonly entry: readonly BackendBundleEntry[] }
  const ownEntries = new Set(own)
  return {
    resources: getMatches(entry.filter((_, at) => ownEntries.has(bundle.entries[at]!))),
    ...toContinuation(page)
  }
}

const asRecords: Form = { read: response => ({ response, parse: parseJson }), rejected: rejectedFilter }
const asJson: Form = {
  read: response => ({ response, parse: response => parseOutlinedJson(response, parseJson) }),
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

const getMatches = (entries: readonly BackendBundleEntry[]): StoredResource[] =>
  entries.filter(isMatch).map(({ resource }) => resource as StoredResource)

function toContinuation ({ total, cursor }: OwnPage): Omit<Page, 'resources'> {
  return { ...total !== undefined && { total }, ...cursor !== undefined && { cursor } }
}
