import { existsSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import type { BulkJob } from '../../../client/index.js'
import { ExitWithFindings } from '../context.js'
import { formatInteger } from '../table.js'
import {
  waitForJob, formatJobEnd, withResumeHint, quoteForShell, requireKind, createProgressBar, createTransferProgress,
  type JobOptions
} from './follow.js'
import { readErrorResponse, type Session, type Transfers } from './gateway.js'
import { CliError, explain, isRefusal } from './errors.js'
import { createSource, upload } from './upload.js'
import { decompressBody } from './download.js'

/** How lines are to be imported. */
export interface ImportOptions extends JobOptions {
  readonly type?: string
  readonly dryRun?: true
  /** The file for the results. */
  readonly results?: string
}

/** Imports the lines of a file or, for `-`, of standard input; with a job, continues an earlier run. */
export async function runImport (session: Session, file: string | undefined, options: ImportOptions): Promise<void> {
  const { job: begun, force } = options
  if ((begun === undefined) === (file === undefined)) {
    throw new CliError('Name the file to import, or the import to resume with --job.')
  }
  const results = options.results ?? `${file === undefined || file === '-' ? 'import' : file}.results.ndjson`
  if (force !== true && existsSync(results)) {
    throw new CliError(
      `The results file already exists: ${results}. Choose another one with --results, or use --force to overwrite it.`
    )
  }
  if (begun !== undefined) await requireKind(session, begun, 'import')
  const jobId = begun ?? await start(session, file!, options)
  const path = options.url === undefined ? '' : ` --url ${quoteForShell(options.url)}`
  const again = `clinigate bulk import --job ${jobId} --results ${quoteForShell(results)}${path}${force === true ? ' --force' : ''}`
  await withResumeHint(session, { jobId, again, cancelOnInterrupt: options.cancelOnInterrupt === true }, async () => {
    const job = await waitForJob(session, jobId)
    report(session, { job, outcome: await fetchResults(session.transfers, jobId, results), results })
  })
}

async function start (
  { client, transfers, signal, streams, err }: Session,
  file: string,
  { type, dryRun }: ImportOptions
): Promise<string> {
  const source = await createSource(file, streams.stdin)
  // An unusable key is reported before a long upload.
  await client.bulk.list({ count: 1 }, { signal })
  const meter = createProgressBar(streams.stderr)
  const standing = createTransferProgress('sent', source.size)
  const query = new URLSearchParams({
    ...(type !== undefined && { resourceType: type }),
    ...(dryRun && { dryRun: 'true' })
  }).toString()
  try {
    const jobId = await upload(transfers, source, {
      query: query === '' ? '' : `?${query}`,
      onBytes: bytes => meter.show(standing(bytes))
    })
    meter.end()
    err(`The import is running as job ${jobId}.\n`)
    return jobId
  } catch (error) {
    meter.end()
    if (signal.aborted) {
      err(`${error instanceof CliError || isRefusal(error) ? explain(error) : 'Not all lines were sent. Nothing was imported.'}\n`)
    }
    throw error
  }
}

interface JobEnd { readonly job: BulkJob, readonly outcome: Outcome, readonly results: string }

function report ({ out, err, isJson }: Session, { job, outcome: { lines, counts, failures }, results }: JobEnd): void {
  const { id: jobId, status, failure, totalRecords } = job
  const isComplete = status === 'completed' && lines === totalRecords
  if (isJson) { out(`${JSON.stringify({ jobId, status, lines, counts, failures, results, ...(failure && { failure }) })}\n`) } else out(formatResults(lines, counts, failures) + `The results of all lines are in ${results}\n`)
  if (status !== 'completed') {
    err(formatJobEnd(job))
  } else if (!isComplete) err('The number of results differs from the number of lines.\n')
  const imported = ['created', 'updated', 'unchanged', 'valid'].reduce((sum, word) => sum + (counts[word] ?? 0), 0)
  if (!isComplete || imported !== lines) throw new ExitWithFindings()
}

function formatResults (lines: number, counts: Outcome['counts'], failures: readonly LineResult[]): string {
  const more = (counts.failed ?? 0) - failures.length
  return [
    `${formatInteger(lines)} ${lines === 1 ? 'line' : 'lines'}: ${Object.entries(counts)
      .map(([status, count]) => `${formatInteger(count)} ${status}`)
      .join(', ')}\n`,
    ...failures.map(failure => `  line ${failure.line}: ${failure.code} ${formatMessage(failure)}\n`),
    more > 0 ? `  and ${formatInteger(more)} more\n` : ''
  ].join('')
}

/** The error of a line, after its field: most messages already begin with the field's name. */
function formatMessage ({ field, message = '' }: LineResult): string {
  return field === undefined || message.startsWith(`${field}: `) ? message : `${field}: ${message}`
}

/** The result of one line of an import. */
interface LineResult {
  readonly line: number
  readonly status: string
  readonly code?: string
  readonly message?: string
  readonly field?: string
}

/** The totals of all results. */
interface Outcome {
  readonly lines: number
  readonly counts: Readonly<Record<string, number>>
  /** The first that failed. */
  readonly failures: readonly LineResult[]
}

const maxFailures = 10

/** Fetches the results of an import into a file, which has its final name only when it is complete. */
async function fetchResults (transfers: Transfers, jobId: string, to: string): Promise<Outcome> {
  const part = `${to}.part`
  const outcome = await transfers.retry(() => fetchOnce(transfers, jobId, part))
  await rename(part, to)
  return outcome
}

/** They have no ranges, since they grow: after a break they are read from the beginning. */
async function fetchOnce (transfers: Transfers, jobId: string, part: string): Promise<Outcome> {
  const response = await transfers.attempt(`/bulk/jobs/${jobId}/results`, {
    headers: { accept: 'application/x-ndjson, application/json;q=0.5', 'accept-encoding': 'gzip' }
  })
  if (response.statusCode !== 200) throw await readErrorResponse(response)
  const handle = await open(part, 'w', 0o600)
  const tally = new Tally()
  try {
    for await (const chunk of decompressBody(response.body, response.headers['content-encoding'])) {
      await handle.writeFile(chunk)
      tally.add(chunk)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  return tally.getOutcome()
}

/** Counts results as their bytes arrive. */
class Tally {
  readonly #decoder = new TextDecoder()
  readonly #counts: Record<string, number> = {}
  readonly #failures: LineResult[] = []
  #lines = 0
  #rest = ''

  add (chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#count(JSON.parse(line) as LineResult)
  }

  getOutcome (): Outcome {
    return { lines: this.#lines, counts: this.#counts, failures: this.#failures }
  }

  #count ({ line, status, code, message, field }: LineResult): void {
    this.#lines++
    this.#counts[status] = (this.#counts[status] ?? 0) + 1
    const isIncluded = status === 'failed' && this.#failures.length < maxFailures
    if (isIncluded) {
      this.#failures.push({
        line,
        status,
        ...(code !== undefined && { code }),
        ...(message !== undefined && { message }),
        ...(field !== undefined && { field })
      })
    }
  }
}
