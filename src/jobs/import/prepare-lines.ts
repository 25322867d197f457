import { setImmediate as breathe } from 'node:timers/promises'
import { failureOf } from '../../envelope/error-handlers.js'
import type { Issue } from '../../envelope/failures.js'
import type { QuotaReservation } from '../../limits/record-quota.js'
import type { FhirResource } from '../../mappings/fhir.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import type { TaggedRecord } from '../../tenant-guard/import/import-store.js'
import type { Targets } from '../../tenant-guard/import/resolve-links.js'
import { corruptFile } from '../storage/storage-errors.js'
import { readContents } from './contents.js'
import { createContext, failedOutcome, typeOfLine, type ImportContext, type LineOutcome } from './import-context.js'
import { idOf, type Identity } from './line-ids.js'
import { states, type IndexedLine, type LineAction, type LineReference } from './index-rows.js'
import type { CachedRecord } from './kept-records.js'
import { targetsOf, type NamedLine, type Target } from './existing-records.js'
import { lookUpNames } from './references.js'
import { createdContent, createWarnings, readRecord } from './record.js'
import { prepareLine, type Prepared, type ReadLine } from './resource.js'
import { warned, type ResultStatus } from './result.js'

/** A line with everything needed to write it, and without its input: many wait while the datastore works. */
export interface Entry {
  readonly line: IndexedLine
  readonly mapping: Mapping | undefined
  /** The fields of the simple form. */
  readonly fields: Prepared['fields']
  readonly warnings: Prepared['warnings']
  readonly record: TaggedRecord
  readonly plan: LineAction
  readonly reservation: QuotaReservation | undefined
}

/** The monthly quota reserved for the records of lines. */
export type QuotaReservations = ReadonlyMap<number, QuotaReservation | undefined>

/** A line whose record is cached since it was read. */
interface CachedLine { readonly line: IndexedLine, readonly record: CachedRecord }

/** The ids and reservations of lines that are written together. */
interface Known {
  readonly found: ReadonlyMap<number, Target>
  readonly names: ReadonlyMap<string, string>
  readonly reservations: QuotaReservations
}

/**
 * Maximum number of lines, and of their bytes, that are prepared before other requests are served; the bytes bound the
 * references.
 */
const atOnce = 50
const bytesAtOnce = 131_072

/** Prepares lines for writing; those that need no writing, or fail, are returned with their outcome. */
export async function prepareAll (
  context: ImportContext,
  lines: readonly IndexedLine[],
  reservations: QuotaReservations
): Promise<ReadonlyArray<Entry | LineOutcome>> {
  const cachedLines = new Map(
    lines.flatMap(line => {
      const record = context.stored.get(line.line)
      return record === undefined ? [] : [[line.line, { line, record }] as const]
    })
  )
  const read = await readAgain(
    context,
    lines.filter(({ line }) => !cachedLines.has(line))
  )
  const all = lines.map(({ line }) => cachedLines.get(line) ?? read.get(line)!)
  const found = context.request.dryRun
    ? new Map(all.map(({ line }) => [line.line, { id: idOf(line.identity), before: undefined }]))
    : await targetsOf(context, all)
  const known: Known = { found, names: namesIn(all, found), reservations }
  const entries: Array<Entry | LineOutcome> = []
  for (const some of stepsOf(lines)) {
    const asCached = context.index.together(
      () =>
        new Set(some.filter(({ line }) => cachedLines.has(line) && isAsCached(context, cachedLines.get(line)!, known)))
    )
    for (const [line, record] of await readAgain(
      context,
      some.filter(line => cachedLines.has(line.line) && !asCached.has(line))
    )) { read.set(line, record) }
    entries.push(
      ...(await Promise.all(
        context.index.together(() =>
          some.map(line =>
            asCached.has(line)
              ? entryOf(cachedLines.get(line.line)!, known)
              : prepare(context, read.get(line.line)!, known)
          )
        )
      ))
    )
    await breathe()
  }
  return entries
}

function * stepsOf (lines: readonly IndexedLine[]): Generator<readonly IndexedLine[]> {
  let step: IndexedLine[] = []
  let bytes = 0
  for (const line of lines) {
    step.push(line)
    bytes += line.bytes
    if (step.length < atOnce && bytes < bytesAtOnce) continue
    yield step
    step = []
    bytes = 0
  }
  if (step.length > 0) yield step
}

async function readAgain (context: ImportContext, lines: readonly IndexedLine[]): Promise<Map<number, ReadLine>> {
  if (lines.length === 0) return new Map()
  for (const line of lines) context.seal.require(line)
  const contents = await readContents(context, lines)
  const read = new Map(
    lines.map(
      line =>
        [
          line.line,
          {
            line,
            record: readRecord(contents.get(line.line)!, {
              type: typeOfLine(context, line.at),
              fhirBase: context.fhirBase
            })
          }
        ] as const
    )
  )
  await lookUpNames(context, [...read.values()].map(({ record }) => record))
  // After each step that takes milliseconds for two hundred lines, so that other requests are served.
  await breathe()
  return read
}

/** Whether a line and all lines that it refers to have the ids in the cached record. */
function isAsCached (context: ImportContext, { line, record: { record } }: CachedLine, { found }: Known): boolean {
  const { id, before } = found.get(line.line)!
  return (
    before === undefined &&
    id === record.id &&
    context.index.referred(line.line).every(other => storedId(context, other, found) === idOf(other.identity))
  )
}

/** The id under which a line is or will be stored; undefined if unknown. */
function storedId (
  { index, seal, request }: ImportContext,
  { line, state, plan, identity }: LineReference,
  found: Known['found']
): string | undefined {
  const id = found.get(line)?.id
  if (id !== undefined || state !== states.done) return id
  // Decrypting each result would take most of the time for a line with many references.
  return request.dryRun || plan === 'created' ? idOf(identity) : seal.open(line, index.result(line)).id
}

function entryOf ({ line, record: { mapping, fields, warnings, record } }: CachedLine, { reservations }: Known): Entry {
  return { line, mapping, fields, warnings, record, plan: 'created', reservation: reservations.get(line.line) }
}

async function prepare (context: ImportContext, read: ReadLine, known: Known): Promise<Entry | LineOutcome> {
  const { line, record: { type, name, mapping } } = read
  const reservation = known.reservations.get(line.line)
  const target = known.found.get(line.line)!
  const ended = (
    status: Exclude<ResultStatus, 'pending' | 'failed'>,
    id?: string,
    warnings: readonly Issue[] = []
  ): LineOutcome => ({
    line: line.line,
    type,
    result: { status, ...(id !== undefined && { id }), ...warned(warnings) },
    status: 200,
    interaction: status === 'created' ? 'create' : 'update',
    reservation
  })
  const isThere = target.before !== undefined
  // An earlier run of this job was interrupted after it wrote the line: the record is as that run wrote it, or was
  // changed since.
  if (isThere && line.plan === 'created') {
    return ended('created', target.id, warningsAgain(context, read, target.before!))
  }
  if (isThere && name === undefined) return ended('unchanged', target.id)
  try {
    const done = await prepareLine(context, read, { ...target, targets: targetsIn(context, read, known) })
    if (done.record === undefined) return ended(line.plan ?? 'unchanged', target.id, done.warnings)
    return {
      line,
      mapping,
      fields: done.fields,
      warnings: done.warnings,
      record: context.store.stamped(done.record),
      plan: isThere ? 'updated' : 'created',
      reservation
    }
  } catch (error) {
    const failure = failureOf(error)
    if (failure.status >= 500) throw error
    return failedOutcome(context, { line: line.line, type }, failure, reservation)
  }
}

/** The warnings of a line that is stored: those of its content, since what the datastore made of it is not known. */
function warningsAgain (context: ImportContext, { line, record }: ReadLine, stored: FhirResource): readonly Issue[] {
  if (record.mapping === undefined) return []
  const { fields } = createdContent(record, createContext(context, line.identity))
  return createWarnings(record, fields, stored)
}

/** The ids of the lines that a line refers to: lines written together with it, and stored lines. */
function targetsIn (context: ImportContext, { line }: ReadLine, { found, names }: Known): Targets {
  const others = new Map<string, string>()
  for (const other of context.index.referred(line.line)) {
    const id = found.has(other.line) ? undefined : storedId(context, other, found)
    if (id !== undefined) others.set(other.identity, id)
  }
  const storedAs = (identity: Identity, name: string): string | undefined => {
    const id = others.get(identity)
    if (id !== undefined && id !== idOf(identity) && id !== name) {
      throw corruptFile('a line has the name of another line')
    }
    return id
  }
  return {
    get: record => {
      const [type, name] = record.split('/') as [string, string]
      const id =
        names.get(record) ?? (others.size === 0 ? undefined : storedAs(context.identities.ofName(type, name), name))
      return id === undefined ? undefined : `${type}/${id}`
    }
  }
}

/** The ids of lines by name, as others refer to them: `Patient/p1`. */
function namesIn (lines: readonly NamedLine[], found: Known['found']): ReadonlyMap<string, string> {
  return new Map(
    lines.flatMap(({ line: { line }, record: { type, name } }) =>
      name === undefined ? [] : [[`${type}/${name}`, found.get(line)!.id] as const]
    )
  )
}
