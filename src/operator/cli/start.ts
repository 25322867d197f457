import { Option, type Command } from 'commander'
import type { StartOptions } from '../../bootstrap/process.js'
import type { CliContext } from './context.js'

/** Adds the command that runs the service, as `npm start` does. */
export function addStart (program: Command, { environment, out }: CliContext): void {
  program
    .command('start')
    .description('run the gateway, the control plane, both, or bulk jobs alone, until the process is stopped')
    .addOption(
      new Option('--role <role>', 'role of the process; overrides CLINIGATE_ROLE').choices([
        'all',
        'gateway',
        'control',
        'worker'
      ])
    )
    .option('--processes <n>', 'processes that serve the port together; overrides CLINIGATE_PROCESSES')
    .option('--config <file>', 'configuration file; overrides CLINIGATE_CONFIG')
    .action(async (options: StartOptions) => {
      // The other commands need not wait for all that the service is made of.
      const { startProcess } = await import('../../bootstrap/process.js')
      await startProcess(options, { environment, out })
    })
}
