/** A typed client of the gateway, for Node, browsers and Deno. */
import type { Client as FetchClient } from 'openapi-fetch'
import { BulkClient } from './bulk-client.js'
import { EventClient } from './event-client.js'
import type { paths } from './openapi.js'
import { ResourceClient, type ResourceName } from './resource-client.js'
import { resourcePaths } from './resource-paths.js'
import type { RetryOptions } from './retry.js'
import { connect, createSender } from './send.js'

export type { BulkClient, BulkJob, ExportDraft, WaitOptions } from './bulk-client.js'
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
  /** Exports and imports of any size. */
  readonly bulk: BulkClient
  /** The changes of records. */
  readonly events: EventClient
  /**
   * Any request of the OpenAPI document, with the same key and the same retries; it resolves with the whole envelope,
   * also of a failure.
   */
  readonly http: FetchClient<paths>
}

/** Connects to nothing yet: `const client = createClient({ url, key }); await client.patients.read(id)`. */
export function createClient ({ url, key, ...options }: ClientOptions): ClinigateClient {
  const http = connect<paths>({ url, headers: { 'x-api-key': key }, ...options })
  const send = createSender(http)
  const resources = Object.entries(resourcePaths).map(([name, path]) => [name, new ResourceClient(send, path)])
  return { ...Object.fromEntries(resources), bulk: new BulkClient(send), events: new EventClient(send), http }
}
