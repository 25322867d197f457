import { InvalidArgumentError, Option, type Command } from 'commander'
import { exportFormats } from '../../jobs/job.js'
import type { Surroundings } from '../surroundings.js'
import { parseTime } from '../times.js'
import { runExport, type ExportWish } from './export.js'
import { gatewayAt, placeOf } from './gateway.js'
import { runImport, type ImportWish } from './import.js'
import { cancelJob, listJobs, showJob } from './jobs.js'
import type { Session } from './session.js'
import { settling, untilInterrupted } from './trouble.js'

interface PlaceOptions { readonly url?: string, readonly json?: true }

const help = `
Needs no configuration and no database: only a gateway and a key, which is in the variable CLINIGATE_API_KEY.
Ends with 0 when all is done, 1 when records failed or the job did, 2 when the command was not understood or the gateway
can't be used, 130 when it was interrupted: the job then goes on, and --job goes on with it.

  clinigate bulk export --types patients,Observation --to records
  clinigate bulk import patients.ndjson --type patients --dry-run
  clinigate bulk jobs --url https://api.example.org`

/** Adds the commands that move records in bulk through a gateway. */
export function addBulk (program: Command, surroundings: Surroundings): void {
  const bulk = program.command('bulk').description('move any number of records out of and into a gateway').addHelpText('after', help)
  const add = (name: string, description: string): Command => bulk.command(name).description(description)
    .option('--url <url>', 'where the gateway is (default: CLINIGATE_URL, or else http://127.0.0.1:8080)')
    .option('--json', 'print the outcome as JSON')
  const doing = (command: Command, { url, json }: PlaceOptions, work: (session: Session) => Promise<void>): Promise<void> =>
    settling(command, () => untilInterrupted(signal => work(sessionIn(surroundings, { url, isJson: json === true, signal }))))

  const exporting = add('export', 'export records into a directory, a file of NDJSON for each type')
    .requiredOption('--to <directory>', 'where the files are to be; made where it is missing')
    .option('--types <types>', 'such as patients,Observation, with commas between (default: all)', text => text.split(','))
    .option('--since <time>', 'only records changed since, such as 2030-01-31T00:00:00Z', parseTime)
    .addOption(new Option('--format <format>', 'the form of the records (default: fhir)').choices(exportFormats))
    .option('--force', 'overwrite files that are there')
  following(exporting).action((options: PlaceOptions & ExportWish) => doing(exporting, options, session => runExport(session, options)))

  const importing = add('import', 'import records, one a line of NDJSON, in the simple form or as FHIR')
    .argument('[file]', 'a file, also one of gzip that ends with .gz, or - for standard input')
    .option('--type <type>', 'of lines that do not say it, such as patients')
    .option('--dry-run', 'check every line and write nothing')
    .option('--results <file>', 'where the result of each line is written (default: <file>.results.ndjson)')
    .option('--force', 'overwrite results that are there')
  following(importing).action((file: string | undefined, options: PlaceOptions & ImportWish) => doing(importing, options, session => runImport(session, file, options)))

  const jobs = add('jobs', 'list the jobs of the key\'s organization, or show one').argument('[jobId]', 'which one', jobIdOf)
  jobs.action((id: string | undefined, options: PlaceOptions) => doing(jobs, options, session => id === undefined ? listJobs(session) : showJob(session, id)))
  const cancel = add('cancel', 'end a job that has not ended').argument('<jobId>', 'which one', jobIdOf)
  cancel.action((id: string, options: PlaceOptions) => doing(cancel, options, session => cancelJob(session, id)))
}

function following (command: Command): Command {
  return command
    .option('--job <jobId>', 'go on with this job, in place of a new one', jobIdOf)
    .option('--cancel-on-interrupt', 'cancel the job when the command is interrupted; else it goes on')
}

interface SessionWish { readonly url: string | undefined, readonly isJson: boolean, readonly signal: AbortSignal }

function sessionIn ({ environment, streams, out, err }: Surroundings, { url, isJson, signal }: SessionWish): Session {
  const place = placeOf(url ?? environment.CLINIGATE_URL ?? 'http://127.0.0.1:8080', environment.CLINIGATE_API_KEY)
  const notice = (text: string): void => err(`${text}\n`)
  return { gateway: gatewayAt(place, { signal, notice }), afterwards: gatewayAt(place), signal, streams, out, err, isJson }
}

function jobIdOf (text: string): string {
  if (!/^job-[a-z2-7]{26}$/.test(text)) throw new InvalidArgumentError('The id of a job is job- and 26 letters and digits, as clinigate bulk jobs lists it.')
  return text
}
