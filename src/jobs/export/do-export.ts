import type { FastifyBaseLogger } from 'fastify'
import type { Job, ExportRequest, JobFile } from '../model/job.js'
import type { ExportPosition, ExportChunk, Line } from '../../tenant-guard/export/position.js'
import { Output, type TypeOutput } from './output.js'
import { Failure } from '../../envelope/failures.js'
import type { Mapping } from '../../mappings/core/mapping.js'
import type { GuardedExport } from '../../tenant-guard/export/export.js'
import { isCancelled, type JobHandler, type JobContext } from '../job-context.js'
import { unsealRequest } from './begin-export.js'
import { printJson } from '../../json/json.js'
import type { FhirElement, StoredResource } from '../../mappings/fhir.js'
import { createSubsetter } from '../../mappings/r4/subset.js'

/** The state from which an export can resume: its position in the datastore, and the records in its files. */
interface ExportCheckpoint { readonly position: ExportPosition, readonly written: readonly TypeOutput[] }

/** The checkpoint of an export, which only exports write; undefined when the job has none. */
export function getExportCheckpoint ({ checkpoint }: Pick<Job, 'checkpoint'>): ExportCheckpoint | undefined {
  return checkpoint as ExportCheckpoint | undefined
}

/** The time whose state of the records an export includes at least: a later export uses it as `_since`. */
export function getTransactionTime (job: Pick<Job, 'checkpoint' | 'startedAt' | 'createdAt'>): string {
  return getExportCheckpoint(job)?.position.asOf ?? job.startedAt ?? job.createdAt
}

/** The parts that exports need. */
export interface ExportParts {
  /** The job owner's datastore, behind the tenant guard. */
  readonly openExport: (job: Job, log: FastifyBaseLogger) => GuardedExport
  readonly mappings: readonly Mapping[]
  /** How often the progress of an export is saved, in milliseconds. */
  readonly saveEveryMs?: number
}

const defaultSaveEveryMs = 1_000

/** Writes records to one file per type. Records that were written and saved are not requested again. */
export function createExportHandler (
  { openExport, mappings, saveEveryMs = defaultSaveEveryMs }: ExportParts
): JobHandler {
  return async work => {
    const run = await openRun(work, { store: openExport(work.job, work.log), mappings, saveEveryMs })
    try {
      await run.exportAll()
    } catch (error) {
      throw await run.handleError(error)
    } finally {
      await run.output.close().catch(error => work.log.warn({ err: error }, 'an export file could not be closed'))
    }
  }
}

interface RunParts {
  readonly request: ExportRequest
  readonly saveEveryMs: number
  readonly store: GuardedExport
  readonly mappings: readonly Mapping[]
  readonly output: Output
  readonly position?: ExportPosition | undefined
}

async function openRun (work: JobContext, options: Omit<RunParts, 'output' | 'request'>): Promise<Run> {
  const { files, job } = work
  const parts = { ...options, request: await unsealRequest(files, job.request as ExportRequest) }
  const before = getExportCheckpoint(job)
  const output = new Output(files, before?.written ?? [])
  if (await output.isThere()) return new Run(work, { ...parts, output, position: before?.position })
  work.log.warn('the files of an export have changed; the export starts again')
  return new Run(work, { ...parts, output: new Output(files, []) })
}

/** One run of an export: from its checkpoint until its end, or until it is interrupted. */
class Run {
  readonly output: Output
  readonly #work: JobContext
  readonly #store: GuardedExport
  readonly #saveEveryMs: number
  readonly #request: ExportRequest
  readonly #getLineFormat: ReturnType<typeof createLineFormatter>
  #position: ExportPosition | undefined
  #savedAt = -Infinity

  constructor (work: JobContext, { request, store, mappings, saveEveryMs, output, position }: RunParts) {
    this.output = output
    this.#work = work
    this.#store = store
    this.#saveEveryMs = saveEveryMs
    this.#request = request
    this.#getLineFormat = createLineFormatter(this.#request, mappings)
    this.#position = position
  }

  async exportAll (): Promise<void> {
    const { job, signal, save } = this.#work
    const concurrentChanges = new ConcurrentChanges(this.output)
    for await (const chunk of this.#store.readChunks(this.#request, {
      position: this.#position,
      requestedAt: job.createdAt,
      signal
    })) {
      if (chunk.restartsExport === true) await this.output.clear()
      await this.#writeChunk(chunk, concurrentChanges)
      if (concurrentChanges.isEmpty) await this.#saveProgress(chunk)
    }
    await concurrentChanges.write()
    await this.output.close()
    const { processed } = this.output.progress
    const rankOf = ({ resourceType }: JobFile): number => this.#request.types.indexOf(resourceType)
    const files = this.output.files.toSorted((one, other) => rankOf(one) - rankOf(other))
    await save({ ...this.#buildCheckpoint(), files, progress: { total: processed, processed, failed: 0 } })
  }

  async #writeChunk ({ type, lines, isLate }: ExportChunk, concurrentChanges: ConcurrentChanges): Promise<void> {
    const isNext = type !== concurrentChanges.type || (lines.length > 0 && isLate !== true)
    if (isNext || concurrentChanges.isFull) await concurrentChanges.write()
    if (type === undefined || lines.length === 0) return
    const form = this.#getLineFormat(type)
    if (isLate === true) concurrentChanges.add(type, lines.map(form))
    else await this.output.write(type, lines.map(form))
  }

  async #saveProgress ({ position, isStep }: ExportChunk): Promise<void> {
    if (position === undefined) return
    this.#position = position
    if (isStep !== true && performance.now() - this.#savedAt < this.#saveEveryMs) return
    await this.output.flush()
    const total =
      position.total === undefined ? {} : { total: Math.max(position.total, this.output.progress.processed) }
    await this.#work.save({ ...this.#buildCheckpoint(), progress: { ...total, ...this.output.progress, failed: 0 } })
    this.#savedAt = performance.now()
  }

  #buildCheckpoint (): { readonly checkpoint: ExportCheckpoint } {
    return { checkpoint: { position: this.#position!, written: this.output.written } }
  }

  /** @returns the error with which the job ends */
  async handleError (error: unknown): Promise<unknown> {
    const { signal, log } = this.#work
    if (isCancelled(signal)) {
      await this.#store
        .end(this.#position)
        .catch(cause => log.warn({ err: cause }, "the datastore's native export could not be cancelled"))
    }
    if (error instanceof Failure && error.code === 'NOT_FOUND') {
      return new Failure('BAD_REQUEST', { message: 'The group of this export no longer exists.' })
    }
    return error
  }
}

/** Formats a line of one type. */
type LineForm = (line: Line) => string

/** Returns the format of each type's lines: the stored resource, a subset of its elements, or the simple form. */
function createLineFormatter (
  { format, elements = [] }: Pick<ExportRequest, 'format' | 'elements'>,
  mappings: readonly Mapping[]
): (type: string) => LineForm {
  const forms = new Map<string, LineForm>()
  return type => {
    const form =
      forms.get(type) ??
      (format === 'simple' ? createSimpleFormatter(type, mappings) : createFhirFormatter(type, elements))
    forms.set(type, form)
    return form
  }
}

function createSimpleFormatter (type: string, mappings: readonly Mapping[]): LineForm {
  const mapping = mappings.find(candidate => candidate.type === type)
  if (mapping === undefined) throw new Error('this type has no simple form')
  return ({ exact }) => printJson(mapping.present(exact() as StoredResource))
}

function createFhirFormatter (type: string, elements: readonly string[]): LineForm {
  const subset = createSubsetter(type, elements)
  return subset === undefined ? ({ text }) => text : ({ exact }) => printJson(subset(exact() as FhirElement))
}

/** Characters that are collected before a write, since each write searches a full file. */
const gathered = 4_194_304

/**
 * Records of one type that changed during the export. A record whose earlier version is in the file already stays
 * unchanged there, so that no record is in an export twice; a later export with `_since` has the change.
 */
class ConcurrentChanges {
  type: string | undefined
  readonly #output: Output
  readonly #texts = new Map<string, string>()
  #length = 0

  constructor (output: Output) {
    this.#output = output
  }

  get isEmpty (): boolean {
    return this.#texts.size === 0
  }

  get isFull (): boolean {
    return this.#length >= gathered
  }

  add (type: string, texts: readonly string[]): void {
    this.type = type
    for (const text of texts) {
      this.#texts.set((JSON.parse(text) as { readonly id: string }).id, text)
      this.#length += text.length
    }
  }

  async write (): Promise<void> {
    if (this.type === undefined) return
    const known = await this.#output.findWrittenIds(this.type, new Set(this.#texts.keys()))
    await this.#output.write(this.type, [...this.#texts].flatMap(([id, text]) => known.has(id) ? [] : [text]))
    this.type = undefined
    this.#texts.clear()
    this.#length = 0
  }
}
