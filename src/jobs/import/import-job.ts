import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Job, Progress, JobOwner, LineError } from '../model/job.js'
import type { Jobs } from '../model/jobs.js'
import type { RecordQuota } from '../../limits/record-quota.js'
import type { ImportStore } from '../../tenant-guard/import/import-store.js'
import { corruptFile } from '../storage/storage-errors.js'
import { isCancelled, type JobHandler, type JobContext } from '../job-context.js'
import {
  getImportCheckpoint, draftsFile, inputFile, countRecordLines, type ImportContext, type InputState
} from './import-context.js'
import { DraftFile } from './drafts.js'
import { fetchSources, type SourceRules } from './fetch-sources.js'
import { Identities } from './line-ids.js'
import { IndexFile } from './index-file.js'
import { orderLines } from './order-lines.js'
import { writeNatively, type NativeParts } from './native/write-natively.js'
import { readLines } from './read-lines.js'
import { ResultCipher } from './result.js'
import { writeLines } from './write-lines.js'

/** The parts of the gateway that imports need. */
export interface ImportJobOptions extends SourceRules {
  /** The part of the datastore that belongs to an owner's tenant. */
  readonly storeFor: (
    owner: JobOwner,
    requestContext: { readonly id: string; readonly log: JobContext['log'] }
  ) => ImportStore
  /** For the native import of that datastore; absent or undefined when everything is written with transactions. */
  readonly nativePartsFor?: (
    owner: JobOwner,
    requestContext: { readonly id: string; readonly log: JobContext['log'] }
  ) => NativeParts | undefined
  readonly jobs: Pick<Jobs, 'identityKey'>
  readonly quotaFor: (owner: JobOwner) => RecordQuota
  /** The maximum length of a line, in bytes. */
  readonly lineBytes: number
}

/** The file of a job that holds its index. */
export const indexFile = 'index.db'

/** How often progress is reported, in milliseconds. */
const reportMs = 1_000
const maxErrors = 100

/**
 * The handler of imports: reads all lines, orders them and writes them, some while others are still read. Each step
 * resumes where an earlier run was interrupted.
 */
export function createImportHandler (options: ImportJobOptions): JobHandler {
  return async work => {
    const { job: { request, owner, fileKey, id }, log } = work
    if (request.kind !== 'import') throw new Error('this job is not an import')
    const identities = new Identities(await options.jobs.identityKey(owner))
    const index = new IndexFile(work.files.path(indexFile))
    const drafts = new DraftFile(work.files.path(draftsFile), fileKey)
    const abortController = new AbortController()
    const parts = {
      work,
      request,
      index,
      identities,
      seal: new ResultCipher(fileKey),
      drafts,
      bareIds: new LRUCache<string, readonly string[]>({ max: 10_000 }),
      store: options.storeFor(owner, { id, log }),
      quota: options.quotaFor(owner)
    }
    const signal = AbortSignal.any([work.signal, abortController.signal])
    try {
      // Before anything is added to the index, or written.
      requireAllOf(work.job, index)
      const input = await fetchSources({ work, index, signal }, options)
      const context: ImportContext = {
        ...parts,
        input,
        signal,
        lineBytes: options.lineBytes,
        url: request.url,
        fhirBase: `${request.url}/v1/fhir`
      }
      const reporting = reportPeriodically(context).catch((error: unknown) => { abortController.abort(error) })
      try {
        await runSteps(context, options)
      } catch (error) {
        // The job reports which lines were written before it was cancelled.
        if (isCancelled(work.signal)) await finish(context).catch(() => {})
        throw error
      } finally {
        abortController.abort()
        await reporting
      }
      await finish(context)
    } finally {
      closeAll(index, drafts)
    }
  }
}

/** Closes the files of an import, the second one also where the first one cannot be written. */
function closeAll (index: IndexFile, drafts: DraftFile): void {
  try {
    index.close()
  } finally {
    drafts.close()
  }
}

/**
 * An index with less than was reported to the control plane was restored from an older state, or recreated.
 * @throws {Failure} INTERNAL_ERROR
 */
function requireAllOf (job: Job, index: IndexFile): void {
  const { parts = 0, input } = getImportCheckpoint(job)
  if (index.counts.processed < job.progress.processed || index.listParts().length < parts) {
    throw corruptFile('the index of an import is older than its reported progress')
  }
  requireNoneMissing(index, input)
}

/** @throws {Failure} INTERNAL_ERROR when a line that was read is missing */
function requireNoneMissing (index: IndexFile, input: InputState | undefined): void {
  const { last, counts: { total } } = index
  if (last !== total || (index.has('read') && total !== input?.lines)) {
    throw corruptFile('lines are missing from the index of an import')
  }
}

async function runSteps (context: ImportContext, options: ImportJobOptions): Promise<void> {
  const { work: { job: { owner, id }, log } } = context
  const native = options.nativePartsFor?.(owner, { id, log })
  const reading = readAndOrder(context)
  if (native !== undefined) {
    while ((await reading.next()).done !== true);
    await writeNatively(context, native)
  }
  await writeLines(context, reading)
}

async function * readAndOrder (context: ImportContext): AsyncGenerator<void> {
  const { index, input } = context
  if (index.counts.processed < countRecordLines(input)) await requireUnchanged(context)
  if (!index.has('read')) yield * readLines(context)
  requireNoneMissing(index, input)
  if (!index.has('ordered')) await orderLines(context)
}

/**
 * Requires the input that was sent, also where it was read before: what changed one file may have changed others.
 * @throws {Failure} INTERNAL_ERROR
 */
async function requireUnchanged ({ input, work: { files } }: ImportContext): Promise<void> {
  await buffer(files.read(inputFile, { end: 1, state: input }))
}

/** Reports progress until the import stops. @throws when another gateway has the job by now, or it was cancelled */
async function reportPeriodically (context: ImportContext): Promise<void> {
  while (!context.signal.aborted) {
    await pause(reportMs, undefined, { signal: context.signal }).catch(() => {})
    if (context.signal.aborted) return
    // Results make the index grow, too.
    await context.work.files.requireRoom()
    await report(context)
  }
}

/** Reports the final progress, and deletes input and drafts: they hold personal data, and take up disk space. */
async function finish (context: ImportContext): Promise<void> {
  const { drafts, index, work: { files } } = context
  // Without room for the last results the next run writes their lines again, for which it needs the drafts.
  index.commit()
  try {
    await report(context)
  } finally {
    drafts.close()
    for (const name of [inputFile, draftsFile, `${draftsFile}-journal`]) await files.remove(name)
  }
}

async function report ({ work, index, drafts, seal, input }: ImportContext): Promise<void> {
  index.commit()
  drafts.commit()
  await work.save({ progress: toProgress(index, input), errors: listErrors(index, seal) })
}

function toProgress ({ counts: { processed, failed } }: IndexFile, input: InputState): Progress {
  return { total: countRecordLines(input), processed, failed }
}

function listErrors (index: IndexFile, seal: ResultCipher): readonly LineError[] {
  return index.listFailures(maxErrors).map(({ line, result }) => {
    const { code = 'INTERNAL_ERROR', message = '' } = seal.open(line, result!)
    return { line, code, message }
  })
}
