import type { components, paths } from './openapi.js'
import type { Query, Send } from './send.js'
import type { resourcePaths } from './resource-paths.js'

/** The names of the resources: `patients`, `practitionerRoles`. */
export type ResourceName = keyof typeof resourcePaths

type PathOf<N extends ResourceName> = typeof resourcePaths[N]
type Group<N extends ResourceName> = paths[PathOf<N>]
type One<N extends ResourceName> = `${PathOf<N>}/{id}` extends keyof paths ? paths[`${PathOf<N>}/{id}`] : never

interface Json<T> { readonly content: { readonly 'application/json': T } }
interface DataResponse<T> { readonly responses: { readonly 200: Json<{ readonly data: T }> } }
interface Searching<Q> { readonly parameters: { readonly query?: Q } }

/** A record as the gateway shows it. */
export type RecordOf<N extends ResourceName> = Group<N>['post'] extends { responses: { 201: Json<{ data: infer T }> } }
  ? T
  : never
/** The body that creates a record. */
export type CreateOf<N extends ResourceName> = Group<N>['post'] extends { requestBody: Json<infer T> } ? T : never
/** A merge (RFC 7396) on a record, or a JSON Patch (RFC 6902) on its simple form. */
export type UpdateOf<N extends ResourceName> = One<N> extends { patch: { requestBody: Json<infer T> } } ? T : never

/** One value or several where a filter takes several. */
type Loose<Q> = { readonly [K in keyof Q]: Q[K] extends ReadonlyArray<infer I> | undefined ? I | readonly I[] : Q[K] }
/** The filters of a search, its order and the size of its pages. */
export type SearchOf<N extends ResourceName> =
  Group<N>['get'] extends Searching<infer Q> ? Loose<NonNullable<Q>> : never

type ReadResponse<N extends ResourceName> =
  One<N> extends { get: DataResponse<infer T> } ? Exclude<T, components['schemas']['Bundle']> : never
type ReadQuery<N extends ResourceName> = One<N> extends { get: Searching<infer Q> } ? NonNullable<Q> : never
/** The resources whose records can come along with one. */
export type IncludeOf<N extends ResourceName> =
  ReadQuery<N> extends { include?: Array<infer I> } ? I & keyof ReadResponse<N> & string : never
/** A record with the requested lists; `incomplete` names those that do not hold everything. */
export type WithIncludes<N extends ResourceName, I extends IncludeOf<N>> = [I] extends [never]
  ? RecordOf<N>
  : RecordOf<N> & Required<Pick<ReadResponse<N>, I>> & { incomplete?: string[] }

/** The records of a search that fit on one page. */
export interface Page<T> {
  readonly data: readonly T[]
  /** All matches of the search, where the datastore counts them. */
  readonly total?: number
  /** For the next page; absent on the last. */
  readonly cursor?: string
  readonly hasMore: boolean
}

/** The options of every request. */
export interface RequestOptions { readonly signal?: AbortSignal | undefined }

export interface ReadOptions<I> extends RequestOptions {
  /** Resources that refer to the record, each added to it as a list of this name. */
  readonly include?: readonly I[]
}

export interface WriteOptions extends RequestOptions {
  /** A key of your own, for a request that may be sent again later; absent, each request has a new one. */
  readonly idempotencyKey?: string | undefined
}

export interface VersionOptions extends RequestOptions {
  /**
   * The version that is meant, as `versionId` or ETag; when another one is stored, the request fails with
   * PRECONDITION_FAILED.
   */
  readonly ifMatch?: string | undefined
}

/** The requests on the records of one resource. Each rejects with a ClinigateError, or with the signal's reason. */
export class ResourceClient<N extends ResourceName> {
  readonly #send: Send
  readonly #path: string

  constructor (send: Send, path: string) {
    this.#send = send
    this.#path = path
  }

  /** Stores a new record, once, however often the request must be sent. */
  create (
    record: CreateOf<N>,
    { signal, idempotencyKey = crypto.randomUUID() }: WriteOptions = {}
  ): Promise<RecordOf<N>> {
    return this.#send({
      method: 'POST',
      path: this.#path,
      body: record,
      headers: { 'idempotency-key': idempotencyKey },
      signal
    })
  }

  /** One record, and the records that refer to it if `include` requests them. */
  read<const I extends IncludeOf<N> = never>(
    id: string,
    { signal, include }: ReadOptions<I> = {}
  ): Promise<WithIncludes<N, I>> {
    return this.#send({ method: 'GET', path: `${this.#path}/{id}`, ids: { id }, query: { include }, signal })
  }

  /** One page of the records that match all filters. */
  search (query: SearchOf<N> = {} as SearchOf<N>, { signal }: RequestOptions = {}): Promise<Page<RecordOf<N>>> {
    return this.#send({ method: 'GET', path: this.#path, query: query as Query, signal })
  }

  /**
   * All records that match; each page is requested when it is needed:
   * `for await (const patient of client.patients.all())`.
   */
  async * all (
    query: SearchOf<N> = {} as SearchOf<N>,
    options: RequestOptions = {}
  ): AsyncGenerator<RecordOf<N>, void, undefined> {
    let cursor: string | undefined
    do {
      const page: Page<RecordOf<N>> = await this.search(
        { count: 100, ...query, ...(cursor !== undefined && { cursor }) },
        options
      )
      yield * page.data
      cursor = page.cursor
    } while (cursor !== undefined)
  }

  /**
   * Changes the fields that are named, and resolves with the whole changed record; what the simple form does not show
   * stays.
   */
  update (
    id: string,
    changes: UpdateOf<N>,
    { signal, ifMatch, idempotencyKey = crypto.randomUUID() }: WriteOptions & VersionOptions = {}
  ): Promise<RecordOf<N>> {
    const headers = { 'idempotency-key': idempotencyKey, ...toIfMatchHeader(ifMatch) }
    return this.#send({ method: 'PATCH', path: `${this.#path}/{id}`, ids: { id }, body: changes, headers, signal })
  }

  /** Deletes a record. After a failure without a response the outcome is unknown, and the delete is not retried. */
  async delete (id: string, { signal, ifMatch }: VersionOptions = {}): Promise<void> {
    await this.#send({
      method: 'DELETE',
      path: `${this.#path}/{id}`,
      ids: { id },
      headers: toIfMatchHeader(ifMatch),
      signal
    })
  }
}

function toIfMatchHeader (version: string | undefined): Readonly<Record<string, string>> {
  if (version === undefined) return {}
  return { 'if-match': /^\*$|"$/.test(version) ? version : `W/"${version}"` }
}
