import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { toClinigateError } from './errors.js'
import { withRetry, type RetryOptions } from './retry.js'

/** The values of a search; several of one filter mean any of them. */
export type Query = Readonly<Record<string, QueryValue | readonly QueryValue[] | undefined>>

type QueryValue = string | number | boolean

/**
 * Writes a query as the gateway reads it: several values joined by commas, a comma within one escaped.
 * @throws {TypeError} for an empty list, which would otherwise be left out and so match everything
 */
function printQuery (query: Query): string {
  return Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .flatMap(([name, value]) =>
      printValues(name, value!).map(text => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`)
    )
    .join('&')
}

function printValues (name: string, value: QueryValue | readonly QueryValue[]): string[] {
  if (!isList(value)) return [String(value)]
  if (value.length === 0) {
    throw new TypeError(`${name}: an empty list matches nothing; leave the filter out, or do not search`)
  }
  // FHIR's own parameters stand as often as they have values.
  return name.startsWith('_') ? value.map(String) : [value.map(item => String(item).replaceAll(',', '\\,')).join(',')]
}

const isList = (value: unknown): value is readonly QueryValue[] => Array.isArray(value)

/** Where a server is, and how its requests are sent. */
export interface ConnectionOptions {
  readonly url: string
  /** With every request. */
  readonly headers: Readonly<Record<string, string>>
  readonly retry?: RetryOptions | undefined
  /** In place of the platform's own. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

/** The typed layer: requests of a document, each sent until its response is final. */
export function connect<Paths extends {}> (
  { url, headers, retry, fetch = globalThis.fetch }: ConnectionOptions
): FetchClient<Paths> {
  return createFetchClient<Paths>({
    baseUrl: url,
    headers,
    fetch: withRetry(fetch, retry),
    querySerializer: query => printQuery(query as Query),
    // A redirect would send the headers on to its target.
    redirect: 'error'
  })
}

/** One request of the thin layer; `path` is one of the document's, with `{name}` for ids. */
interface DocumentRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: Query
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** Resolves with the `data` of the response. */
export type Send = <T>(sent: DocumentRequest) => Promise<T>

/**
 * The transport of the thin layer over the typed one: responses are unwrapped, and every failure is a ClinigateError.
 */
export function createSender<Paths extends {}> (http: FetchClient<Paths>): Send {
  // Which path it is, and so what it takes, only the resource knows.
  const request = http.request as unknown as (
    method: string,
    path: string,
    init: object
  ) => Promise<{ data?: string; error?: unknown; response: Response }>
  return async <T>({ method, path, ids = {}, query = {}, headers = {}, body, signal }: DocumentRequest): Promise<T> => {
    Object.values(ids).forEach(requireId)
    const { data: text, error, response } = await request(method, path, {
      params: { path: ids, query },
      headers,
      parseAs: 'text',
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal })
    })
    const envelope = parseEnvelope(text)
    if (response.ok && envelope !== undefined) return envelope.data as T
    throw toClinigateError(response, error)
  }
}

/** Undefined for what no gateway sends. */
function parseEnvelope (text: string | undefined): { readonly data: unknown } | undefined {
  try {
    const envelope: unknown = JSON.parse(text ?? '')
    return typeof envelope === 'object' && envelope !== null && 'data' in envelope ? envelope : undefined
  } catch {
    return undefined
  }
}

/** A path cannot say these: it would be that of another thing. */
function requireId (id: string): void {
  if (id === '' || id === '.' || id === '..') throw new TypeError('expected the id of a record')
}
