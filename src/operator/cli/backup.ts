import { join } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/load.js'
import { readControlDatabaseUrl } from '../../config/secrets.js'
import { backUpSqlite } from '../../control-plane/store/database/backup.js'
import { ControlError } from '../../control-plane/store/control-error.js'
import type { CliContext } from './context.js'

/** The data that a copy of the control database does not contain. */
const alsoNeeded = [
  'the FHIR server, with its own backup: it holds all clinical data',
  'the configuration, and the secrets that it names',
  'cursor.secret in the data directory (or cursor.secretFile), once: without it current page links fail',
  'webhooks.secret there (or webhooks.secretFile), once and apart from the copy: without it no webhook is delivered'
]

/** Adds the command that copies the control database while the service runs. */
export function addBackup (program: Command, { environment, now, out }: CliContext): void {
  program
    .command('backup')
    .description('copy the control database of this machine while the service runs; PostgreSQL has pg_dump')
    .requiredOption('--to <directory>', 'where to write the copy, which only its owner can read')
    .action(async ({ to }: { to: string }) => {
      const config = loadConfig(environment)
      if (readControlDatabaseUrl(config, environment) !== undefined) {
        throw new ControlError('invalid', 'The control database is PostgreSQL. Use (umask 077; pg_dump …).')
      }
      const file = await backUpSqlite(join(config.dataDirectory, 'control.db'), to, now())
      out(`${JSON.stringify({ file, alsoNeeded }, null, 2)}\n`)
    })
}
