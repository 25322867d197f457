import { setTimeout as pauseFor } from 'node:timers/promises'
import { decorateBackend } from '../../backends/decorate.js'
import { Failure } from '../../envelope/failures.js'
import type { Export } from '../interaction.js'
import { notFound, sendRequest, type TenantContext } from '../tenant-context.js'
import { withRetry } from '../retry.js'
import { endNativeExport } from './native-export.js'
import { readNativeChunks } from './native-chunks.js'
import type { ExportSelection, ExportPosition, ExportChunk } from './position.js'
import { buildSearches } from './searches.js'
import { planExport } from './plan.js'
import { searchChunks } from './search-chunks.js'
import { idPattern, isId } from '../../fhir/names.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { filterOwned } from '../reads/fetch-owned.js'
import { readMeta, readRecord } from '../reads/read-record.js'
import { encodeTenantCriteria } from '../restrict.js'

/**
 * The ids of the patients in a group of the tenant's that are the tenant's too. Members that have left do not count,
 * nor do those of a group in the group.
 * @throws {Failure} NOT_FOUND
 */
async function fetchPatientMembers (context: TenantContext, groupId: string): Promise<readonly string[]> {
  const group = readRecord(context, await sendRequest(context, { method: 'GET', path: `Group/${groupId}` }), {
    type: 'Group',
    id: groupId
  })
  const named = new Set((Array.isArray(group.member) ? group.member as FhirElement[] : []).flatMap(toPatientReferences))
  const owned = await filterOwned(context, named)
  return [...named].filter(patient => owned.has(patient)).map(patient => patient.slice('Patient/'.length))
}

const toPatient = new RegExp(`^Patient/${idPattern}`)

function toPatientReferences (member: FhirElement | null): string[] {
  const reference = (member?.entity as FhirElement | undefined)?.reference
  const [patient] = typeof reference === 'string' ? toPatient.exec(reference) ?? [] : []
  return patient === undefined || member?.inactive === true ? [] : [patient]
}

declare const guarded: unique symbol

/**
 * Rejects an export that is not possible, before its job is created.
 * @throws {Failure} NOT_FOUND for a group that is not the tenant's, BAD_REQUEST or UNKNOWN_FILTER for a filter that
 * reaches beyond the records, BAD_REQUEST for a patient who is not the tenant's, or not in the group
 */
export async function requireExportable (
  context: TenantContext,
  { id, request: { filters = {}, patients } }: Export
): Promise<void> {
  for (const [type, searches] of Object.entries(filters)) {
    for (const parameters of searches) encodeTenantCriteria({ type, parameters }, context.tenant)
  }
  if (id !== undefined) {
    if (!isId(id)) throw notFound()
    await readMeta(context, 'Group', id)
  }
  if (patients === undefined) return
  const known = await resolvePatients(context, { patients, ...id !== undefined && { groupId: id } })
  if (known?.length === new Set(patients).size) return
  throw new Failure('BAD_REQUEST', {
    message: id === undefined
      ? 'patient: names a patient who does not exist.'
      : 'patient: names a patient who is not a member of the group, or does not exist.'
  })
}

/** The ids of the requested patients who are the tenant's; undefined if all patients are requested. */
async function resolvePatients (
  context: TenantContext,
  { groupId, patients }: Pick<ExportSelection, 'groupId' | 'patients'>
): Promise<readonly string[] | undefined> {
  if (groupId !== undefined) {
    const members = await fetchPatientMembers(context, groupId)
    return patients === undefined ? members : members.filter(id => patients.includes(id))
  }
  if (patients === undefined) return undefined
  const owned = await filterOwned(context, patients.map(id => `Patient/${id}`))
  return patients.filter(id => owned.has(`Patient/${id}`))
}

/** The parts of an export besides its request. */
interface ExportRun {
  /** Where an earlier run stood. */
  readonly position: ExportPosition | undefined
  /** When the export was requested, ISO 8601. */
  readonly requestedAt: string
  /** Aborts once no client wants the export any more. */
  readonly signal: AbortSignal
}

/** A datastore as one tenant's export sees it. Only {@link createGuardedExport} makes one. */
export interface GuardedExport {
  readonly [guarded]: true
  /** The tenant's records, in the order of the request; each once, unless a chunk states otherwise. */
  readChunks (request: ExportSelection, run: ExportRun): AsyncGenerator<ExportChunk>
  /** Cancels the native export in the datastore. */
  end (position: ExportPosition | undefined): Promise<void>
}

/** Opens one tenant's part of a datastore for an export. */
export function createGuardedExport (context: TenantContext): GuardedExport {
  return {
    readChunks: (request, run) => generateChunks(context, request, run),
    end: async position => {
      const job = position?.own === 'done' ? undefined : position?.own?.job
      if (job !== undefined) await endNativeExport(context, job)
    }
  } satisfies Omit<GuardedExport, typeof guarded> as GuardedExport
}

async function * generateChunks (
  opened: TenantContext,
  request: ExportSelection,
  { position: before, requestedAt, signal }: ExportRun
): AsyncGenerator<ExportChunk> {
  const pause = (ms: number): Promise<unknown> => pauseFor(ms, undefined, { signal })
  const context = withRetryingBackend(opened, { pause, signal })
  const members = await resolvePatients(context, request)
  let position = before ?? (await planExport({ context, requestedAt, pause }, request, members))
  if (before === undefined) yield { lines: [], position, isStep: true }
  const searches = buildSearches(request, position.types, { members, unnarrowedTypes: position.unnarrowedTypes })
  if (position.own !== undefined && position.own !== 'done') {
    position = yield * readNativeChunks({ context, searches, since: request.since, pause, signal }, position)
  }
  yield * searchChunks({ context, searches, since: request.since, signal }, position)
}

/** The same context, which waits for a datastore that is busy or unavailable for a while. */
function withRetryingBackend (
  context: TenantContext,
  { pause, signal }: { readonly pause: (ms: number) => Promise<unknown>; readonly signal: AbortSignal }
): TenantContext {
  const { backend } = context
  const send = withRetry(backend, { pause })
  const abortable = decorateBackend(backend, {
    send: async request => {
      signal.throwIfAborted()
      return await send(request)
    }
  })
  return { ...context, backend: abortable }
}
