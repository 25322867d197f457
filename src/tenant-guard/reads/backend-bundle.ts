import type { BackendResponse } from '../../backends/backend.js'
import { incompleteEntry } from '../../envelope/operation-outcome.js'
import { memberAt, parseStored, printJson } from '../../json/json.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { isElementArray } from '../../mappings/core/path.js'
import { toReference } from '../access.js'
import { checkedJsonOf, type TenantContext } from '../tenant-context.js'
import { rewriteUrls } from '../public-urls.js'
import { isTruncated } from './searchset.js'
import type { BundleLink } from './page-links.js'

/** An entry as a datastore returned it, before any check. */
export interface BackendBundleEntry {
  readonly fullUrl?: unknown
  readonly resource?: unknown
  readonly search?: { readonly mode?: unknown }
  readonly request?: { readonly method?: unknown, readonly url?: unknown }
  readonly response?: Readonly<Record<string, unknown>>
}

/** A Bundle as a datastore returned it: parsed, for the checks, and its text, for the response. */
export interface BackendBundle {
  readonly entries: readonly BackendBundleEntry[]
  readonly total: number | undefined
  /** The link to the next page, as received. */
  readonly next: string | undefined
  /** Whether the server says that more could have been included. */
  readonly isCut: boolean
  readonly text: string
  readonly isEntryLast: boolean
}

/** Reads a response that must be a Bundle of this type; undefined for anything else. */
export function parseBackendBundle (
  response: BackendResponse,
  type: 'searchset' | 'history'
): BackendBundle | undefined {
  if (response.status !== 200) return undefined
  const bundle = (checkedJsonOf(response) ?? {}) as Record<string, unknown>
  const { resourceType, type: value, total, link = [], entry = [] } = bundle
  if (resourceType !== 'Bundle' || value !== type || !isElementArray(link) || !isElementArray(entry)) return undefined
  const next = link.find(({ relation }) => relation === 'next')?.url
  return {
    entries: entry as readonly BackendBundleEntry[],
    total: typeof total === 'number' ? total : undefined,
    next: typeof next === 'string' ? next : undefined,
    isCut: isTruncated(link, entry),
    text: response.body,
    isEntryLast: Object.keys(bundle).at(-1) === 'entry'
  }
}

/** What the tenant's form of a Bundle says of itself. */
interface BundleHead {
  readonly type: 'searchset' | 'history'
  readonly total?: number | undefined
  readonly links: readonly BundleLink[]
  /** A warning for the client, besides the entries. */
  readonly note?: string | undefined
}

/**
 * The Bundle as the tenant sees it: a head of the gateway's own, since the datastore's has its page links and an id
 * that is one, and of the entries those that are shown. Their text is the datastore's own when all of them are.
 */
export function bundleText (
  context: TenantContext,
  bundle: BackendBundle,
  { type, total, links, note, shown }: BundleHead & { readonly shown: readonly BackendBundleEntry[] }
): string {
  const head = JSON.stringify({ resourceType: 'Bundle', type, total, link: links })
  if (shown.length === 0) return head
  const entries = shown.length === bundle.entries.length ? parseEntries(context, bundle) : undefined
  const text = entries ?? printedEntries(context, bundle, new Set(shown))
  return `${head.slice(0, -1)},"entry":${withNote(rewriteUrls(context, text), note)}}`
}

/** Entries with an OperationOutcome behind them, which counts as no match: http://hl7.org/fhir/R4/search.html#modes */
function withNote (entries: string, note: string | undefined): string {
  return note === undefined ? entries : `${entries.slice(0, -1)},${JSON.stringify(incompleteEntry(note))}]`
}

/** The records in entries, each once, as `Type/id`. */
export function namesIn (entries: readonly BackendBundleEntry[]): string[] {
  const records = entries.map(({ resource }) => resource as Partial<StoredResource> | undefined)
  return [
    ...new Set(records.filter(record => record?.id !== undefined).map(record => toReference(record as StoredResource)))
  ]
}

/** The shown entries printed again, from a parse that preserves the text of numbers. */
function printedEntries (
  context: TenantContext,
  { text, entries }: BackendBundle,
  shown: ReadonlySet<BackendBundleEntry>
): string {
  const { entry } = parseStored(text) as { readonly entry: readonly BackendBundleEntry[] }
  return printJson(
    entry.filter((_, at) => shown.has(entries[at]!)).map(item => ({ ...item, fullUrl: publicUrlOf(context, item) }))
  )
}

function publicUrlOf ({ fhirBase }: TenantContext, { resource }: BackendBundleEntry): string | undefined {
  const { resourceType, id } = (resource ?? {}) as Partial<FhirResource>
  return id === undefined ? undefined : `${fhirBase}/${resourceType}/${id}`
}

/**
 * The text between the brackets of `entry`, them included, where it is the last member and every URL in it can be
 * replaced as text.
 */
function parseEntries ({ backend }: TenantContext, { text, entries, isEntryLast }: BackendBundle): string | undefined {
  const isPlain =
    isEntryLast &&
    text.endsWith(']}') &&
    !text.includes('\\/') &&
    entries.every(({ fullUrl }) => typeof fullUrl === 'string' && fullUrl.startsWith(`${backend.baseUrl}/`))
  const start = isPlain ? memberAt(text, 'entry') : undefined
  return start === undefined || text[start] !== '[' ? undefined : text.slice(start, -1)
}
