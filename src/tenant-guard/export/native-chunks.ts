import { Failure } from '../../envelope/failures.js'
import { parseOwnedLines, readLineBatches } from './lines.js'
import {
  beginNativeExport,
  endNativeExport,
  isExportable,
  fetchNativeExportState,
  type NativeFile,
  type NativeState
} from './native-export.js'
import type { ExportPosition, NativeExportPosition, ExportChunk } from './position.js'
import type { SearchExportOptions } from './search-chunks.js'

/** The options of reading the datastore's native export. */
interface NativeExportOptions extends SearchExportOptions { readonly pause: (ms: number) => Promise<unknown> }

type Chunks = AsyncGenerator<ExportChunk, ExportPosition>

/** A datastore that loses what it began is not requested ever. */
const maxBegun = 3

/**
 * The records of those types that the datastore's native export covers. If it fails, all types are left for the scan.
 * @returns where the scan begins
 */
export async function * readNativeChunks (taking: NativeExportOptions, begun: ExportPosition): Chunks {
  const searches = taking.searches.filter(isExportable)
  const types = searches.map(({ type }) => type)
  const { own: _, ...walkedOnly } = begun
  if (types.length === 0) return { ...begun, own: 'done' }
  let own = begun.own as NativeExportPosition
  for (;;) {
    if (own.job === undefined) {
      const job = own.begun < maxBegun ? await beginNativeExport(taking.context, searches, taking.since) : undefined
      if (job === undefined) return walkedOnly
      own = { job, file: 0, lines: 0, begun: own.begun + 1 }
      yield { lines: [], position: { ...begun, own }, isStep: true }
    }
    const state = yield * waitForCompletion(taking, { ...begun, own }, types)
    const isTaken =
      state.kind === 'done' ? yield * readFiles({ ...taking, searches }, { ...begun, own }, state.files) : false
    if (isTaken) return { ...begun, own: 'done' }
    own = { file: 0, lines: 0, begun: own.begun }
    if (state.kind === 'failed') await endNativeExport(taking.context, own.job ?? '').catch(() => {})
    const position = state.kind === 'failed' ? walkedOnly : { ...begun, own }
    yield { lines: [], position, isStep: true, restartsExport: true }
    if (state.kind === 'failed') return walkedOnly
  }
}

const minPauseMs = 500
const maxPauseMs = 10_000
/** An export is polled again when it has taken a fiftieth longer. */
const partOfTheTime = 1 / 50

/** Waits for the end of the export; HAPI's Retry-After says two minutes at any time and is not waited for. */
async function * waitForCompletion (
  { context, pause }: NativeExportOptions,
  position: ExportPosition,
  types: readonly string[]
): AsyncGenerator<ExportChunk, NativeState> {
  const { job } = position.own as NativeExportPosition
  const begunAt = performance.now()
  for (;;) {
    const state = await fetchNativeExportState(context, job!, types)
    if (state.kind !== 'in-progress') return state
    yield { lines: [], position }
    const requested = state.retryAfterMs === undefined || state.retryAfterMs > maxPauseMs ? 0 : state.retryAfterMs
    const due = Math.max(requested, (performance.now() - begunAt) * partOfTheTime)
    await pause(Math.min(Math.max(due, minPauseMs), maxPauseMs))
  }
}

/** @returns false when a file is not there any more, or not whole */
async function * readFiles (
  taking: NativeExportOptions,
  position: ExportPosition,
  files: readonly NativeFile[]
): AsyncGenerator<ExportChunk, boolean> {
  const own = position.own as NativeExportPosition
  for (const [at, file] of files.entries()) {
    if (at < own.file) continue
    const isThere = yield * readFileWithRetry(taking, file, {
      ...position,
      own: { ...own, file: at, lines: at === own.file ? own.lines : 0 }
    })
    if (!isThere) return false
    yield { lines: [], position: { ...position, own: { ...own, file: at + 1, lines: 0 } } }
  }
  yield { lines: [], position: { ...position, own: 'done' } }
  return true
}

const maxTries = 5

/** One file, which is gone on with where the connection broke. */
async function * readFileWithRetry (
  taking: NativeExportOptions,
  file: NativeFile,
  begun: ExportPosition
): AsyncGenerator<ExportChunk, boolean> {
  let position = begun
  for (let tries = 1; ; tries++) {
    try {
      for await (const chunk of streamFile(taking, file, position)) {
        if (chunk === 'gone') return false
        position = chunk.position!
        yield chunk
      }
      // Without a length, a body that was cut off between two lines looks like one that has ended.
      return file.count === undefined || file.count === (position.own as NativeExportPosition).lines
    } catch (error) {
      const waitSeconds = isTransient(error) ? Number(error.headers['retry-after'] ?? tries) : undefined
      if (waitSeconds === undefined || tries === maxTries) throw error
      await taking.pause(Math.min(waitSeconds, 60) * 1_000)
    }
  }
}

/** An error of the connection or the server, and not with what it sent. */
function isTransient (error: unknown): error is Failure {
  if (!(error instanceof Failure)) return false
  const { status, reason } = (error.cause ?? {}) as { status?: number, reason?: string }
  return error.status >= 502 && reason === undefined && (status ?? 500) >= 429
}

/** The media types under which HAPI and other servers return NDJSON. */
const accept = ['application/fhir+ndjson', 'application/ndjson', 'application/x-ndjson']

async function * streamFile (
  { context, searches, signal }: NativeExportOptions,
  { type, path }: NativeFile,
  position: ExportPosition
): AsyncGenerator<ExportChunk | 'gone'> {
  const own = position.own as NativeExportPosition
  const search = searches.find(search => search.type === type)!
  const { requestId } = context
  const { status, body } = await context.backend.stream({
    path,
    accept,
    signal,
    ...(requestId !== undefined && { headers: { 'x-request-id': requestId } })
  })
  if (status !== 200) return yield 'gone'
  let met = 0
  for await (const texts of readLineBatches(body)) {
    const fresh = texts.slice(Math.max(0, own.lines - met))
    met += texts.length
    const next = { ...position, own: { ...own, lines: met } }
    if (fresh.length > 0) yield { type, lines: parseOwnedLines(context, search, fresh), position: next }
  }
}
