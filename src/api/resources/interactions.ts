import { Failure, type Referrer, type Referrers } from '../../envelope/failures.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import type { CreateContext } from '../../mappings/core/element.js'
import { lossWarnings } from '../../mappings/core/losses.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { UnsupportedParameter } from '../../tenant-guard/reads/require-searchable.js'
import type { TenantStore, WrittenRecord } from '../../tenant-guard/guard.js'
import type { RecordChecks, Trace, SearchParameter } from '../../tenant-guard/interaction.js'
import { changesOf, requireUnchanged, withoutClearedFields } from './changes.js'
import { requireIfMatch, versionsIn } from '../../envelope/preconditions.js'
import { changedFields, changeRecord, echoWarnings } from '../../record-input/changed-record.js'
import { validateCreate, buildResource, completedValues } from '../../record-input/new-record.js'
import { resolveIds, urlOf, writeResolved } from '../../record-input/references.js'
import type { Query } from './query.js'
import { splitUnescaped } from '../../fhir/search-escaping.js'
import { escapedParts, isMet } from './filter-value.js'

/** The context of every interaction: the resource group, and the datastore as its caller may see it. */
export interface Context {
  readonly mapping: Mapping
  readonly store: TenantStore
  readonly createContext: CreateContext
}

/** Stores a new resource from the simple form. @throws {Failure} VALIDATION_ERROR with every failing field */
export function create (context: Context, body: unknown): Promise<WrittenRecord> {
  const { mapping: { type }, store } = context
  return prepareAndSave(context, body, resource => store.create({ kind: 'create', type, resource }))
}

/** The same with another way to store the checked resource. */
export async function prepareAndSave<T extends WrittenRecord> (
  { mapping, store, createContext }: Context,
  body: unknown,
  save: (resource: FhirResource) => Promise<T>
): Promise<T> {
  const complete = await resolveIds(mapping, store, validateCreate(mapping, body, createContext))
  const saved = await writeResolved({ mapping, store }, complete, async fields =>
    await save(buildResource(mapping, fields))
  )
  return { ...saved, warnings: [...completedValues(mapping, complete), ...saved.warnings] }
}

/** One resource of the caller's tenant. @throws {Failure} NOT_FOUND */
export function read ({ mapping, store }: Context, id: string): Promise<StoredResource> {
  return store.read({ kind: 'read', type: mapping.type, id })
}

/** One page of a search. */
export async function search ({ mapping, store }: Context, query: Query) {
  const parameters = await resolveCanonicalFilters(mapping, store, query.parameters)
  const checks = query.conditions.length > 0 || query.cursor !== undefined ? { checks: checksOf(mapping) } : {}
  const { path: route, type } = mapping
  try {
    return await store.search({ kind: 'search', type, route, ...query, parameters, ...checks })
  } catch (error) {
    throw error instanceof UnsupportedParameter ? namedAsSent(mapping, query, error) : error
  }
}

/** The refusal of a FHIR search parameter, with the filter or the sorting that the client sent. */
function namedAsSent ({ filters }: Mapping, query: Query, { parameter }: UnsupportedParameter): UnsupportedParameter {
  const filter = Object.keys(filters).find(name => filters[name]!.param === parameter)
  const isSent = query.parameters.some(([name]) => name.split(':', 1)[0] === parameter)
  return new UnsupportedParameter(parameter, isSent ? filter : 'sort')
}

/** How records are checked by the filters that R4 has no search parameter for. */
function checksOf ({ filters }: Mapping): RecordChecks {
  return {
    elementsOf: conditions =>
      conditions.flatMap(([name]) => filters[name]!.paths!.map(path => path.split('.', 1)[0]!)),
    isMet: (record, conditions) => conditions.every(([name, value]) => isMet(filters[name]!, value, record))
  }
}

/** A change that a client requests. */
export interface Update {
  readonly id: string
  readonly body: unknown
  readonly ifMatch?: string | undefined
}

const noTrace: Trace = { found: async () => undefined, leave: (_, __, write) => write() }

/**
 * Changes a resource by a merge or a JSON Patch on its simple form; elements that it does not show stay. When another
 * writer was faster, the change is made again on the new state, unless the client required a version.
 * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, CONFLICT, VALIDATION_ERROR
 */
export async function update (
  context: Context,
  { id, body, ifMatch }: Update,
  trace = noTrace
): Promise<WrittenRecord> {
  for (let attempt = 1; ; attempt++) {
    const before = await read(context, id)
    const made = await trace.found(before)
    if (made !== undefined) return { record: made, warnings: [] }
    requireIfMatch(ifMatch, before.meta.versionId)
    requireUnchanged(body, before.meta.versionId)
    try {
      return await updateFrom(context, before, body, trace)
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'CONFLICT') throw error
      if (ifMatch !== undefined) throw new Failure('PRECONDITION_FAILED', { cause: error })
      if (attempt === maxAttempts) throw error
    }
  }
}

/** How often a change is tried when other writers change the record at the same time. */
const maxAttempts = 8

async function updateFrom (
  { mapping, store }: Context,
  before: StoredResource,
  body: unknown,
  trace: Trace
): Promise<WrittenRecord> {
  const shown = mapping.present(before)
  const change = changedFields(mapping, withoutClearedFields(changesOf(body, shown), body, shown), shown)
  const { changed } = change
  const complete = await resolveIds(mapping, store, changed)
  return await writeResolved({ mapping, store }, complete, async fields => {
    const resource: FhirResource = changeRecord(mapping, before, { ...change, changed: fields })
    if (resource === before) return { record: before, warnings: [] }
    const version = before.meta.versionId
    if (version === undefined) throw new Failure('BACKEND_ERROR', { cause: 'the datastore returned no version' })
    const write = (): Promise<WrittenRecord> =>
      store.update({ kind: 'update', type: mapping.type, id: before.id, resource, version, before })
    const { record, warnings } = await trace.leave(resource, version, write)
    const own = [
      ...completedValues(mapping, changed),
      ...lossWarnings(mapping, before, resource),
      ...echoWarnings(mapping, change, resource)
    ]
    return { record, warnings: [...own, ...warnings] }
  })
}

interface Removal {
  readonly id: string
  readonly ifMatch: string | undefined
  /** Whether a conflict lists the records that refer to this one. */
  readonly listsReferrers: boolean
  /** The paths of the resource groups by their types. */
  readonly paths: ReadonlyMap<string, string>
}

/**
 * Deletes a resource.
 * @throws {Failure} NOT_FOUND, PRECONDITION_FAILED, CONFLICT while others refer to it, with the paths to delete them at
 */
export async function remove (
  { mapping, store }: Context,
  { id, ifMatch, listsReferrers, paths }: Removal
): Promise<void> {
  const versions = versionsIn(ifMatch, 'If-Match') ?? '*'
  if (versions !== '*' && versions.length > 1) {
    throw new Failure('BAD_REQUEST', { message: 'If-Match: expected one ETag.' })
  }
  const version = versions === '*' ? undefined : versions[0]
  const { type } = mapping
  try {
    await store.delete({ kind: 'delete', type, id, listsReferrers, ...version !== undefined && { version } })
  } catch (error) {
    throw error instanceof Failure && error.details !== undefined ? withPaths(error, error.details, paths) : error
  }
}

/** The same failure, with the path at which each record is deleted. */
function withPaths (failure: Failure, { referrers, hasMore }: Referrers, paths: Removal['paths']): Failure {
  const { code, message, issues, cause } = failure
  const withPath = (referrer: Referrer): Referrer => {
    const { type, id } = referrer
    return { ...referrer, path: `/v1/${paths.get(type) ?? `fhir/${type}`}/${id}` }
  }
  return new Failure(code, { message, issues, cause, details: { referrers: referrers.map(withPath), hasMore } })
}

/** The parameters of a search, each id of a definition replaced by the URL under which records refer to it. */
async function resolveCanonicalFilters (
  mapping: Mapping,
  store: TenantStore,
  parameters: readonly SearchParameter[]
): Promise<readonly SearchParameter[]> {
  const canonicals = new Map(Object.values(mapping.filters).map(({ param, canonicalOf }) => [param, canonicalOf]))
  return await Promise.all(
    parameters.map(async ([param, value]) => {
      const type = canonicals.get(param)
      if (type === undefined) return [param, value] as const
      const urls = await Promise.all(
        splitUnescaped(value, ',').map(async part => {
          const url = await urlOf(store, type, part)
          return url === undefined ? part : escapedParts(url)
        })
      )
      return [param, urls.join(',')] as const
    })
  )
}
