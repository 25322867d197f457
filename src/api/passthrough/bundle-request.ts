import { parseBody } from '../../envelope/body.js'
import { parseVersions, type ReadConditions } from '../../envelope/preconditions.js'
import { toFailure } from '../../envelope/error-handlers.js'
import { toOperationOutcome } from '../../envelope/operation-outcome.js'
import { Failure } from '../../envelope/failures.js'
import { parseQuery } from '../../envelope/query.js'
import { isValidId } from '../../fhir/names.js'
import { JsonBudget } from '../../json/json.js'
import type { FhirElement, FhirResource } from '../../mappings/fhir.js'
import { isElement } from '../../mappings/core/path.js'
import { toEntryPath, withEntryPath } from '../../tenant-guard/bundles/entry-path.js'
import type {
  Batch,
  BundleEntry,
  Criteria,
  FhirInteraction,
  Search,
  Transaction
} from '../../tenant-guard/interaction.js'
import { collectReferences, listReferences } from '../../tenant-guard/writes/references.js'
import { resourceTypes } from '../../fhir/resource-types.js'
import { readCriteria, readVersion, parsePathSegments, withoutFormat, type FhirRequest } from './fhir-request.js'
import { countJoinSearches } from './search-references.js'
import { parseCriteria } from './search-request.js'

/** Entries of a Bundle of requests. */
export const maxEntries = 1_000
/**
 * The maximum of extra searches that the chains, `_has` and compartments of all entries may become: as many again as
 * there may be entries.
 */
const maxJoined = 1_000
const maxSearchedReferences = 1_000

type ReadRequest = (request: FhirRequest) => FhirInteraction

/**
 * A Bundle of requests, each entry read as the same request alone: http://hl7.org/fhir/R4/http.html#transaction. In a
 * batch only an entry that cannot be read is refused, in a transaction the complete Bundle.
 * @throws {Failure} BAD_REQUEST
 */
export function readBundle (request: FhirRequest, readRequest: ReadRequest): Batch | Transaction {
  const { type, entry = [] } = requireBundle(request.body)
  if (!Array.isArray(entry)) { throw new Failure('BAD_REQUEST', { message: 'Bundle.entry: expected a list of requests.' }) }
  if (entry.length > maxEntries) {
    throw new Failure('PAYLOAD_TOO_LARGE', {
      message: `Bundle.entry: expected at most ${maxEntries} requests. Send the rest in another Bundle, or use the bulk import.`
    })
  }
  const budget = new JsonBudget()
  const read = (item: unknown, at: number): BundleEntry =>
    readWithEntryPath(at, () => readEntry(item, request, { readRequest, budget }))
  const { showsWritten } = request
  if (type === 'batch') {
    return {
      kind: 'batch',
      type: 'Bundle',
      entries: requireFewJoins(entry.map((item, at) => readOrFailure(() => read(item, at)))),
      showsWritten
    }
  }
  if (type !== 'transaction') {
    throw new Failure('BAD_REQUEST', { message: 'Bundle.type: expected batch or transaction.' })
  }
  const entries = requireFewJoins(entry.map(read))
  requireDistinctUrls(entries)
  return {
    kind: 'transaction',
    type: 'Bundle',
    entries,
    references: parseReferenceCriteria(entries, request.fhirBase),
    showsWritten
  }
}

/** @returns the entries themselves */
function requireFewJoins<E extends Batch['entries'][number]> (entries: readonly E[]): readonly E[] {
  const searches = entries.map(entry =>
    'interaction' in entry && entry.interaction.kind === 'search' ? countExtraSearches(entry.interaction) : 0
  )
  if (searches.reduce((sum, each) => sum + each, 0) > maxJoined) {
    throw new Failure('BAD_REQUEST', {
      message: `Bundle.entry: expected at most ${maxJoined} chains and _has parameters in all searches together. A chain counts once for each type that its reference can point to, unless it names one. A compartment counts once for each search parameter that links to it, except the first.`
    })
  }
  return entries
}

const countExtraSearches = ({ joins = [], within }: Search): number =>
  countJoinSearches(joins) + (within === undefined ? 0 : within.parameters.length - 1)

function requireBundle (body: unknown): FhirElement {
  if (!isElement(body) || body.resourceType !== 'Bundle') {
    throw new Failure('BAD_REQUEST', { message: 'Send a Bundle of type batch or transaction.' })
  }
  return body
}

/** The members that are understood; any other could change the meaning of an entry unnoticed. */
const entryMembers = new Set(['fullUrl', 'resource', 'request', 'id', 'link'])
const requestMembers = new Set(['method', 'url', 'ifMatch', 'ifNoneExist', 'ifNoneMatch', 'ifModifiedSince', 'id'])

interface EntryParts {
  readonly readRequest: ReadRequest
  /** The limit on the patches of the complete Bundle together. */
  readonly budget: JsonBudget
}

function readEntry (
  item: unknown,
  { fhirBase, showsWritten }: FhirRequest,
  { readRequest, budget }: EntryParts
): BundleEntry {
  const { fullUrl, resource, request } =
    isElement(item) && Object.keys(item).every(name => entryMembers.has(name)) ? item : refuse()
  if (!isElement(request) || !Object.keys(request).every(name => requestMembers.has(name))) refuse()
  const { method, url, ifMatch, ifNoneMatch, ifModifiedSince, ifNoneExist } = request as FhirElement
  if (typeof method !== 'string' || typeof url !== 'string' || !isText(ifMatch) || !isText(ifNoneExist)) refuse()
  const [path = '', query = ''] = splitOnce(toLocalUrl(url as string, fhirBase), '?')
  const interaction = readRequest({
    method: parseMethod(method as string),
    path: parsePathSegments(path),
    query: withoutFormat(parseQuery(query, Infinity)),
    body: method === 'PATCH' ? parsePatch(resource, budget) : resource,
    ifMatch: readVersion(ifMatch),
    hasOtherPrecondition: ifNoneMatch !== undefined,
    ifNoneExist: readCriteria(ifNoneExist),
    isLenient: false,
    showsWritten,
    fhirBase
  })
  if (
    interaction.kind === 'batch' ||
    interaction.kind === 'transaction' ||
    !mayBeEntry(interaction) ||
    (method === 'POST' && !('resource' in interaction))
  ) { throw new Failure('METHOD_NOT_ALLOWED', { message: 'An entry can be a read, a search or a write.' }) }
  const conditions = method === 'GET' ? parseReadConditions(ifNoneMatch, ifModifiedSince) : undefined
  if (!isText(fullUrl)) refuse()
  return {
    ...(fullUrl !== undefined && { fullUrl: fullUrl as string }),
    interaction,
    ...(conditions !== undefined && { conditions })
  }
}

/** @throws {Failure} BAD_REQUEST for a value that could not be distinguished from a condition that never holds */
function parseReadConditions (ifNoneMatch: unknown, ifModifiedSince: unknown): ReadConditions | undefined {
  if (
    !isText(ifNoneMatch) ||
    !isText(ifModifiedSince) ||
    (ifModifiedSince !== undefined && Number.isNaN(Date.parse(ifModifiedSince)))
  ) { refuse() }
  if (ifNoneMatch !== undefined && !isValidId(ifNoneMatch as string)) {
    parseVersions(ifNoneMatch as string, 'request.ifNoneMatch')
  }
  return ifNoneMatch === undefined && ifModifiedSince === undefined
    ? undefined
    : { ifNoneMatch: ifNoneMatch as string, ifModifiedSince: ifModifiedSince as string }
}

const entryKinds = new Set<FhirInteraction['kind']>([
  'read',
  'vread',
  'search',
  'create',
  'conditional-create',
  'update',
  'conditional-update',
  'patch',
  'conditional-patch',
  'delete',
  'conditional-delete'
])
const mayBeEntry = ({ kind }: FhirInteraction): boolean => entryKinds.has(kind)

const isText = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string'

const methods = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

function parseMethod (method: string): string {
  return methods.has(method) ? method : refuse()
}

/** The URL below this gateway's base, with a leading slash; an absolute URL is accepted only below this base. */
function toLocalUrl (url: string, fhirBase: string): string {
  const local = url.startsWith(`${fhirBase}/`) ? url.slice(fhirBase.length + 1) : url
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(local)) {
    throw new Failure('BAD_REQUEST', {
      message: 'request.url: expected a URL relative to the base URL of this server.'
    })
  }
  return local.startsWith('/') ? local : `/${local}`
}

/** A patch comes as a Binary, since an entry holds a resource. */
function parsePatch (resource: unknown, budget: JsonBudget): unknown {
  const { resourceType, contentType, data } = isElement(resource) ? resource : refuse()
  if (resourceType !== 'Binary' || contentType !== 'application/json-patch+json' || typeof data !== 'string') {
    throw new Failure('UNSUPPORTED_MEDIA_TYPE', {
      message:
        'Send a patch in a Bundle as a Binary with contentType application/json-patch+json and the JSON Patch in data.'
    })
  }
  return parseBody(Buffer.from(data, 'base64'), budget)
}

function refuse (): never {
  throw new Failure('BAD_REQUEST', {
    message:
      'Each entry needs a request with method and url, and a resource if it writes one. Other content is not supported.'
  })
}

function requireDistinctUrls (entries: readonly BundleEntry[]): void {
  const urls = entries.map(({ fullUrl }) => fullUrl).filter(fullUrl => fullUrl !== undefined)
  if (new Set(urls).size < urls.length) {
    throw new Failure('BAD_REQUEST', { message: 'Bundle.entry.fullUrl: two entries have the same one.' })
  }
}

/** References such as `Patient?identifier=…`, which a transaction may hold in place of ids. */
function parseReferenceCriteria (entries: readonly BundleEntry[], fhirBase: string): ReadonlyMap<string, Criteria> {
  const texts = new Set(
    entries.flatMap(({ interaction }) =>
      'resource' in interaction ? listReferences(interaction.resource as FhirResource) : []
    )
  )
  const searched = [...texts].flatMap(text => {
    const [type = '', query] = splitOnce(text, '?')
    return query === undefined || !resourceTypes.has(type) ? [] : [{ text, type, query }]
  })
  if (searched.length > maxSearchedReferences) {
    throw new Failure('BAD_REQUEST', {
      message: `Bundle.entry: expected at most ${maxSearchedReferences} different conditional references, such as Patient?identifier=…; send the others in another transaction.`
    })
  }
  return new Map(searched.map(({ text, type, query }) => {
    try {
      return [text, parseCriteria(type, parseQuery(query), fhirBase)]
    } catch (error) {
      throw withReferencePaths(error, entries, text)
    }
  }))
}

/** The refusal of criteria, at the positions where they replace an id. */
function withReferencePaths (error: unknown, entries: readonly BundleEntry[], text: string): unknown {
  if (!(error instanceof Failure)) return error
  const expression = entries.flatMap(({ interaction }, at) =>
    'resource' in interaction
      ? collectReferences(interaction.resource as FhirResource, [])
        .filter(({ reference }) => reference === text)
        .map(({ path }) => toEntryPath(path, at))
      : []
  )
  const { code, message, cause } = error
  const issues = toOperationOutcome(error).issue.map(issue => ({ ...issue, severity: 'error' as const, expression }))
  return new Failure(code, { message, cause, issues })
}

function splitOnce (text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

/** Adds to a failure the entry in which it is. */
function readWithEntryPath<T> (at: number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw withEntryPath(error, [at])
  }
}

function readOrFailure (read: () => BundleEntry): Batch['entries'][number] {
  try {
    return read()
  } catch (error) {
    return { failure: toFailure(error) }
  }
}
