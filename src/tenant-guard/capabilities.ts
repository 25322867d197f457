import type { Backend, BackendResponse } from '../backends/backend.js'
import { parseJson, unexpectedResponse } from './tenant-context.js'
import type { Send } from './retry.js'

/** The capabilities that a datastore states: http://hl7.org/fhir/R4/capabilitystatement.html */
export interface Capabilities {
  /** `HAPI FHIR Server 8.8.0` */
  readonly software?: string
  readonly fhirVersion?: string
  /** Every resource type that it serves, in alphabetical order. */
  readonly types: readonly string[]
  /** Whether it exports records itself: http://hl7.org/fhir/uv/bulkdata/ */
  readonly hasExport: boolean
  /** The operations that it lists: `Patient/everything` on a type, `export` on all. */
  readonly operations: ReadonlySet<string>
  /** The stated capabilities of each type; they may be empty. */
  readonly resources: ReadonlyMap<string, ResourceCapabilities>
  /** Whether a conditional delete takes several records. */
  readonly deletesMany: boolean
}

/** The interactions and search parameters that a server lists of a type. */
interface ResourceCapabilities {
  readonly interactions: ReadonlySet<string>
  readonly searchParameters: ReadonlySet<string>
}

/** The capabilities of the datastores behind the gateway, as far as they are known. */
export interface Offered {
  readonly hasType: (type: string) => boolean
  /** Whether they have an operation, such as `everything` on the type `Patient`. */
  readonly hasOperation: (type: string, name: string) => boolean
  /** Whether they have a search parameter of a type. */
  readonly hasParameter: (type: string, name: string) => boolean
}

/** Reads a response; undefined if it is no CapabilityStatement. */
export function parseCapabilities (response: BackendResponse): Capabilities | undefined {
  if (response.status !== 200) return undefined
  const { resourceType, rest, fhirVersion, software } = (parseJson(response) ?? {}) as Record<string, unknown>
  if (resourceType !== 'CapabilityStatement' || !Array.isArray(rest)) return undefined
  const resources = rest.flatMap(({ resource }) => (Array.isArray(resource) ? resource : [])) as ReadonlyArray<
    Readonly<Record<string, unknown>>
  >
  const named = formatSoftwareName(software)
  const operations = new Set([
    ...rest.flatMap(getOperationNames),
    ...resources.flatMap(resource => getOperationNames(resource).map(name => `${resource.type}/${name}`))
  ])
  return {
    ...named !== undefined && { software: named },
    ...typeof fhirVersion === 'string' && { fhirVersion },
    types: [...new Set(resources.map(({ type }) => String(type)))].sort(),
    hasExport: operations.has('export'),
    operations,
    resources: new Map(
      resources.map(({ type, interaction, searchParam }) => [
        String(type),
        { interactions: collectMembers(interaction, 'code'), searchParameters: collectMembers(searchParam, 'name') }
      ])
    ),
    deletesMany: resources.some(({ conditionalDelete }) => conditionalDelete === 'multiple')
  }
}

const collectMembers = (list: unknown, member: string): ReadonlySet<string> =>
  new Set(Array.isArray(list) ? list.map(item => String((item as Record<string, unknown> | null)?.[member])) : [])

/** The names of the listed operations; some servers write them with the dollar sign. */
function getOperationNames ({ operation }: { readonly operation?: unknown }): string[] {
  return Array.isArray(operation) ? operation.map(({ name }) => String(name).replace(/^\$/, '')) : []
}

function formatSoftwareName (software: unknown): string | undefined {
  const { name, version } = Object(software) as { name?: unknown, version?: unknown }
  const parts = [name, version].filter(part => typeof part === 'string' && /^[\w .+()/-]{1,60}$/.test(part))
  return parts.length === 0 ? undefined : parts.join(' ')
}

/** Fetches the CapabilityStatement of a datastore. @throws {Failure} if the response is none */
export async function fetchCapabilities (send: Send): Promise<Capabilities> {
  const response = await send({ method: 'GET', path: 'metadata' })
  const capabilities = parseCapabilities(response)
  if (capabilities === undefined) throw unexpectedResponse(response, 'the datastore shows no CapabilityStatement')
  return capabilities
}

/**
 * Whether a server has a search parameter, by its statement. One that states none for a type is taken to have all, and
 * so it is with those that begin with `_`, which many servers have and do not state.
 */
export function hasSearchParameter ({ resources }: Capabilities, type: string, name: string): boolean {
  const stated = resources.get(type)?.searchParameters
  return name.startsWith('_') || stated === undefined || stated.size === 0 || stated.has(name)
}

/** The capabilities that are assumed while none are known. */
export const offersAll: Offered = { hasType: () => true, hasOperation: () => true, hasParameter: () => true }

interface CacheEntry {
  readonly requested: Promise<Capabilities>
  readonly atMs: number
  stated?: Capabilities
}

const known = new WeakMap<object, CacheEntry>()

/** The capabilities that a datastore stated last; undefined until they are known. Sends no request. */
export function findKnownCapabilities (
  { upstream: { identity } }: Pick<Backend, 'upstream'>
): Capabilities | undefined {
  return known.get(identity)?.stated
}

/** A change of the server is noticed after this time. */
const knownForMs = 600_000

/**
 * The capabilities of a datastore, requested when first needed and again after ten minutes, because HAPI takes a third
 * of a second to respond. Concurrent callers share one request; a failure is not remembered.
 * @param send sends the request
 */
export async function getCapabilities (
  backend: Backend,
  send: Send = request => backend.send(request)
): Promise<Capabilities> {
  const { identity } = backend.upstream
  const before = known.get(identity)
  const nowMs = performance.now()
  if (before !== undefined && nowMs - before.atMs < knownForMs) {
    const stated = await before.requested.catch(() => undefined)
    // Another caller's request can fail because that caller was cancelled.
    if (stated !== undefined) return stated
  }
  const requested = fetchCapabilities(send)
  const entry: CacheEntry = { requested, atMs: nowMs, ...before?.stated !== undefined && { stated: before.stated } }
  known.set(identity, entry)
  requested.then(
    stated => {
      entry.stated = stated
    },
    () => {
      if (known.get(identity) === entry) known.delete(identity)
    }
  )
  return await requested
}
