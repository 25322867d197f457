/** A typed client of the gateway, for Node, browsers and Deno. */
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import { EventClient } from './event-client.js'
import type { paths } from './openapi.js'
import { printQuery, type Query } from './query.js'
import { ResourceClient, type ResourceName } from './resource-client.js'
import { resourcePaths } from './resource-paths.js'
import { withRetry, type RetryOptions } from './retry.js'
import { createSender } from './send.js'

export { ClinigateError, type ErrorCode, type Issue, type Referrers } from './errors.js'
export type { ChangeEvent, EventClient, EventPage, FollowOptions } from './event-client.js'
export type * from './openapi.js'
export type {
  UpdateOf as ChangesOf,
  CreateOf,
  IncludeOf,
  Page,
  ReadOptions,
  RecordOf,
  RequestOptions,
  ResourceName,
  SearchOf,
  VersionOptions,
  WithIncludes as WithIncluded,
  WriteOptions
} from './resource-client.js'
export type { ResourceClient } from './resource-client.js'
export type { RetryOptions } from './retry.js'

export interface ClientOptions {
  /** Where the gateway is, before `/v1`. */
  readonly url: string
  /** A secret key, `svc_test_…` or `svc_live_…`. */
  readonly key: string
  /** When a request is sent again; by default up to three times. */
  readonly retry?: RetryOptions
  /** In place of the platform's own. */
  readonly fetch?: typeof globalThis.fetch
}

type AppendOnly = {
  [N in ResourceName]: paths[`${(typeof resourcePaths)[N]}/{id}`] extends { patch?: never } ? N : never
}[ResourceName]

/** The requests of each resource that is only ever added to, and those of the others. */
export type ClinigateClient = {
  readonly [N in ResourceName]: N extends AppendOnly ? Omit<ResourceClient<N>, 'update' | 'delete'> : ResourceClient<N>
} & {
  /** The changes of records. */
  readonly events: EventClient
  /**
   * Any request of the OpenAPI document, with the same key and the same retries; it resolves with the whole envelope,
   * also of a failure.
   */
  readonly http: FetchClient<paths>
}

/** Connects to nothing yet: `const client = createClient({ url, key }); await client.patients.read(id)`. */
export function createClient ({ url, key, retry, fetch = globalThis.fetch }: ClientOptions): ClinigateClient {
  const http = createFetchClient<paths>({
    baseUrl: url,
    headers: { 'x-api-key': key },
    fetch: withRetry(fetch, retry),
    querySerializer: query => printQuery(query as Query),
    // The key would go along to wherever an answer leads.
    redirect: 'error'
  })
  const send = createSender(http)
  const resources = Object.entries(resourcePaths).map(([name, path]) => [name, new ResourceClient(send, path)])
  return { ...Object.fromEntries(resources), events: new EventClient(send), http }
}
