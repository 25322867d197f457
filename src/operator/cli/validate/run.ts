import { pipeline } from 'node:stream/promises'
import { Failure } from '../../../envelope/failures.js'
import { requireLines } from '../../../files/line-files.js'
import type { CreateContext } from '../../../mappings/core/element.js'
import type { Mapping } from '../../../mappings/core/mapping.js'
import type { Streams } from '../context.js'
import { faultOf, type LineError } from './check.js'
import { valuesOf } from './input.js'
import { progressOn, type Progress } from './progress.js'
import { asJson, formatError, summary, type Totals } from './report.js'

/** The input to check. `size` is in bytes, if it is known in advance. */
export interface Input { readonly chunks: AsyncIterable<Uint8Array>, readonly size?: number | undefined }

/** The options of the check and of its report. */
interface Validation {
  readonly mapping: Mapping
  readonly createContext: CreateContext
  readonly streams: Pick<Streams, 'stdout' | 'stderr'>
  /** The longest value, in bytes. */
  readonly max: number
  readonly isJson: boolean
  readonly isNdjson: boolean
}

/**
 * Checks every value of an input and reports as it goes, no faster than the report is taken. @returns whether any is
 * faulty, or none is there
 */
export async function validate ({ chunks, size }: Input, validation: Validation): Promise<boolean> {
  const { streams: { stdout, stderr }, isJson } = validation
  const progress = progressOn(stderr, size)
  const count = { bytes: 0, values: 0, faulty: 0 }
  try {
    await pipeline(reportOf(counted(chunks, count, progress), { ...validation, count, progress }), stdout, {
      end: false
    })
  } catch (error) {
    // The reader of the report has closed it.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return true
    throw error
  } finally {
    progress.end()
  }
  if (isJson) stderr.write(summary(count))
  return count.faulty > 0 || count.values === 0
}

/** Nothing of the file is counted as a record. */
const refuseFile = (reason: string): Failure => new Failure('BAD_REQUEST', { message: `No records were read: ${reason}.` })

/** The totals so far. */
type Count = { bytes: number } & { -readonly [K in keyof Totals]: Totals[K] }

async function * counted (chunks: Input['chunks'], count: Count, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    progress.show(count.bytes, count)
    yield chunk
    count.bytes += chunk.length
  }
}

async function * reportOf (
  chunks: Input['chunks'],
  { mapping, createContext, count, progress, ...how }: Validation & { count: Count; progress: Progress }
): AsyncGenerator<string> {
  const report = (fault: LineError): string => {
    if (how.streams.stdout.isTTY === true) progress.stepAside()
    return how.isJson ? asJson(fault) : formatError(fault)
  }
  try {
    for await (const value of valuesOf(requireLines(chunks, { takesDocument: true, refuse: refuseFile }), how)) {
      count.values++
      const fault = faultOf(mapping, value, createContext)
      if (fault === undefined) continue
      count.faulty++
      yield report(fault)
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code, title, message } = error
    yield report({ line: 1, code, error: title, message, issues: [] })
  }
  progress.end()
  if (!how.isJson) yield summary(count)
}
