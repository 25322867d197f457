import type { Backend, BackendResponse, BackendRequest } from '../../backends/backend.js'
import { Failure } from '../../envelope/failures.js'
import { parseStored, printJson } from '../../json/json.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import type { SearchParameter } from '../../tenant-guard/interaction.js'
import { parseBundle, type BackendBundle } from '../../tenant-guard/reads/backend-bundle.js'
import { isId } from '../../fhir/names.js'
import { encodeParameters, restrict, formatTenantToken, type SearchRequest } from '../../tenant-guard/restrict.js'
import type { Tenant } from '../../tenant-guard/tenant.js'
import { parseLocation } from '../../tenant-guard/writes/stored-resource.js'

/** The dependencies of a test tenant. */
export interface TrialParts {
  readonly backend: Backend
  /** The same server, without the gateway's credentials. */
  readonly anonymous: Backend
  /** System of the tenants' tags. */
  readonly tenantSystem: string
  readonly newId: () => string
  readonly pause: (ms: number) => Promise<unknown>
}

/** A new resource to store. */
export type Draft = FhirResource & { readonly id?: string }

/** One request of a Bundle. */
interface BundleEntry {
  readonly fullUrl?: string
  readonly resource?: Draft
  readonly request: { readonly method: string, readonly url: string, readonly ifMatch?: string }
}

/** The tenants of trials begin with it, which no organization's does. */
const trialPrefix = 'doctor-'

/** Types of which trials store records, those first that refer to others. */
const trialTypes = ['Observation', 'Subscription', 'Basic', 'Patient']

/**
 * A tenant for one examination, with everything that is stored for it. Its records carry a tag of their own next to the
 * tenant's, by which those that an examination had to leave are found by the next one.
 */
export class TestTenant {
  readonly tenant: Tenant
  readonly #parts: TrialParts
  /** `Type/id` of all that may be there. */
  readonly #made = new Set<string>()

  constructor (parts: TrialParts) {
    this.#parts = parts
    this.tenant = { id: `${trialPrefix}${parts.newId()}`, system: parts.tenantSystem }
  }

  get backend (): Backend {
    return this.#parts.backend
  }

  get anonymous (): Backend {
    return this.#parts.anonymous
  }

  /** How many records were stored so far. */
  get stored (): number {
    return this.#made.size
  }

  newId (): string {
    return this.#parts.newId()
  }

  async pause (ms: number): Promise<void> {
    await this.#parts.pause(ms)
  }

  /** The server's response, with any status. @throws {Failure} where there is none that can be read */
  async send (request: BackendRequest): Promise<BackendResponse> {
    return await getResponse(this.backend, request)
  }

  /** Sends a new resource, with the test tenant's tags unless it has tags. */
  async post (resource: Draft, headers: BackendRequest['headers'] = {}): Promise<BackendResponse> {
    const type = resource.resourceType
    const response = await this.send({
      method: 'POST',
      path: type,
      headers: { prefer: 'return=representation', ...headers },
      body: this.#printTagged(resource)
    })
    const id = parseResource(response)?.id ?? parseLocation(response.headers.location, { type })?.id
    if ((response.status === 200 || response.status === 201) && isId(id)) this.#made.add(`${type}/${id}`)
    return response
  }

  async put (
    resource: Draft & { readonly id: string },
    headers: BackendRequest['headers'] = {}
  ): Promise<BackendResponse> {
    const path = `${resource.resourceType}/${resource.id}`
    this.#made.add(path)
    return await this.send({
      method: 'PUT',
      path,
      headers: { prefer: 'return=representation', ...headers },
      body: this.#printTagged(resource)
    })
  }

  /** Sends several writes as one Bundle, and remembers the records that the response reports as stored. */
  async sendBundle (type: 'transaction' | 'batch', entry: readonly BundleEntry[]): Promise<BackendResponse> {
    const bundleResponse = await this.send({
      method: 'POST',
      path: '',
      headers: { prefer: 'return=representation' },
      body: printJson({ resourceType: 'Bundle', type, entry })
    })
    for (const { response } of parseEntries(bundleResponse)) {
      for (const requested of trialTypes) {
        const location = parseLocation(response?.location, { type: requested })
        if (location !== undefined) this.#made.add(`${requested}/${location.id}`)
      }
    }
    return bundleResponse
  }

  /** Stores a record that a check needs. @throws {Error} if the server does not store it */
  async store (resource: Draft): Promise<StoredResource> {
    const response = await this.post(resource)
    const id =
      parseResource(response)?.id ?? parseLocation(response.headers.location, { type: resource.resourceType })?.id
    if (response.status !== 201 || id === undefined) {
      throw new Error(`a test record was not stored (status ${response.status})`)
    }
    return await this.read(resource.resourceType, id)
  }

  /** @throws {Error} if it does not exist */
  async read (type: string, id: string): Promise<StoredResource> {
    const response = await this.send({ method: 'GET', path: `${type}/${id}` })
    const resource = parseResource(response)
    if (response.status !== 200 || resource === undefined) {
      throw new Error(`a test record could not be read (status ${response.status})`)
    }
    return resource
  }

  async isThere (type: string, id: string): Promise<boolean> {
    return (await this.send({ method: 'GET', path: `${type}/${id}` })).status === 200
  }

  /** A search as the gateway sends it for the test tenant; undefined if the response is not a searchset. */
  async search (
    type: string,
    parameters: readonly SearchParameter[] = [],
    page: Partial<Pick<SearchRequest, 'count' | 'total'>> = {}
  ): Promise<BackendBundle | undefined> {
    const request = restrict({ type, parameters, count: 50, ...page }, this.tenant)
    return parseSearchset(await this.send({ ...request, headers: { 'cache-control': 'no-cache' } }))
  }

  /** Adds the test tenant's tags to a resource. */
  withTags<R extends Draft>(resource: R): R {
    const tag = resource.meta?.tag ?? [{ system: this.tenant.system, code: this.tenant.id }]
    return {
      ...resource,
      meta: { ...resource.meta, tag: [...tag, { system: toTestTagSystem(this.tenant), code: trialCode }] }
    }
  }

  /**
   * Deletes all records of this run, and those that earlier runs had to leave.
   * @returns `Type/id` of records that could not be deleted
   */
  async clean (): Promise<readonly string[]> {
    for (const record of await this.#findLeftovers()) this.#made.add(record)
    const left = new Set(this.#made)
    for (let pass = 1; pass <= 3 && left.size > 0; pass++) {
      // Records that refer to others were stored after them.
      for (const record of [...left].reverse()) if (await this.#isDeleted(record)) left.delete(record)
    }
    return [...left]
  }

  async #isDeleted (record: string): Promise<boolean> {
    try {
      await this.send({ method: 'DELETE', path: record })
      return [404, 410].includes((await this.send({ method: 'GET', path: record })).status)
    } catch {
      return false
    }
  }

  /** Each match is checked: a server that ignores the condition would return records of any tenant. */
  async #findLeftovers (): Promise<string[]> {
    const condition = encodeParameters([
      ['_tag', formatTenantToken({ system: toTestTagSystem(this.tenant), id: trialCode })],
      ['_count', '200']
    ])
    const found: string[] = []
    for (const type of [...trialTypes].reverse()) {
      const matches =
        parseSearchset(
          await this.send({
            method: 'GET',
            path: `${type}?${condition}`,
            headers: { 'cache-control': 'no-cache' }
          }).catch(() => undefined)
        )?.matches ?? []
      for (const match of matches as StoredResource[]) {
        if (match.resourceType === type && isId(match.id) && isOfTrial(match, this.tenant)) {
          found.push(`${type}/${match.id}`)
        }
      }
    }
    return found
  }

  #printTagged (resource: Draft): string {
    return printJson(this.withTags(resource))
  }
}

const toTestTagSystem = ({ system }: Tenant): string => `${system}:doctor`
const trialCode = 'trial'

function isOfTrial ({ meta }: StoredResource, tenant: Tenant): boolean {
  return (meta.tag ?? []).some(({ system, code }) => system === toTestTagSystem(tenant) && code === trialCode)
}

/** A response of any status; those that `send` treats as errors have no body. */
export async function getResponse (backend: Backend, request: BackendRequest): Promise<BackendResponse> {
  try {
    return await backend.send(request)
  } catch (error) {
    const { status, reason } = ((error as Failure).cause ?? {}) as { status?: number, reason?: string }
    if (!(error instanceof Failure) || status === undefined || status < 300) throw error
    return { status, headers: {}, body: '', ...reason !== undefined && { reason } }
  }
}

/** The resource in a response; undefined if it contains none, or an OperationOutcome. */
export function parseResource (response: BackendResponse): StoredResource | undefined {
  const value = parseJsonBody(response) as StoredResource | undefined
  return value === undefined || typeof value.resourceType !== 'string' || value.resourceType === 'OperationOutcome'
    ? undefined
    : value
}

/** The searchset in a response. */
export function parseSearchset (response: BackendResponse | undefined): BackendBundle | undefined {
  return response?.status === 200 ? parseBundle(parseJsonBody(response)) : undefined
}

/** The entries of a Bundle in a response. */
export function parseEntries (
  response: BackendResponse
): ReadonlyArray<{
  readonly resource?: StoredResource
  readonly response?: { readonly status?: unknown; readonly location?: unknown }
}> {
  const { entry } = (parseJsonBody(response) ?? {}) as { entry?: unknown }
  return response.status === 200 && Array.isArray(entry) ? entry : []
}

/** The JSON of a response; undefined where it is none. */
export function parseJsonBody ({ body }: BackendResponse): object | undefined {
  try {
    const value: unknown = parseStored(body)
    return value !== null && typeof value === 'object' ? value : undefined
  } catch {
    return undefined
  }
}

/** The ids of the matches of a search. */
export const getMatchIds = (found: BackendBundle | undefined): string[] =>
  ((found?.matches ?? []) as StoredResource[]).map(({ id }) => id)
