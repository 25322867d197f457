import { InvalidArgumentError, Option, type Command } from 'commander'
import { exportFormats } from '../../../jobs/model/job.js'
import { ExitWithFindings, type CliContext } from '../context.js'
import { parseTime } from '../times.js'
import { runExport, type ExportOptions } from './export.js'
import { openSession, type Session } from './gateway.js'
import { runImport, type ImportOptions } from './import.js'
import { withExitCode, runUntilInterrupted } from './errors.js'
import type { BulkJob, Page } from '../../../client/index.js'
import { formatInteger } from '../table.js'

interface AdminApiFlags { readonly url?: string, readonly json?: true }

const help = `
Needs no configuration and no database, only a gateway and a key in the variable CLINIGATE_API_KEY.
Exit codes: 0 done, 1 some records or the job failed, 2 invalid command or unusable gateway, 130 interrupted: the job
keeps running, and --job resumes it.

  clinigate bulk export --types patients,Observation --to records
  clinigate bulk import patients.ndjson --type patients --dry-run
  clinigate bulk jobs --url https://api.example.org`

/** Adds the commands that move records in bulk through a gateway. */
export function addBulk (program: Command, context: CliContext): void {
  const bulk = program
    .command('bulk')
    .description('export and import any number of records through a gateway')
    .addHelpText('after', help)
  const add = (name: string, description: string): Command => bulk.command(name).description(description)
    .option('--url <url>', 'URL of the gateway (default: CLINIGATE_URL, or else http://127.0.0.1:8080)')
    .option('--json', 'print the result as JSON')
  const runCommand = (
    command: Command,
    { url, json }: AdminApiFlags,
    work: (session: Session) => Promise<void>
  ): Promise<void> =>
    withExitCode(command, () =>
      runUntilInterrupted(signal => work(openSession(context, { url, isJson: json === true, signal })))
    )

  const exporting = add('export', 'export records to a directory, one NDJSON file per type')
    .requiredOption('--to <directory>', 'directory for the files, created if missing')
    .option('--types <types>', 'comma-separated types, such as patients,Observation (default: all)', text =>
      text.split(',')
    )
    .option('--since <time>', 'only records changed since, such as 2030-01-31T00:00:00Z', parseTime)
    .addOption(new Option('--format <format>', 'format of the records (default: fhir)').choices(exportFormats))
    .option('--force', 'overwrite existing files')
  addJobOptions(exporting).action((options: AdminApiFlags & ExportOptions) =>
    runCommand(exporting, options, session => runExport(session, options))
  )

  const importing = add('import', 'import records from NDJSON, one per line, in the simple form or as FHIR')
    .argument('[file]', 'an NDJSON file, compressed if its name ends with .gz, or - for standard input')
    .option('--type <type>', 'resource of lines that do not have a resourceType, such as patients')
    .option('--dry-run', 'check every line without writing anything')
    .option('--results <file>', 'file for the result of each line (default: <file>.results.ndjson)')
    .option('--force', 'overwrite existing results')
  addJobOptions(importing).action((file: string | undefined, options: AdminApiFlags & ImportOptions) =>
    runCommand(importing, options, session => runImport(session, file, options))
  )

  const jobs = add('jobs', "list the jobs of the key's organization, or show one").argument(
    '[jobId]',
    'id of the job',
    parseJobId
  )
  jobs.action((id: string | undefined, options: AdminApiFlags) =>
    runCommand(jobs, options, session => (id === undefined ? listJobs(session) : showJob(session, id)))
  )
  const cancel = add('cancel', 'cancel a job that has not ended').argument('<jobId>', 'id of the job', parseJobId)
  cancel.action((id: string, options: AdminApiFlags) => runCommand(cancel, options, session => cancelJob(session, id)))
}

function addJobOptions (command: Command): Command {
  return command
    .option('--job <jobId>', 'resume this job instead of starting a new one', parseJobId)
    .option('--cancel-on-interrupt', 'cancel the job when the command is interrupted; otherwise it keeps running')
}

function parseJobId (text: string): string {
  if (!/^job-[a-z2-7]{26}$/.test(text)) {
    throw new InvalidArgumentError(
      'A job id is job- followed by 26 letters and digits, as listed by clinigate bulk jobs.'
    )
  }
  return text
}

/** Prints the caller's jobs, newest first. */
async function listJobs ({ client, signal, out, isJson }: Session): Promise<void> {
  const jobs: BulkJob[] = []
  let cursor: string | undefined
  do {
    const query = { count: 100, ...cursor !== undefined && { cursor } }
    const page: Page<BulkJob> = await client.bulk.list(query, { signal })
    jobs.push(...page.data)
    cursor = page.cursor
  } while (cursor !== undefined)
  if (isJson) out(`${JSON.stringify(jobs, null, 2)}\n`)
  else out(jobs.map(formatJobLine).join('') || 'No jobs.\n')
}

/** Prints one job. */
async function showJob ({ client, signal, out, isJson }: Session, id: string): Promise<void> {
  const job = await client.bulk.read(id, { signal })
  out(isJson ? `${JSON.stringify(job)}\n` : formatJob(job))
}

/** Cancels a job; a job that has ended otherwise is reported as an error. */
async function cancelJob ({ client, signal, out, err, isJson }: Session, id: string): Promise<void> {
  const job = await client.bulk.cancel(id, { signal })
  out(isJson ? `${JSON.stringify(job)}\n` : formatJobLine(job))
  if (job.status === 'cancelled') return
  err(`The job had already ended with status ${job.status}.\n`)
  throw new ExitWithFindings()
}

function formatJobLine ({ id, type, status, processedRecords, failedRecords, createdAt }: BulkJob): string {
  return `${id}  ${type}  ${status.padEnd('processing'.length)}  ${formatInteger(processedRecords).padStart(11)} records  ${formatInteger(failedRecords).padStart(7)} failed  ${createdAt}\n`
}

function formatJob (job: BulkJob): string {
  const { totalRecords, secondsLeft, files, errors, failure, expiresAt } = job
  return [
    formatJobLine(job),
    totalRecords === undefined
      ? ''
      : `  ${formatInteger(totalRecords)} records in all${secondsLeft === undefined ? '' : `, about ${formatInteger(secondsLeft)} s left`}\n`,
    ...files.map(({ resourceType, count }) => `  ${resourceType}: ${formatInteger(count)}\n`),
    ...errors.map(({ line, code, message }) => `  line ${line}: ${code} ${message}\n`),
    failure === undefined ? '' : `  ${failure.code} ${failure.message}\n`,
    `  kept until ${expiresAt}\n`
  ].join('')
}
