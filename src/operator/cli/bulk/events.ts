import type { Command } from 'commander'
import type { CliContext } from '../context.js'
import { parseTime } from '../times.js'
import { sessionIn } from './command.js'
import { untilSigint, withRetry } from './errors.js'
import { requestTimeoutMs } from './gateway.js'
import type { Session } from './session.js'

interface TailOptions {
  readonly url?: string
  readonly types?: string
  readonly since?: string
}

interface EventPage { readonly data: readonly object[], readonly cursor: string }

/** Below the time that a gateway allows a request to wait, in seconds. */
const waitSeconds = 25

/** Adds the command that follows the changes of records through a gateway. */
export function addEvents (program: Command, context: CliContext): void {
  const tail = program.command('events').description('follow the changes of records through a gateway')
    .command('tail')
    .description('print each change as a line of JSON, until interrupted. The key is in CLINIGATE_API_KEY')
    .option('--url <url>', 'URL of the gateway (default: CLINIGATE_URL, or else http://127.0.0.1:8080)')
    .option('--types <types>', 'comma-separated types, such as patients.*,observations.created (default: all)')
    .option('--since <time>', 'also changes since, such as 2030-01-31T00:00:00Z (default: only new ones)', parseTime)
  tail.action(({ url, ...options }: TailOptions) =>
    withRetry(tail, () =>
      untilSigint(signal => followEvents(sessionIn(context, { url, isJson: true, signal }), options))))
}

async function followEvents (
  { gateway, signal, out }: Session,
  { types, since = new Date().toISOString() }: TailOptions
): Promise<void> {
  const query = new URLSearchParams({ ...types !== undefined && { types }, since, count: '100' })
  for (;;) {
    signal.throwIfAborted()
    query.set('wait', String(waitSeconds))
    const { data, cursor } = await gateway.send<EventPage>(`/events?${query}`, { timeoutMs: requestTimeoutMs })
    for (const event of data) out(`${JSON.stringify(event)}\n`)
    query.set('cursor', cursor)
    query.delete('since')
  }
}
