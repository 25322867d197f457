import type { BackendResponse } from '../../backends/backend.js'
import { incompleteEntry } from '../../envelope/operation-outcome.js'
import { memberAt, parseStored, printJson } from '../../json/json.js'
import { namesMemberTwice } from '../../json/scan.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { isElementArray } from '../../mappings/core/path.js'
import { toReference } from '../access.js'
import { outlineBundle } from '../outline/outline-bundle.js'
import { checkedJsonOf, jsonOf, unexpectedResponse, type TenantContext } from '../tenant-context.js'
import { rewriteUrls } from '../public-urls.js'
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
  readonly isEntryLast: boolean
  /** Whether it was outlined, which proves that its text says to each reader what was checked. */
  readonly isOutlined: boolean
}

/** The Bundles that were parsed from an outline. */
const outlined = new WeakSet<object>()

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
  const ofMode = (mode: string) => entries.filter(item => modeOf(item) === mode).map(({ resource }) => resource)
  return {
    entries,
    matches: ofMode('match'),
    included: ofMode('include'),
    total: typeof total === 'number' ? total : undefined,
    next: typeof next === 'string' ? next : undefined,
    // Azure links to the rest of what could be included, and used to note that it left it out.
    isCut:
      link.some(({ relation }) => relation === 'related') || entries.some(item => modeOf(item) === 'outcome'),
    isEntryLast: Object.keys(bundle).at(-1) === 'entry',
    isOutlined: outlined.has(bundle)
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
  { type = 'searchset', parse = jsonOf }: {
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
 * @throws {Failure} as {@link checkedJsonOf}
 */
export function outlinedJsonOf (
  response: BackendResponse,
  parse: (response: BackendResponse) => unknown = checkedJsonOf
): unknown {
  const outline = outlineBundle(response.body)
  if (outline === undefined) return parse(response)
  outlined.add(outline)
  return outline
}

/** Whether an entry is a match, of `match`, `include` and `outcome`. */
export const isMatch = (entry: BackendBundleEntry): boolean => modeOf(entry) === 'match'

const modeOf = ({ search }: BackendBundleEntry): unknown => search?.mode ?? 'match'

/** The tenant's form of a Bundle. */
interface ShownBundle {
  readonly type: 'searchset' | 'history'
  /** The response of the datastore. */
  readonly text: string
  readonly total?: number | undefined
  readonly links: readonly BundleLink[]
  /** A warning for the client, besides the entries. */
  readonly note?: string | undefined
  readonly shown: readonly BackendBundleEntry[]
}

/**
 * The Bundle as the tenant sees it: a head of the gateway's own, since the datastore's has its page links and an id
 * that is one, and of the entries those that are shown. Their text is the datastore's own when all of them are.
 */
export function bundleText (
  context: TenantContext,
  bundle: BackendBundle,
  { type, text, total, links, note, shown }: ShownBundle
): string {
  const head = JSON.stringify({ resourceType: 'Bundle', type, total, link: links })
  if (shown.length === 0 && note === undefined) return head
  const entries = shown.length === 0 ? '[]' : shownEntries(context, bundle, { text, shown })
  return `${head.slice(0, -1)},"entry":${withNote(rewriteUrls(context, entries), note)}}`
}

function shownEntries (
  context: TenantContext,
  bundle: BackendBundle,
  { text, shown }: Pick<ShownBundle, 'text' | 'shown'>
): string {
  const ownText = shown.length === bundle.entries.length ? entriesText(context, bundle, text) : undefined
  return ownText ?? printedEntries(context, bundle, { text, shown: new Set(shown) })
}

/** Entries with an OperationOutcome behind them, which counts as no match: http://hl7.org/fhir/R4/search.html#modes */
function withNote (entries: string, note: string | undefined): string {
  if (note === undefined) return entries
  return `${entries.slice(0, -1)}${entries === '[]' ? '' : ','}${JSON.stringify(incompleteEntry(note))}]`
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
  { entries }: BackendBundle,
  { text, shown }: { readonly text: string; readonly shown: ReadonlySet<BackendBundleEntry> }
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

/** How deep brackets are nested in a Bundle where the tags of its records are. */
const tagDepth = 7

/**
 * The text between the brackets of `entry`, them included, where it is the last member, every URL in it can be
 * replaced as text, and it names no member twice: which record it is, and whose, would depend on who reads it.
 */
function entriesText (
  { backend }: TenantContext,
  { entries, isEntryLast, isOutlined }: BackendBundle,
  text: string
): string | undefined {
  const isPlain =
    isEntryLast &&
    text.endsWith(']}') &&
    !text.includes('\\/') &&
    entries.every(({ fullUrl }) => typeof fullUrl === 'string' && fullUrl.startsWith(`${backend.baseUrl}/`)) &&
    (isOutlined || !namesMemberTwice(text, tagDepth))
  const start = isPlain ? memberAt(text, 'entry') : undefined
  return start === undefined || text[start] !== '[' ? undefined : text.slice(start, -1)
}
