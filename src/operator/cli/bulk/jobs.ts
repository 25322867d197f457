import type { BulkJob, Page } from '../../../client/index.js'
import { ExitWithFindings } from '../context.js'
import { formatInteger } from '../table.js'
import type { Session } from './gateway.js'

/** Prints the caller's jobs, newest first. */
export async function listJobs ({ client, signal, out, isJson }: Session): Promise<void> {
  const jobs: BulkJob[] = []
  let cursor: string | undefined
  do {
    const query = { count: 100, ...cursor !== undefined && { cursor } }
    const page: Page<BulkJob> = await client.bulk.list(query, { signal })
    jobs.push(...page.data)
    cursor = page.cursor
  } while (cursor !== undefined)
  if (isJson) out(`${JSON.stringify(jobs, null, 2)}\n`)
  else out(jobs.map(lineOf).join('') || 'No jobs.\n')
}

/** Prints one job. */
export async function showJob ({ client, signal, out, isJson }: Session, id: string): Promise<void> {
  const job = await client.bulk.read(id, { signal })
  out(isJson ? `${JSON.stringify(job)}\n` : described(job))
}

/** Cancels a job; a job that has ended otherwise is reported as an error. */
export async function cancelJob ({ client, signal, out, err, isJson }: Session, id: string): Promise<void> {
  const job = await client.bulk.cancel(id, { signal })
  out(isJson ? `${JSON.stringify(job)}\n` : lineOf(job))
  if (job.status === 'cancelled') return
  err(`The job had already ended with status ${job.status}.\n`)
  throw new ExitWithFindings()
}

function lineOf ({ id, type, status, processedRecords, failedRecords, createdAt }: BulkJob): string {
  return `${id}  ${type}  ${status.padEnd('processing'.length)}  ${formatInteger(processedRecords).padStart(11)} records  ${formatInteger(failedRecords).padStart(7)} failed  ${createdAt}\n`
}

function described (job: BulkJob): string {
  const { totalRecords, secondsLeft, files, errors, failure, expiresAt } = job
  return [
    lineOf(job),
    totalRecords === undefined
      ? ''
      : `  ${formatInteger(totalRecords)} records in all${secondsLeft === undefined ? '' : `, about ${formatInteger(secondsLeft)} s left`}\n`,
    ...files.map(({ resourceType, count }) => `  ${resourceType}: ${formatInteger(count)}\n`),
    ...errors.map(({ line, code, message }) => `  line ${line}: ${code} ${message}\n`),
    failure === undefined ? '' : `  ${failure.code} ${failure.message}\n`,
    `  kept until ${expiresAt}\n`
  ].join('')
}
