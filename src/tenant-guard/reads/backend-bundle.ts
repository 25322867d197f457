import type { BackendResponse } from '../../backends/backend.js'
import { buildIncompleteEntry } from '../../envelope/operation-outcome.js'
import { JsonBytes } from '../../json/bytes/json-bytes.js'
import { parseStored, printJson } from '../../json/json.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { isElementArray } from '../../mappings/core/path.js'
import { toReference } from '../access.js'
import { outlineBundle } from '../outline/outline-bundle.js'
import { rewriteUrls } from '../public-urls.js'
import { parseCheckedJson, parseJson, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import type { BundleLink } from './pages.js'

/** An entry as a datastore returned it, before any check. */
export interface BackendBundleEntry {
  readonly fullUrl?: unknown
  readonly resource?: unknown
  readonly search?: { readonly mode?: unknown }
  readonly request?: { readonly method?: unknown, readonly url?: unknown }
  readonly response?: Readonly<Record<string, unknown>>
}

/** A Bundle as a datastore returned it, before any check of its entries. */
export interface BackendBundle {
  readonly entries: readonly BackendBundleEntry[]
  /** The records of the entries that are matches; notes of the server are none. */
  readonly matches: readonly unknown[]
  /** The records included with the matches. */
  readonly included: readonly unknown[]
  readonly total: number | undefined
  /** The link to the next page, as received. */
  readonly next: string | undefined
  /** Whether the server says that more could have been included. */
  readonly isCut: boolean
  /** Where the list of entries begins in the response, if the Bundle is an outline of it. */
  readonly entriesStart: number | undefined
}

/** The Bundles that are outlines, and where their entries begin. */
const entriesStarts = new WeakMap<object, number>()

/** Reads a Bundle of this type; undefined for anything else. */
export function parseBundle (
  value: unknown,
  type: 'searchset' | 'history' | 'batch-response' = 'searchset'
): BackendBundle | undefined {
  const bundle = (value ?? {}) as Record<string, unknown>
  const { resourceType, type: found, total, link = [], entry = [] } = bundle
  if (resourceType !== 'Bundle' || found !== type || !isElementArray(link) || !isElementArray(entry)) return undefined
  const entries = entry as readonly BackendBundleEntry[]
  const next = link.find(({ relation }) => relation === 'next')?.url
  const filterByMode = (mode: string) => entries.filter(item => getMode(item) === mode).map(({ resource }) => resource)
  return {
    entries,
    matches: filterByMode('match'),
    included: filterByMode('include'),
    total: typeof total === 'number' ? total : undefined,
    next: typeof next === 'string' ? next : undefined,
    // Azure links to the rest of what could be included, and used to note that it left it out.
    isCut:
      link.some(({ relation }) => relation === 'related') || entries.some(item => getMode(item) === 'outcome'),
    entriesStart: entriesStarts.get(bundle)
  }
}

/**
 * The Bundle in a response.
 * @param reason for the log, if it holds anything else
 * @throws {Failure} as {@link unexpectedResponse}
 */
export function requireBundle (
  response: BackendResponse,
  reason: string,
  { type = 'searchset', parse = parseJson }: {
    readonly type?: 'searchset' | 'history'
    readonly parse?: (response: BackendResponse) => unknown
  } = {}
): BackendBundle {
  const bundle = response.status === 200 ? parseBundle(parse(response), type) : undefined
  if (bundle === undefined) throw unexpectedResponse(response, reason)
  return bundle
}

/**
 * The JSON of a Bundle for the check of whose records it has: of each, what {@link outlineBundle} retains.
 * @param parse reads a text of which there is no outline
 * @throws {Failure} as {@link parseCheckedJson}
 */
export function parseOutlinedJson (
  response: BackendResponse,
  parse: (response: BackendResponse) => unknown = parseCheckedJson
): unknown {
  const outline = outlineBundle(toBytes(response))
  if (outline === undefined) return parse(response)
  entriesStarts.set(outline.bundle, outline.entriesStart)
  return outline.bundle
}

/** The JSON of a response, or of what was made of it. */
type ResponseJson = Pick<BackendResponse, 'body' | 'bytes'>

/** The same in UTF-8. */
export const toBytes = (response: ResponseJson): Buffer => response.bytes ?? Buffer.from(response.body)

/** Whether an entry is a match, of `match`, `include` and `outcome`. */
export const isMatch = (entry: BackendBundleEntry): boolean => getMode(entry) === 'match'

const getMode = ({ search }: BackendBundleEntry): unknown => search?.mode ?? 'match'

/** The tenant's form of a Bundle. */
interface ClientBundle {
  readonly type: 'searchset' | 'history'
  /** Of the datastore. */
  readonly response: ResponseJson
  readonly total?: number | undefined
  readonly links: readonly BundleLink[]
  /** A warning for the client, besides the entries. */
  readonly note?: string | undefined
  readonly shown: readonly BackendBundleEntry[]
}

const jsonBytes = new JsonBytes()

/**
 * The Bundle as the tenant sees it: a head of the gateway's own, since the datastore's has its page links and an id
 * that is one, and of the entries those that are shown. They are the datastore's own bytes when all of them are.
 */
export function formatBundle (
  context: TenantContext,
  bundle: BackendBundle,
  { type, response, total, links, note, shown }: ClientBundle
): string | Buffer {
  const head = JSON.stringify({ resourceType: 'Bundle', type, total, link: links })
  if (shown.length === 0 && note === undefined) return head
  const start = `${head.slice(0, -1)},"entry":`
  // An OperationOutcome behind the entries counts as no match: http://hl7.org/fhir/R4/search.html#modes
  const noted = note === undefined ? '' : `${shown.length === 0 ? '' : ','}${JSON.stringify(buildIncompleteEntry(note))}`
  const own = shown.length === bundle.entries.length ? rewriteEntryBytes(context, bundle, response) : undefined
  if (own !== undefined) return Buffer.concat([Buffer.from(start), own, Buffer.from(`${noted}]}`)])
  const printed = printEntries(context, bundle, { response, shown: new Set(shown) })
  return `${start}${printed.slice(0, -1)}${noted}]}`
}

/** The records in entries, each once, as `Type/id`. */
export function listRecordReferences (entries: readonly BackendBundleEntry[]): string[] {
  const records = entries.map(({ resource }) => resource as Partial<StoredResource> | undefined)
  return [
    ...new Set(records.filter(record => record?.id !== undefined).map(record => toReference(record as StoredResource)))
  ]
}

/** The shown entries printed again, from a parse that preserves the text of numbers. */
function printEntries (
  context: TenantContext,
  { entries }: BackendBundle,
  { response, shown }: { readonly response: ResponseJson; readonly shown: ReadonlySet<BackendBundleEntry> }
): string {
  if (shown.size === 0) return '[]'
  const { entry } = parseStored(response.body) as { readonly entry: readonly BackendBundleEntry[] }
  const own = entry.filter((_, at) => shown.has(entries[at]!))
  return rewriteUrls(context, printJson(own.map(item => ({ ...item, fullUrl: toPublicUrl(context, item) }))))
}

function toPublicUrl ({ fhirBase }: TenantContext, { resource }: BackendBundleEntry): string | undefined {
  const { resourceType, id } = (resource ?? {}) as Partial<FhirResource>
  return id === undefined ? undefined : `${fhirBase}/${resourceType}/${id}`
}

const endOfBundle = Buffer.from(']}')

/**
 * The list of entries with the gateway's URLs, without its closing bracket: a view that is valid until the next call.
 * Undefined unless all of it can be shown unchanged, which an outline proves: no object has a member twice, so no
 * reader finds another record in it, or another tenant's, than the one that was checked.
 */
function rewriteEntryBytes (
  { backend, fhirBase }: TenantContext,
  { entries, entriesStart }: BackendBundle,
  response: ResponseJson
): Buffer | undefined {
  const base = `${backend.baseUrl}/`
  if (!entries.every(({ fullUrl }) => typeof fullUrl === 'string' && fullUrl.startsWith(base))) return undefined
  const bytes = toBytes(response)
  const start = entriesStart ?? outlineBundle(bytes)?.entriesStart
  if (start === undefined || !bytes.subarray(-endOfBundle.length).equals(endOfBundle)) return undefined
  return jsonBytes.replaceAll(bytes.subarray(start, -endOfBundle.length), Buffer.from(base), Buffer.from(`${fhirBase}/`))
}
