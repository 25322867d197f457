import { InvalidArgumentError, type Command } from 'commander'
import type { Surroundings } from '../surroundings.js'
import { gatewayAt, placeOf } from './gateway.js'
import { cancelJob, listJobs, showJob } from './jobs.js'
import type { Session } from './session.js'
import { settling, untilInterrupted } from './trouble.js'

interface PlaceOptions { readonly url?: string, readonly json?: true }

const help = `
Needs no configuration and no database: only a gateway and a key, which is in the variable CLINIGATE_API_KEY.
Ends with 0 when all is done, 1 when records failed or the job did, 2 when the command was not understood or the gateway
can't be used, 130 when it was interrupted: the job then goes on, and --job goes on with it.

  clinigate bulk jobs --url https://api.example.org`

/** Adds the commands that move records in bulk through a gateway. */
export function addBulk (program: Command, surroundings: Surroundings): void {
  const bulk = program.command('bulk').description('move any number of records out of and into a gateway').addHelpText('after', help)
  const add = (name: string, description: string): Command => bulk.command(name).description(description)
    .option('--url <url>', 'where the gateway is (default: CLINIGATE_URL, or else http://127.0.0.1:8080)')
    .option('--json', 'print the outcome as JSON')
  const doing = (command: Command, { url, json }: PlaceOptions, work: (session: Session) => Promise<void>): Promise<void> =>
    settling(command, () => untilInterrupted(signal => work(sessionIn(surroundings, { url, isJson: json === true, signal }))))

  const jobs = add('jobs', 'list the jobs of the key\'s organization, or show one').argument('[jobId]', 'which one', jobIdOf)
  jobs.action((id: string | undefined, options: PlaceOptions) => doing(jobs, options, session => id === undefined ? listJobs(session) : showJob(session, id)))
  const cancel = add('cancel', 'end a job that has not ended').argument('<jobId>', 'which one', jobIdOf)
  cancel.action((id: string, options: PlaceOptions) => doing(cancel, options, session => cancelJob(session, id)))
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
