import { pipeline } from 'node:stream/promises'
import { clearLine, cursorTo } from 'node:readline'
import type { Writable } from 'node:stream'
import { SingleBar } from 'cli-progress'
import { Failure } from '../../../envelope/failures.js'
import { requireLines } from '../../../files/line-files.js'
import type { CreateContext } from '../../../mappings/core/element.js'
import type { Mapping } from '../../../mappings/core/mapping.js'
import type { Streams } from '../context.js'
import { checkValue, type LineError } from './check.js'
import { readValues } from './input.js'

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
  const progress = createProgress(stderr, size)
  const count = { bytes: 0, values: 0, faulty: 0 }
  try {
    await pipeline(generateReport(countBytes(chunks, count, progress), { ...validation, count, progress }), stdout, {
      end: false
    })
  } catch (error) {
    // The reader of the report has closed it.
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return true
    throw error
  } finally {
    progress.end()
  }
  if (isJson) stderr.write(formatSummary(count))
  return count.faulty > 0 || count.values === 0
}

/** Nothing of the file is counted as a record. */
const toFileFailure = (reason: string): Failure =>
  new Failure('BAD_REQUEST', { message: `No records were read: ${reason}.` })

/** The totals so far. */
type Count = { bytes: number } & { -readonly [K in keyof Totals]: Totals[K] }

async function * countBytes (chunks: Input['chunks'], count: Count, progress: Progress): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    progress.show(count.bytes, count)
    yield chunk
    count.bytes += chunk.length
  }
}

async function * generateReport (
  chunks: Input['chunks'],
  { mapping, createContext, count, progress, ...how }: Validation & { count: Count; progress: Progress }
): AsyncGenerator<string> {
  const report = (fault: LineError): string => {
    if (how.streams.stdout.isTTY === true) progress.stepAside()
    return how.isJson ? formatJson(fault) : formatError(fault)
  }
  try {
    for await (const value of readValues(requireLines(chunks, { takesDocument: true, refuse: toFileFailure }), how)) {
      count.values++
      const fault = checkValue(mapping, value, createContext)
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
  if (!how.isJson) yield formatSummary(count)
}

/** The progress display of a long run. */
interface Progress {
  readonly show: (bytes: number, tally: Totals) => void
  /** Clears the bar for a line of the report, where both are on one terminal. */
  readonly stepAside: () => void
  readonly end: () => void
}

/** Fewer bytes are read before a person would expect to see the progress. */
const worthShowing = 8 * 1024 * 1024

const silent: Progress = { show: () => {}, stepAside: () => {}, end: () => {} }

/**
 * A bar for the read part of a file; shows nothing for a small one, and where the stream is not a terminal.
 * @param size in bytes; undefined if it is unknown, as of a pipe
 */
function createProgress (terminal: Writable & { readonly isTTY?: boolean }, size: number | undefined): Progress {
  if (terminal.isTTY !== true || size === undefined || size < worthShowing) return silent
  const bar = new SingleBar({
    stream: terminal,
    format: '[{bar}] {percentage}% | {value} of {total} MiB | {values} records | {faulty} faulty',
    formatValue: (value, _, type) =>
      type === 'value' || type === 'total' ? (value / 2 ** 20).toFixed(1) : String(value),
    barCompleteChar: '=',
    barIncompleteChar: '-',
    clearOnComplete: true,
    forceRedraw: true,
    // The two change the terminal for as long as the bar runs, and would not change it back when the command is killed.
    linewrap: true,
    gracefulExit: false
  } as ConstructorParameters<typeof SingleBar>[0])
  bar.start(size, 0, { values: 0, faulty: 0 })
  return {
    show: (bytes, tally) => bar.update(bytes, tally),
    stepAside: () => { clearLine(terminal, 0, () => {}); cursorTo(terminal, 0) },
    end: () => bar.stop()
  }
}

/** How much was checked, and of that how many values are faulty. */
interface Totals { readonly values: number, readonly faulty: number }

/** A fault for people: a line of text for each thing to correct. */
function formatError ({ line, error, message, issues }: LineError): string {
  const texts = issues.map(issue => `line ${issue.line}: ${issue.diagnostics}\n`)
  return texts.length > 0 ? texts.join('') : `line ${line}: ${error}. ${message}\n`
}

/** A fault for programs: one line of JSON. */
const formatJson = (fault: LineError): string => `${JSON.stringify(fault)}\n`

/** The last line of a report. */
function formatSummary ({ values, faulty }: Totals): string {
  if (values === 0) return 'The input contains no records.\n'
  return `${formatCount(values, 'record')} checked, ${faulty === 0 ? 'none' : faulty} invalid.\n`
}

const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
