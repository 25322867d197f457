import type { Command } from 'commander'
import type { CliContext } from '../context.js'
import { parseTime } from '../times.js'
import { runUntilInterrupted, withExitCode } from './errors.js'
import { openSession, type Session } from './gateway.js'

interface TailOptions {
  readonly url?: string
  readonly types?: string
  readonly since?: string
}

/** Adds the command that follows the changes of records through a gateway. */
export function addEvents (program: Command, context: CliContext): void {
  const tail = program.command('events').description('follow the changes of records through a gateway')
    .command('tail')
    .description('print each change as a line of JSON, until interrupted. The key is in CLINIGATE_API_KEY')
    .option('--url <url>', 'URL of the gateway (default: CLINIGATE_URL, or else http://127.0.0.1:8080)')
    .option('--types <types>', 'comma-separated types, such as patients.*,observations.created (default: all)')
    .option('--since <time>', 'also changes since, such as 2030-01-31T00:00:00Z (default: only new ones)', parseTime)
  tail.action(({ url, ...options }: TailOptions) =>
    withExitCode(tail, () =>
      runUntilInterrupted(signal => followEvents(openSession(context, { url, isJson: true, signal }), options))))
}

async function followEvents (
  { persistentClient, signal, out }: Session,
  { types, since = new Date().toISOString() }: TailOptions
): Promise<void> {
  const options = { ...types !== undefined && { types: types.split(',') }, since, signal }
  // The requests themselves were repeated for ten minutes.
  const onFailure = (error: Error): void => { throw error }
  for await (const event of persistentClient.events.follow({ ...options, onFailure })) {
    out(`${JSON.stringify(event)}\n`)
  }
}
