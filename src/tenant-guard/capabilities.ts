import type { Backend, BackendAnswer } from '../backends/backend.js'
import { jsonOf, unexpected } from './door.js'
import type { Send } from './patience.js'

/** What a datastore says that it can do: http://hl7.org/fhir/R4/capabilitystatement.html */
export interface Capabilities {
  /** `HAPI FHIR Server 8.8.0` */
  readonly software?: string
  readonly fhirVersion?: string
  /** Every resource type that it serves, in the order of the alphabet. */
  readonly types: readonly string[]
  /** Whether it exports records itself: http://hl7.org/fhir/uv/bulkdata/ */
  readonly hasExport: boolean
  /** The operations that it lists: `Patient/everything` on a type, `export` on all. */
  readonly operations: ReadonlySet<string>
  /** Whether a conditional delete takes several records. */
  readonly deletesMany: boolean
}

/** Reads an answer; undefined where it holds no CapabilityStatement. */
export function capabilitiesIn (answer: BackendAnswer): Capabilities | undefined {
  if (answer.status !== 200) return undefined
  const { resourceType, rest, fhirVersion, software } = (jsonOf(answer) ?? {}) as Record<string, unknown>
  if (resourceType !== 'CapabilityStatement' || !Array.isArray(rest)) return undefined
  const resources = rest.flatMap(({ resource }) => Array.isArray(resource) ? resource : []) as ReadonlyArray<Readonly<Record<string, unknown>>>
  const named = softwareName(software)
  const operations = new Set([...rest.flatMap(namesOf), ...resources.flatMap(resource => namesOf(resource).map(name => `${resource.type}/${name}`))])
  return {
    ...named !== undefined && { software: named },
    ...typeof fhirVersion === 'string' && { fhirVersion },
    types: [...new Set(resources.map(({ type }) => String(type)))].sort(),
    hasExport: operations.has('export'),
    operations,
    deletesMany: resources.some(({ conditionalDelete }) => conditionalDelete === 'multiple')
  }
}

/** The names of the operations there, which some servers write with their dollar. */
function namesOf ({ operation }: { readonly operation?: unknown }): string[] {
  return Array.isArray(operation) ? operation.map(({ name }) => String(name).replace(/^\$/, '')) : []
}

function softwareName (software: unknown): string | undefined {
  const { name, version } = Object(software) as { name?: unknown, version?: unknown }
  const parts = [name, version].filter(part => typeof part === 'string' && /^[\w .+()/-]{1,60}$/.test(part))
  return parts.length === 0 ? undefined : parts.join(' ')
}

/** Asks a datastore what it can do. @throws {Failure} when it does not say it */
export async function askCapabilities (send: Send): Promise<Capabilities> {
  const answer = await send({ method: 'GET', path: 'metadata' })
  const capabilities = capabilitiesIn(answer)
  if (capabilities === undefined) throw unexpected(answer, 'the datastore shows no CapabilityStatement')
  return capabilities
}

const known = new WeakMap<Backend['upstream'], { readonly asked: Promise<Capabilities>, readonly atMs: number }>()

/** A server that was changed is noticed after so long. */
const knownForMs = 600_000

/**
 * What a datastore can do, asked for when it is first needed and again after ten minutes: HAPI takes a third of a second to
 * say it. Those who want it at the same time ask once; that it was not said is forgotten at once.
 * @param send by which it is asked
 */
export async function capabilitiesOf (backend: Backend, send: Send = request => backend.send(request)): Promise<Capabilities> {
  const { upstream } = backend
  const before = known.get(upstream)
  const nowMs = performance.now()
  if (before !== undefined && nowMs - before.atMs < knownForMs) return await before.asked
  const asked = askCapabilities(send)
  known.set(upstream, { asked, atMs: nowMs })
  asked.catch(() => { if (known.get(upstream)?.asked === asked) known.delete(upstream) })
  return await asked
}
