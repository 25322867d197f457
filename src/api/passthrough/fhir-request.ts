import { fhirVersions, toMediaType } from '../../envelope/accept.js'
import { parseVersions } from '../../envelope/preconditions.js'
import { Failure, slashError } from '../../envelope/failures.js'
import { parseQuery, invalidParameter, type QueryPair } from '../../envelope/query.js'
import type { FhirResource } from '../../mappings/fhir.js'
import { formats, formatDescriptions, searchDate } from '../../mappings/core/formats.js'
import { isElement } from '../../mappings/core/path.js'

/** A request of raw FHIR after its HTTP was read: the same form for a request and for an entry of a Bundle. */
export interface FhirRequest {
  readonly method: string
  /** The segments of the path below the base, decoded once. */
  readonly path: readonly string[]
  readonly query: readonly QueryPair[]
  /** The resource, the patch or the Bundle; undefined where there is no body. */
  readonly body?: unknown
  /** The version that If-Match names; `*` is any. */
  readonly ifMatch?: string | undefined
  /** Whether it has a precondition that only reads may have. */
  readonly hasOtherPrecondition?: boolean
  /** The criteria of a conditional create. */
  readonly ifNoneExist?: readonly QueryPair[] | undefined
  /** Whether the response to a Bundle shows the records that were written: `Prefer: return=representation`. */
  readonly showsWritten: boolean
  /** Whether the content of a Binary is wanted, and not the resource. */
  readonly wantsContent?: boolean
  /** Whether a parameter that is not understood may be left out: `Prefer: handling=lenient`. */
  readonly isLenient: boolean
  /** The base URL of this gateway's raw FHIR; a URL that begins with it is here. */
  readonly fhirBase: string
}

/** More than any known path has; the URL of an entry of a Bundle may have millions. */
const maxSegments = 10

/**
 * The segments of a path below the base, `/Patient/1`: split first, then each decoded once. A path with a character
 * that no segment of FHIR can hold is refused, since the datastore might read it as another path.
 * @throws {Failure} NOT_FOUND
 */
export function parsePathSegments (path: string): readonly string[] {
  if (path === '' || path === '/') return []
  if (!path.startsWith('/')) throw new Failure('NOT_FOUND')
  return path.slice(1).split('/', maxSegments).map(parseSegment)
}

function parseSegment (text: string): string {
  if (text === '') throw new Failure('NOT_FOUND', { message: slashError })
  const segment = tryDecode(text)
  if (segment === undefined || !/^[A-Za-z0-9\-._$*]+$/.test(segment) || segment === '.' || segment === '..') {
    throw new Failure('NOT_FOUND')
  }
  return segment
}

function tryDecode (text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * `_format`, which any request may have, requests a form of the response. There is one form, so the parameter is
 * removed if it requests that form.
 */
const jsonTypes = new Set(['json', 'application/json', 'application/fhir+json'])

/** Whether a value of `_format` means JSON of R4. In a query a plus sign is a space. */
function isJsonFormat (value: string): boolean {
  const [type = '', ...parameters] = value.split(';')
  const versions = parameters.flatMap(text => /^\s*fhirVersion\s*=\s*"?([^"]*)"?\s*$/i.exec(text)?.[1] ?? [])
  return (
    jsonTypes.has(toMediaType(type.trim().replace(' ', '+'))) &&
    versions.every(version => fhirVersions.includes(version))
  )
}

/**
 * The query without the parameters that request the form of the response.
 * @throws {Failure} NOT_ACCEPTABLE for another form than JSON
 */
export function withoutFormat (query: readonly QueryPair[]): readonly QueryPair[] {
  if (query.length === 0) return query
  const requested = query.filter(([name]) => name === '_format')
  if (!requested.every(([, value]) => isJsonFormat(value))) {
    throw new Failure('NOT_ACCEPTABLE', { message: 'Request application/fhir+json.' })
  }
  return query.filter(([name]) => name !== '_format' && name !== '_pretty')
}

/** The criteria in an If-None-Exist header, with or without the text before a question mark. */
export function readCriteria (text: string | undefined): readonly QueryPair[] | undefined {
  return text === undefined ? undefined : parseQuery(text.replace(/^[^?]*\?/, ''))
}

/**
 * @param ignored the names of parameters that do not affect the operation
 * @throws {Failure} BAD_REQUEST when a request that takes no parameters has others: ignoring one could do more than the
 * client meant
 */
export function requireNoParameters ({ query }: FhirRequest, ignored: readonly string[] = []): void {
  if (query.every(([name]) => ignored.includes(name))) return
  throw invalidParameter('query', 'this request takes no parameters')
}

/**
 * The resource in a body, of the type that the URL names.
 * @throws {Failure} BAD_REQUEST
 */
export function requireResource ({ body }: Pick<FhirRequest, 'body'>, type: string): FhirResource {
  if (!isElement(body) || body.resourceType !== type) {
    throw new Failure('BAD_REQUEST', { message: `Send a resource with the resourceType ${type}.` })
  }
  return body as FhirResource
}

/**
 * The time in a parameter such as `_since`.
 * @throws {Failure} BAD_REQUEST
 */
export function readInstant (name: string, text: string | undefined): string | undefined {
  // In a URL a plus sign that is not encoded is a space.
  const instant = text?.replace(/ (?=\d\d:\d\d$)/, '+')
  if (instant !== undefined && !(formats['fhir-instant'](instant) && searchDate.isValid(instant))) {
    throw invalidParameter(name, `expected ${formatDescriptions['fhir-instant']} (no leap second)`)
  }
  return instant
}

/**
 * The version that an If-Match header names; a list has one version, since a datastore takes no more.
 * @throws {Failure} BAD_REQUEST
 */
export function readVersion (header: string | undefined): string | undefined {
  const versions = parseVersions(header, 'If-Match')
  if (versions === undefined || versions === '*') return versions
  if (new Set(versions).size > 1) throw new Failure('BAD_REQUEST', { message: 'If-Match: expected one ETag.' })
  return versions[0]
}
