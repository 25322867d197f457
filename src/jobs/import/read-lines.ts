import { setImmediate as breathe } from 'node:timers/promises'
import { toFailure } from '../../envelope/error-handlers.js'
import { Failure, fieldIssue } from '../../envelope/failures.js'
import type { FhirElement } from '../../mappings/fhir.js'
import { canonicalJson } from '../../mappings/core/canonical-json.js'
import { requireScope } from '../../keys/scopes.js'
import type { JobOwner } from '../model/job.js'
import type { QuotaReservation, RecordUse } from '../../limits/record-quota.js'
import type { CheckedRecord } from '../../tenant-guard/import/import-store.js'
import {
  recordUsage,
  toQuotaFailure,
  refund,
  inputFile,
  createContext,
  type ImportContext
} from './import-context.js'
import type { Draft } from './drafts.js'
import type { NewLine } from './index-rows.js'
import { toRecordId, type Identity } from './line-ids.js'
import { isBlank, splitLines, withoutBom, type RawLine } from './lines.js'
import { maxBytes, maxLines, maxReferences } from './pace.js'
import { CarrierLine, buildNewContent, createWarnings, readRecord, type LineRecord } from './record.js'
import { dependsOnStored, findReferredRecords } from './references.js'
import { toFailedResult } from './result.js'

/** How long to work before other requests are served, in milliseconds. */
const maxTurnMs = 8

/**
 * Reads every line of the input once: validates it like a create of its form, and stores its draft, its identity and
 * its references. Yields after each stored part, which holds as much as a transaction may.
 */
export async function * readLines (context: ImportContext): AsyncGenerator<void> {
  const { index, work, input, signal, lineBytes } = context
  const from = index.getReadPosition()
  let part = new Part(context)
  let last = performance.now()
  try {
    for await (const lines of splitLines(
      work.files.read(inputFile, { start: from.at, end: input.bytes, state: input }),
      from,
      lineBytes
    )) {
      for (const line of lines) {
        part.add(line)
        if (part.isFull) {
          await work.files.requireRoom()
          part = part.flush()
          yield
        }
        if (performance.now() - last < maxTurnMs) continue
        await breathe()
        signal.throwIfAborted()
        last = performance.now()
      }
    }
    part.flush()
  } finally {
    part.refund()
  }
  index.set('read')
}

/** A line as a new record, whose own id is known, but not yet those of its references. */
interface NewRecord extends Pick<Draft, 'warnings'> {
  /** The fields of the simple form with the defaults. */
  readonly fields: FhirElement
  readonly checked: CheckedRecord
}

/** Lines that were read and are not in the index yet. */
class Part {
  readonly #context: ImportContext
  readonly #lines: NewLine[] = []
  /** Sealed immediately, since bytes cost the garbage collector next to nothing. */
  readonly #drafts = new Map<number, Buffer>()
  readonly #duplicateCounts = new Map<Identity, number>()
  readonly #uses: RecordUse[] = []
  #bytes = 0
  #references = 0

  constructor (context: ImportContext) {
    this.#context = context
  }

  /** Whether it is as large as a transaction may be: records are in memory until the part is stored. */
  get isFull (): boolean {
    return this.#lines.length >= maxLines || this.#bytes >= maxBytes || this.#references >= maxReferences
  }

  add ({ line, at, bytes, content }: RawLine): void {
    this.#bytes += bytes
    if (content !== undefined && isBlank(content)) {
      this.#lines.push({ line, at, bytes, refersTo: [], isBlank: true })
      return
    }
    let record: LineRecord | undefined
    let identity: Identity | undefined
    try {
      record = this.#read({ line, at, content })
      requireWritable(this.#context.work.job.owner, record)
      identity = this.#deriveIdentity(record)
      const made = this.#check(record, identity)
      const { targets, alternatives } = this.#collectTargets(record, made)
      const read = { line, at, bytes, type: record.type, identity }
      this.#drafts.set(line, this.#context.drafts.seal(read, toDraft(record, made)))
      this.#references += targets.size
      this.#lines.push({ ...read, refersTo: [...targets.values()], alternatives })
    } catch (error) {
      this.#lines.push({
        line,
        at,
        bytes,
        ...(record && { type: record.type }),
        ...(identity && { identity }),
        refersTo: [],
        failure: this.#sealFailure(line, record?.type, error)
      })
    }
  }

  /**
   * Stores the drafts, adds the lines to the index, and counts those that failed once that is on disk.
   * @returns an empty part
   */
  flush (): Part {
    const { index, drafts } = this.#context
    drafts.store(this.#drafts)
    const duplicateLines = index.add(this.#lines, this.#duplicateCounts, ({ line, type }) =>
      this.#sealFailure(line, type, duplicateId())
    )
    recordUsage(this.#context, this.#uses.splice(0))
    drafts.drop(duplicateLines)
    return new Part(this.#context)
  }

  /** Refunds the reservations that were not stored. */
  refund (): void {
    refund(this.#uses)
  }

  #read ({ line, at, content }: Pick<RawLine, 'line' | 'at' | 'content'>): LineRecord {
    const { fhirBase, lineBytes, index, request } = this.#context
    if (content === undefined) {
      throw new Failure('PAYLOAD_TOO_LARGE', { message: `A line can have at most ${lineBytes} bytes.` })
    }
    return readRecord(withoutBom(line, content), { type: index.findTypeAt(at) ?? request.type, fhirBase })
  }

  #deriveIdentity ({ type, name, body }: LineRecord): Identity {
    const { identities, index } = this.#context
    if (name !== undefined) return identities.deriveFromName(type, name)
    const content = identities.deriveFromContent(type, canonicalJson(body))
    const before = this.#duplicateCounts.get(content) ?? index.countDuplicates(content)
    this.#duplicateCounts.set(content, before + 1)
    return identities.deriveForDuplicate(content, before)
  }

  #check (record: LineRecord, identity: Identity): NewRecord {
    const { resource, fields } = buildNewContent(record, createContext(this.#context, identity))
    const checked = this.#context.store.checkRecord({ type: record.type, id: toRecordId(identity), resource })
    return { fields, warnings: createWarnings(record, fields, resource), checked }
  }

  /** The identities of the records that a line refers to, by the line's own references. */
  #collectTargets (
    { mapping }: LineRecord,
    { fields, checked: { links } }: NewRecord
  ): { readonly targets: ReadonlyMap<string, Identity> } & Pick<NewLine, 'alternatives'> {
    const { identities } = this.#context
    const { records, bareIds } = findReferredRecords(links, mapping, fields)
    if (records.size > maxReferences) {
      throw new Failure('VALIDATION_ERROR', {
        message: `A line can refer to at most ${maxReferences} other records. Split the record.`
      })
    }
    const targets = new Map([...records].map(record => [record, identities.deriveFromReference(record)]))
    const alternatives = bareIds.map(({ reference, others, isName }) => ({
      ...(!isName && { main: targets.get(reference) ?? identities.deriveFromReference(reference) }),
      others: () => others.map(other => identities.deriveFromReference(other))
    }))
    return { targets, alternatives }
  }

  /** The failure of a line, encrypted; it counts as the same record in a single request would. */
  #sealFailure (line: number, type: string | undefined, error: unknown): Buffer {
    const { seal, quota, work, request } = this.#context
    let failure = toFailure(error)
    if (failure.status >= 500) {
      work.log.error({ code: failure.code, err: failure.cause }, 'a line of an import could not be read')
    }
    let reservation: QuotaReservation | undefined
    try {
      if (!(error instanceof CarrierLine) && !request.dryRun) reservation = quota.take()
    } catch (exceeded) {
      failure = toQuotaFailure(exceeded)
    }
    if (reservation !== undefined) {
      this.#uses.push({ reservation, type: type ?? 'other', interaction: 'create', status: failure.status })
    }
    return seal.close(line, toFailedResult(failure))
  }
}

/** The draft of a line, stored until it is written. */
function toDraft ({ type, name, mapping, wasRead, body }: LineRecord, { fields, warnings, checked }: NewRecord): Draft {
  const common = { type, ...name !== undefined && { name }, warnings }
  if (mapping === undefined) return { ...common, template: checked.toTemplate() }
  const template = dependsOnStored(mapping, fields) ? undefined : checked.toTemplate()
  return { ...common, mapping, body, ...wasRead && { wasRead }, ...template && { template } }
}

/** A job does nothing that its key may not do. @throws {Failure} INSUFFICIENT_SCOPE */
function requireWritable ({ scopes }: Pick<JobOwner, 'scopes'>, { type, mapping }: LineRecord): void {
  if (scopes === undefined) return
  requireScope({ scopes }, 'write', mapping === undefined ? { fhirType: type } : { resource: mapping.path })
}

function duplicateId (): Failure {
  return new Failure('VALIDATION_ERROR', { issues: [fieldIssue('id', 'an earlier line has the same id', 'duplicate')] })
}
