import { parseStored, printJson } from '../json/json.js'
import type { FhirResource, StoredResource, Meta } from '../mappings/fhir.js'
import { applyProjection, search } from './search.js'
import type { Interaction, Sandbox } from './interaction.js'
import { buildOutcome, FhirError } from './outcome.js'
import { parseNonNegativeInt, buildPageLinks, getPageOffset } from './paging.js'
import type { Version } from './store.js'
import type { ServerBehaviour } from './server-behaviour.js'
import { getSearchParameters, resourceTypes } from './search-parameters.js'

/** A response. `version` is the stored one that it shows, if any. */
export interface SandboxResponse {
  readonly status: number
  /** FHIR JSON; empty where there is nothing to say. */
  readonly text: string
  readonly version?: Version
}

type InteractionOf<Kind extends Interaction['kind']> = Extract<Interaction, { kind: Kind }>

/**
 * Performs a request. Writes belong inside a transaction of the store.
 * @throws {FhirError}
 */
export function perform (sandbox: Sandbox, interaction: Interaction): SandboxResponse {
  switch (interaction.kind) {
    case 'metadata': return { status: 200, text: printJson(buildCapabilityStatement(sandbox)) }
    case 'search': return { status: 200, text: printJson(search(sandbox, interaction.type, interaction.query)) }
    case 'read': return read(sandbox, interaction)
    case 'vread': return vread(sandbox, interaction)
    case 'history': return history(sandbox, interaction)
    case 'create': return create(sandbox, interaction)
    case 'exists': return toResponse(200, interaction.version)
    case 'update': return update(sandbox, interaction)
    case 'delete': return remove(sandbox, interaction)
    case 'none': return toNothingDeletedResponse(sandbox)
  }
}

function toResponse (status: number, version: Version): SandboxResponse {
  return { status, text: version.text, version }
}

function read ({ store, behaviour }: Sandbox, { type, id, query }: InteractionOf<'read'>): SandboxResponse {
  const reply = toResponse(200, requireExisting(store.findCurrent(type, id)))
  const { _elements: elements, _summary: summary } = Object.fromEntries(
    query.filter(([name]) => !behaviour.ignoredParameters.includes(name))
  )
  if (elements === undefined && summary === undefined) return reply
  return {
    ...reply,
    text: printJson(
      applyProjection(parseStored(reply.text) as StoredResource, { elements: elements?.split(','), summary })
    )
  }
}

function vread ({ store }: Sandbox, { type, id, version }: InteractionOf<'vread'>): SandboxResponse {
  return toResponse(200, requireExisting(store.findVersion(type, id, version)))
}

function requireExisting (version: Version | undefined): Version {
  if (!version) throw new FhirError(404, 'not-found', 'there is no such resource')
  if (version.method === 'DELETE') throw new FhirError(410, 'deleted', 'the resource was deleted')
  return version
}

function history (
  { store, baseUrl, behaviour }: Sandbox, { type, id, query }: InteractionOf<'history'>
): SandboxResponse {
  const versions = store.listVersions(type, id)
  if (versions.length === 0) throw new FhirError(404, 'not-found', 'there is no such resource')
  const requested = new Map(query)
  const [count, offset] = [
    parseNonNegativeInt(requested.get('_count') ?? '20'),
    getPageOffset(requested, behaviour.pages)
  ]
  const url = `${baseUrl}/${type}/${id}`
  const bundle = {
    resourceType: 'Bundle',
    type: 'history',
    total: versions.length,
    link: buildPageLinks(`${url}/_history`, query, { count, offset, total: versions.length, pages: behaviour.pages }),
    entry: versions.slice(offset, offset + count).map(version => toHistoryEntry(url, version))
  }
  return { status: 200, text: printJson(bundle) }
}

function toHistoryEntry (url: string, { type, id, version, method, at, text }: Version): unknown {
  return {
    fullUrl: url,
    ...(method !== 'DELETE' && { resource: parseStored(text) }),
    request: { method, url: method === 'POST' ? type : `${type}/${id}` },
    response: { status: version === 1 ? '201 Created' : '200 OK', lastModified: at, etag: `W/"${version}"` }
  }
}

function create ({ store, now }: Sandbox, { id, resource }: InteractionOf<'create'>): SandboxResponse {
  return toResponse(201, store.write(withServerMeta(resource, { id, version: 1, at: now().toISOString() }), 'POST'))
}

function update (
  { store, now, behaviour }: Sandbox, { type, id, resource, ifMatch }: InteractionOf<'update'>
): SandboxResponse {
  const current = store.findCurrent(type, id)
  checkVersion(current, ifMatch)
  const at = now().toISOString()
  if (!current) return toResponse(201, store.write(withServerMeta(resource, { id: requireClientId(id), version: 1, at }), 'PUT'))
  const next = buildNextVersion(resource, current, { at, labels: behaviour.labels })
  return next ? toResponse(current.method === 'DELETE' ? 201 : 200, store.write(next, 'PUT')) : toResponse(200, current)
}

/** An id that a client gives a new resource; numbers are for servers. */
function requireClientId (id: string): string {
  if (/^\d+$/.test(id)) throw new FhirError(400, 'processing', 'an id that a client chooses must not be a number')
  return id
}

function remove (sandbox: Sandbox, { type, id, ifMatch }: InteractionOf<'delete'>): SandboxResponse {
  const { store, now } = sandbox
  const current = store.findCurrent(type, id)
  checkVersion(current, ifMatch)
  if (!current || current.method === 'DELETE') return toNothingDeletedResponse(sandbox)
  store.remove(current, now().toISOString())
  return toDeleteResponse(sandbox, buildOutcome('information', 'informational', 'deleted'))
}

function toNothingDeletedResponse (sandbox: Sandbox): SandboxResponse {
  return toDeleteResponse(sandbox, buildOutcome('warning', 'not-found', 'there was nothing to delete'))
}

function toDeleteResponse ({ behaviour }: Sandbox, text: FhirResource): SandboxResponse {
  return behaviour.deletes === 'silent' ? { status: 204, text: '' } : { status: 200, text: printJson(text) }
}

function checkVersion (current: Version | undefined, ifMatch: string | undefined): void {
  if (ifMatch === undefined) return
  const requested = /^(?:W\/)?"(\d+)"$/.exec(ifMatch)?.[1]
  if (!current || current.method === 'DELETE' || requested !== String(current.version)) {
    throw new FhirError(412, 'conflict', 'If-Match names another version than the newest')
  }
}

/** The metadata that the server sets on a version, in place of the client's. */
interface Stamp { readonly id: string, readonly version: number, readonly at: string }

/** The resource under its own id, version and time. */
function withServerMeta (resource: FhirResource, { id, version, at }: Stamp): StoredResource {
  const { resourceType, id: _, meta, ...rest } = resource
  return { resourceType, id, meta: { ...meta, versionId: String(version), lastUpdated: at }, ...rest }
}

/** The next version of a resource; none when it would say what the current one says. */
function buildNextVersion (
  resource: FhirResource,
  current: Version,
  { at, labels }: { readonly at: string; readonly labels: ServerBehaviour['labels'] }
): StoredResource | undefined {
  const before = parseStored(current.text) as StoredResource
  const after = labels === 'retained' ? withStoredTags(resource, before) : resource
  const same = withServerMeta(after, {
    id: current.id,
    version: Number(before.meta.versionId),
    at: String(before.meta.lastUpdated)
  })
  if (current.method !== 'DELETE' && printJson(same) === current.text) return undefined
  return withServerMeta(after, { id: current.id, version: current.version + 1, at })
}

/** Tags and security labels are only ever added by an update, also by one that brings a deleted resource back. */
function withStoredTags (resource: FhirResource, before: StoredResource): FhirResource {
  const tags = (['security', 'tag'] as const).map(
    name => [name, mergeCodings(before.meta[name], resource.meta?.[name])] as const
  )
  return {
    ...resource,
    meta: { ...resource.meta, ...Object.fromEntries(tags.filter(([, codings]) => codings.length > 0)) }
  }
}

type Codings = NonNullable<Meta['tag']>

function mergeCodings (before: unknown, after: unknown): Codings {
  const codings = [before, after].filter(list => Array.isArray(list)).flat() as Codings
  return [...new Map(codings.map(coding => [JSON.stringify([coding.system, coding.code]), coding])).values()]
}

const interactions = ['read', 'vread', 'update', 'delete', 'history-instance', 'create', 'search-type']
const writes: ReadonlySet<string> = new Set(['update', 'delete', 'create'])

/** The capabilities of the sandbox, as R4 states them. */
function buildCapabilityStatement (
  { baseUrl, now, behaviour }: Pick<Sandbox, 'baseUrl' | 'now' | 'behaviour'>
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
          .filter(type => !behaviour.unstatedTypes.includes(type))
          .map(type => describeType(type, behaviour)),
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
    searchParam: [...getSearchParameters(type).values()]
      .filter(({ name }) => !missingParameters.includes(`${type}.${name}`))
      .map(({ name, kind }) => ({ name, type: kind }))
  }
}
