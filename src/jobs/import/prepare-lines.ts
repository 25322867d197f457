import { setImmediate as breathe } from 'node:timers/promises'
import { toFailure } from '../../envelope/error-handlers.js'
import type { Issue } from '../../envelope/failures.js'
import { parseStored } from '../../json/json.js'
import type { QuotaReservation } from '../../limits/record-quota.js'
import { deepEqual } from '../../mappings/core/element.js'
import { listLossWarnings } from '../../mappings/core/losses.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import { listRuleWarnings } from '../../mappings/core/validate.js'
import type { FhirResource, StoredResource } from '../../mappings/fhir.js'
import { computeChangedFields, changeRecord, buildEchoWarnings } from '../../record-input/changed-record.js'
import { buildResource, listCompletionWarnings } from '../../record-input/new-record.js'
import { resolveCanonicals } from '../../record-input/references.js'
import type { TaggedRecord } from '../../tenant-guard/import/import-store.js'
import { resolveLinks, type Targets } from '../../tenant-guard/import/resolve-links.js'
import { isAppendOnly, unchangeable } from '../../tenant-guard/policy.js'
import { corruptFile } from '../storage/storage-errors.js'
import type { DraftedLine, FhirDraft, SimpleDraft } from './drafts.js'
import { findTargets, type Target } from './existing-records.js'
import { createContext, buildFailedOutcome, type ImportContext, type LineOutcome } from './import-context.js'
import { states, type IndexedLine, type LineAction } from './index-rows.js'
import { toRecordId, type Identity } from './line-ids.js'
import { createWarnings } from './record.js'
import { hasCanonicalIds, lookUpNames, resolveTargets } from './references.js'
import { toResultWarnings, type ResultStatus } from './result.js'

type Fields = Readonly<Record<string, unknown>>

/** A line with everything needed to write it, and without its input: many wait while the datastore works. */
export interface Entry {
  readonly line: IndexedLine
  readonly mapping: Mapping | undefined
  /** The fields of the simple form. */
  readonly fields: PreparedLine['fields']
  readonly warnings: PreparedLine['warnings']
  readonly record: TaggedRecord
  readonly plan: LineAction
  readonly reservation: QuotaReservation | undefined
}

/** The monthly quota reserved for the records of lines. */
export type QuotaReservations = ReadonlyMap<number, QuotaReservation | undefined>

/** The ids and reservations of lines that are written together. */
interface BatchState {
  readonly found: ReadonlyMap<number, Target>
  readonly names: ReadonlyMap<string, string>
  readonly reservations: QuotaReservations
}

/**
 * Maximum number of lines, and of their bytes, that are prepared before other requests are served; the bytes bound the
 * references.
 */
const maxLinesPerStep = 50
const maxBytesPerStep = 131_072

/** Prepares the lines that have a reservation for writing; those that need no writing, or fail, have ended already. */
export async function prepareAll (
  context: ImportContext,
  lines: readonly IndexedLine[],
  reservations: QuotaReservations
): Promise<{ readonly open: readonly Entry[]; readonly ended: readonly LineOutcome[] }> {
  const drafted = await context.drafts.read(lines.filter(({ line }) => reservations.has(line)))
  await lookUpNames(context, drafted.map(({ draft }) => draft).filter(draft => draft.template === undefined))
  const found = context.request.dryRun
    ? new Map(drafted.map(({ line: { line, identity } }) => [line, { id: toRecordId(identity), before: undefined }]))
    : await findTargets(context, drafted)
  const known: BatchState = { found, names: mapNamesToIds(drafted, found), reservations }
  const open: Entry[] = []
  const ended: LineOutcome[] = []
  for (const some of splitIntoSteps(drafted)) {
    for (const one of await Promise.all(
      context.index.runInTransaction(() => some.map(one => prepare(context, one, known)))
    )) {
      if ('result' in one) ended.push(one)
      else open.push(one)
    }
    await breathe()
  }
  return { open, ended }
}

function * splitIntoSteps (lines: readonly DraftedLine[]): Generator<readonly DraftedLine[]> {
  let step: DraftedLine[] = []
  let bytes = 0
  for (const drafted of lines) {
    step.push(drafted)
    bytes += drafted.line.bytes
    if (step.length < maxLinesPerStep && bytes < maxBytesPerStep) continue
    yield step
    step = []
    bytes = 0
  }
  if (step.length > 0) yield step
}

/** The id under which a line is or will be stored; undefined if unknown. */
function getStoredId (
  { index, seal, request }: ImportContext,
  { line, state, plan, identity }: IndexedLine,
  found: BatchState['found']
): string | undefined {
  const id = found.get(line)?.id
  if (id !== undefined || state !== states.done) return id
  // Decrypting each result would take most of the time for a line with many references.
  return request.dryRun || plan === 'created' ? toRecordId(identity) : seal.open(line, index.getResult(line)).id
}

async function prepare (context: ImportContext, drafted: DraftedLine, known: BatchState): Promise<Entry | LineOutcome> {
  const { line, draft: { type, name, mapping } } = drafted
  const reservation = known.reservations.get(line.line)
  const target = known.found.get(line.line)!
  const toOutcome = (
    status: Exclude<ResultStatus, 'pending' | 'failed'>,
    id?: string,
    warnings: readonly Issue[] = []
  ): LineOutcome => ({
    line: line.line,
    type,
    result: { status, ...(id !== undefined && { id }), ...toResultWarnings(warnings) },
    status: 200,
    interaction: status === 'created' ? 'create' : 'update',
    reservation
  })
  const isThere = target.before !== undefined
  // An earlier run of this job was interrupted after it wrote the line: the record is as that run wrote it, or was
  // changed since.
  if (isThere && line.plan === 'created') {
    return toOutcome('created', target.id, recomputeWarnings(context, drafted, target.before!))
  }
  if (isThere && name === undefined) return toOutcome('unchanged', target.id)
  try {
    const done = await prepareLine(context, drafted, { ...target, targets: buildTargets(context, drafted, known) })
    if (done.record === undefined) return toOutcome(line.plan ?? 'unchanged', target.id, done.warnings)
    return {
      line,
      mapping,
      fields: done.fields,
      warnings: done.warnings,
      record: done.record,
      plan: isThere ? 'updated' : 'created',
      reservation
    }
  } catch (error) {
    const failure = toFailure(error)
    if (failure.status >= 500) throw error
    return buildFailedOutcome(context, { line: line.line, type, reservation }, failure)
  }
}

/** The warnings of a line that is stored: those of its content, since what the datastore made of it is not known. */
function recomputeWarnings (
  context: ImportContext, { line, draft }: DraftedLine, stored: FhirResource
): readonly Issue[] {
  return draft.mapping === undefined ? [] : createWarnings(draft, completeFields(context, line, draft), stored)
}

/** The ids of the lines that a line refers to: lines written together with it, and stored lines. */
function buildTargets (context: ImportContext, { line }: DraftedLine, { found, names }: BatchState): Targets {
  const others = new Map<string, string>()
  for (const other of context.index.referred(line.line)) {
    const id = found.has(other.line) ? undefined : getStoredId(context, other, found)
    if (id !== undefined) others.set(other.identity, id)
  }
  const resolveIdentity = (identity: Identity, name: string): string | undefined => {
    const id = others.get(identity)
    if (id !== undefined && id !== toRecordId(identity) && id !== name) {
      throw corruptFile('a line has the name of another line')
    }
    return id
  }
  return {
    get: record => {
      const [type, name] = record.split('/') as [string, string]
      const id =
        names.get(record) ??
        (others.size === 0 ? undefined : resolveIdentity(context.identities.deriveFromName(type, name), name))
      return id === undefined ? undefined : `${type}/${id}`
    }
  }
}

/** The ids of lines by name, as others refer to them: `Patient/p1`. */
function mapNamesToIds (lines: readonly DraftedLine[], found: BatchState['found']): ReadonlyMap<string, string> {
  return new Map(
    lines.flatMap(({ line: { line }, draft: { type, name } }) =>
      name === undefined ? [] : [[`${type}/${name}`, found.get(line)!.id] as const]
    )
  )
}

/** A line as it will be stored. */
interface PreparedLine {
  /** Undefined if the stored record is already equal. */
  readonly record: TaggedRecord | undefined
  /** The fields of the simple form, to name those at fault. */
  readonly fields: Fields
  /** The warnings for the client about the write, before the datastore stored it. */
  readonly warnings: readonly Issue[]
}

/**
 * Builds the record to store for a line from its draft. FHIR replaces the stored record; in the simple form only the
 * fields that were sent do, as in a PATCH, since that form does not show the complete record.
 * @throws {Failure} VALIDATION_ERROR, METHOD_NOT_ALLOWED
 */
async function prepareLine (
  context: ImportContext,
  { line, draft }: DraftedLine,
  target: Target & { readonly targets: Targets }
): Promise<PreparedLine> {
  if (draft.mapping === undefined) return replaceRecord(draft, target)
  const { id, before, targets } = target
  if (before !== undefined) return await updateRecord(context, draft, { before, targets })
  return await createRecord(context, draft, { id, fields: completeFields(context, line, draft), targets })
}

/** @throws {Failure} METHOD_NOT_ALLOWED for a line that would change evidence, and not for one that was sent before */
function replaceRecord (
  { type, template, warnings }: FhirDraft,
  { id, before, targets }: Target & { readonly targets: Targets }
): PreparedLine {
  const record = template.fill({ id, targets })
  if (before === undefined || !isAppendOnly(type)) return { record, fields: {}, warnings }
  if (!deepEqual(withoutIdentity(parseStored(record.text) as FhirResource), withoutIdentity(before))) {
    throw unchangeable()
  }
  return { record: undefined, fields: {}, warnings: [] }
}

const withoutIdentity = ({ id: _, meta: __, ...content }: FhirResource): unknown => content

/** The fields of a line in the simple form with the defaults of a new record, as they were checked. */
function completeFields (context: ImportContext, line: IndexedLine, { mapping, body }: SimpleDraft): Fields {
  return mapping.withDefaults(body, createContext(context, line.identity))
}

async function createRecord (
  context: ImportContext,
  draft: SimpleDraft,
  { id, fields, targets }: { readonly id: string, readonly fields: Fields, readonly targets: Targets }
): Promise<PreparedLine> {
  const { mapping, template, warnings } = draft
  const leadsToLines = template?.links.every(({ record }) => record !== undefined && targets.get(record) !== undefined)
  const resolved = leadsToLines === true ? fields : await resolveFields(context, mapping, { fields, targets })
  if (template !== undefined && resolved === fields) return { record: template.fill({ id, targets }), fields, warnings }
  const resource = buildResource(mapping, resolved)
  return {
    record: context.store.tagRecord({ type: mapping.type, id, resource, targets }),
    fields: resolved,
    warnings: createWarnings(draft, resolved, resource)
  }
}

async function updateRecord (
  context: ImportContext,
  { mapping, body, wasRead }: SimpleDraft,
  { before, targets }: { readonly before: StoredResource, readonly targets: Targets }
): Promise<PreparedLine> {
  const presented = mapping.present(before)
  const { versionId, updatedAt } = presented
  const read = { ...(versionId !== undefined && { versionId }), ...(updatedAt !== undefined && { updatedAt }) }
  const change = computeChangedFields(mapping, wasRead === true ? { ...body, ...read } : body, presented)
  const fields = await resolveFields(context, mapping, { fields: change.changed, targets })
  const patched: FhirResource = changeRecord(mapping, before, { ...change, changed: fields })
  // Resolved immediately, since the result may equal the stored record.
  const { type } = mapping
  const { id } = before
  const { resource } = resolveLinks(
    { resource: patched, links: context.store.checkRecord({ type, id, resource: patched, before }).links },
    targets
  )
  const warnings = [
    ...listCompletionWarnings(mapping, change.changed),
    ...listLossWarnings(mapping, before, resource),
    ...buildEchoWarnings(mapping, change, resource),
    ...listRuleWarnings(mapping, resource)
  ]
  if (deepEqual(resource, before)) return { record: undefined, fields, warnings }
  if (isAppendOnly(type)) throw unchangeable()
  const version = before.meta.versionId
  const record = context.store.tagRecord({ type, id, resource, before, ...(version !== undefined && { version }) })
  return { record, fields, warnings }
}

/** The fields with what depends on other records filled in; the same object when nothing does. */
async function resolveFields (
  context: ImportContext,
  mapping: Mapping,
  { fields, targets }: { readonly fields: Fields, readonly targets: Targets }
): Promise<Fields> {
  const resolved = await resolveTargets(context, mapping, { fields, targets })
  return hasCanonicalIds(mapping) ? await resolveCanonicals(mapping, context.store.records, resolved) : resolved
}
