import { parseStored, printJson } from '../json/json.js'
import type { FhirResource, Meta, StoredResource } from '../mappings/fhir.js'
import type { ServerBehaviour } from './server-behaviour.js'
import type { Version } from './store.js'

/** What the server says of a version, whatever the client said. */
interface Stamp { readonly id: string, readonly version: number, readonly at: string }

/** The resource under its own id, version and time. */
export function stamped (resource: FhirResource, { id, version, at }: Stamp): StoredResource {
  const { resourceType, id: _, meta, ...rest } = resource
  return { resourceType, id, meta: { ...meta, versionId: String(version), lastUpdated: at }, ...rest }
}

/** The next version of a resource; none when it would say what the current one says. */
export function nextVersion (
  resource: FhirResource,
  current: Version,
  { at, labels }: { readonly at: string; readonly labels: ServerBehaviour['labels'] }
): StoredResource | undefined {
  const before = parseStored(current.text) as StoredResource
  const after = labels === 'kept' ? withStoredTags(resource, before) : resource
  const same = stamped(after, {
    id: current.id,
    version: Number(before.meta.versionId),
    at: String(before.meta.lastUpdated)
  })
  if (current.method !== 'DELETE' && printJson(same) === current.text) return undefined
  return stamped(after, { id: current.id, version: current.version + 1, at })
}

/** Tags and security labels are only ever added by an update, also by one that brings a deleted resource back. */
function withStoredTags (resource: FhirResource, before: StoredResource): FhirResource {
  const tags = (['security', 'tag'] as const).map(
    name => [name, union(before.meta[name], resource.meta?.[name])] as const
  )
  return {
    ...resource,
    meta: { ...resource.meta, ...Object.fromEntries(tags.filter(([, codings]) => codings.length > 0)) }
  }
}

type Codings = NonNullable<Meta['tag']>

function union (before: unknown, after: unknown): Codings {
  const codings = [before, after].filter(list => Array.isArray(list)).flat() as Codings
  return [...new Map(codings.map(coding => [JSON.stringify([coding.system, coding.code]), coding])).values()]
}
