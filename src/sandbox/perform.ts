import { parseStored, printJson } from '../json/json.js'
import type { FhirResource, StoredResource, Meta } from '../mappings/fhir.js'
import { projected, search } from './search.js'
import type { Interaction, Sandbox } from './interaction.js'
import { outcome, FhirError } from './outcome.js'
import { parseNonNegativeInt, pageLinks, pageToken } from './paging.js'
import type { Version } from './store.js'
import type { ServerBehaviour } from './server-behaviour.js'
import { parametersOf, resourceTypes } from './search-parameters.js'

/** A response. `version` is the stored one that it shows, if any. */
export interface SandboxResponse {
  readonly status: number
  /** FHIR JSON; empty where there is nothing to say. */
  readonly text: string
  readonly version?: Version
}

type Of<Kind extends Interaction['kind']> = Extract<Interaction, { kind: Kind }>

/**
 * Performs a request. Writes belong inside a transaction of the store.
 * @throws {FhirError}
 */
export function perform (sandbox: Sandbox, interaction: Interaction): SandboxResponse {
  switch (interaction.kind) {
    case 'metadata': return { status: 200, text: printJson(capabilityStatement(sandbox)) }
    case 'search': return { status: 200, text: printJson(search(sandbox, interaction.type, interaction.query)) }
    case 'read': return read(sandbox, interaction)
    case 'vread': return vread(sandbox, interaction)
    case 'history': return history(sandbox, interaction)
    case 'create': return create(sandbox, interaction)
    case 'exists': return shown(200, interaction.version)
    case 'update': return update(sandbox, interaction)
    case 'delete': return remove(sandbox, interaction)
    case 'none': return nothingDeleted(sandbox)
  }
}

function shown (status: number, version: Version): SandboxResponse {
  return { status, text: version.text, version }
}

function read ({ store, manners }: Sandbox, { type, id, query }: Of<'read'>): SandboxResponse {
  const reply = shown(200, living(store.current(type, id)))
  const { _elements: elements, _summary: summary } = Object.fromEntries(
    query.filter(([name]) => !manners.ignoredParameters.includes(name))
  )
  if (elements === undefined && summary === undefined) return reply
  return {
    ...reply,
    text: printJson(projected(parseStored(reply.text) as StoredResource, { elements: elements?.split(','), summary }))
  }
}

function vread ({ store }: Sandbox, { type, id, version }: Of<'vread'>): SandboxResponse {
  return shown(200, living(store.version(type, id, version)))
}

function living (version: Version | undefined): Version {
  if (!version) throw new FhirError(404, 'not-found', 'there is no such resource')
  if (version.method === 'DELETE') throw new FhirError(410, 'deleted', 'the resource was deleted')
  return version
}

function history ({ store, baseUrl, manners }: Sandbox, { type, id, query }: Of<'history'>): SandboxResponse {
  const versions = store.history(type, id)
  if (versions.length === 0) throw new FhirError(404, 'not-found', 'there is no such resource')
  const requested = new Map(query)
  const [count, offset] = [parseNonNegativeInt(requested.get('_count') ?? '20'), pageToken(requested, manners.pages)]
  const url = `${baseUrl}/${type}/${id}`
  const bundle = {
    resourceType: 'Bundle',
    type: 'history',
    total: versions.length,
    link: pageLinks(`${url}/_history`, query, { count, offset, total: versions.length, pages: manners.pages }),
    entry: versions.slice(offset, offset + count).map(version => historyEntry(url, version))
  }
  return { status: 200, text: printJson(bundle) }
}

function historyEntry (url: string, { type, id, version, method, at, text }: Version): unknown {
  return {
    fullUrl: url,
    ...(method !== 'DELETE' && { resource: parseStored(text) }),
    request: { method, url: method === 'POST' ? type : `${type}/${id}` },
    response: { status: version === 1 ? '201 Created' : '200 OK', lastModified: at, etag: `W/"${version}"` }
  }
}

function create ({ store, now }: Sandbox, { id, resource }: Of<'create'>): SandboxResponse {
  return shown(201, store.write(stamped(resource, { id, version: 1, at: now().toISOString() }), 'POST'))
}

function update ({ store, now, manners }: Sandbox, { type, id, resource, ifMatch }: Of<'update'>): SandboxResponse {
  const current = store.current(type, id)
  checkVersion(current, ifMatch)
  const at = now().toISOString()
  if (!current) return shown(201, store.write(stamped(resource, { id: chosen(id), version: 1, at }), 'PUT'))
  const next = nextVersion(resource, current, { at, labels: manners.labels })
  return next ? shown(current.method === 'DELETE' ? 201 : 200, store.write(next, 'PUT')) : shown(200, current)
}

/** An id that a client gives a new resource; numbers are for servers. */
function chosen (id: string): string {
  if (/^\d+$/.test(id)) throw new FhirError(400, 'processing', 'an id that a client chooses must not be a number')
  return id
}

function remove (sandbox: Sandbox, { type, id, ifMatch }: Of<'delete'>): SandboxResponse {
  const { store, now } = sandbox
  const current = store.current(type, id)
  checkVersion(current, ifMatch)
  if (!current || current.method === 'DELETE') return nothingDeleted(sandbox)
  store.remove(current, now().toISOString())
  return deleted(sandbox, outcome('information', 'informational', 'deleted'))
}

function nothingDeleted (sandbox: Sandbox): SandboxResponse {
  return deleted(sandbox, outcome('warning', 'not-found', 'there was nothing to delete'))
}

function deleted ({ manners }: Sandbox, text: FhirResource): SandboxResponse {
  return manners.deletes === 'silent' ? { status: 204, text: '' } : { status: 200, text: printJson(text) }
}

function checkVersion (current: Version | undefined, ifMatch: string | undefined): void {
  if (ifMatch === undefined) return
  const requested = /^(?:W\/)?"(\d+)"$/.exec(ifMatch)?.[1]
  if (!current || current.method === 'DELETE' || requested !== String(current.version)) {
    throw new FhirError(412, 'conflict', 'If-Match names another version than the newest')
  }
}

/** What the server says of a version, whatever the client said. */
interface Stamp { readonly id: string, readonly version: number, readonly at: string }

/** The resource under its own id, version and time. */
function stamped (resource: FhirResource, { id, version, at }: Stamp): StoredResource {
  const { resourceType, id: _, meta, ...rest } = resource
  return { resourceType, id, meta: { ...meta, versionId: String(version), lastUpdated: at }, ...rest }
}

/** The next version of a resource; none when it would say what the current one says. */
function nextVersion (
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

const interactions = ['read', 'vread', 'update', 'delete', 'history-instance', 'create', 'search-type']
const writes: ReadonlySet<string> = new Set(['update', 'delete', 'create'])

/** What the sandbox can do, as R4 states it. */
function capabilityStatement (
  { baseUrl, now, manners }: Pick<Sandbox, 'baseUrl' | 'now' | 'manners'>
): FhirResource {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: now().toISOString(),
    kind: 'instance',
    software: { name: 'clinigate sandbox' },
    implementation: { description: 'A small FHIR server for demos and tests', url: baseUrl },
    fhirVersion: '4.0.1',
    format: ['application/fhir+json', 'json'],
    rest: [
      {
        mode: 'server',
        resource: [...resourceTypes]
          .filter(type => !manners.unstatedTypes.includes(type))
          .map(type => describeType(type, manners)),
        interaction: [{ code: 'transaction' }, { code: 'batch' }]
      }
    ]
  }
}

function describeType (type: string, { missingParameters, readOnlyTypes }: ServerBehaviour): unknown {
  const isReadOnly = readOnlyTypes.includes(type)
  return {
    type,
    interaction: interactions.filter(code => !isReadOnly || !writes.has(code)).map(code => ({ code })),
    versioning: 'versioned-update',
    updateCreate: true,
    conditionalCreate: true,
    conditionalUpdate: true,
    conditionalDelete: 'single',
    searchParam: [...parametersOf(type).values()]
      .filter(({ name }) => !missingParameters.includes(`${type}.${name}`))
      .map(({ name, kind }) => ({ name, type: kind }))
  }
}
