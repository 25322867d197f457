import { Command, CommanderError } from 'commander'
import { ControlError } from '../../control-plane/store/control-error.js'
import { explainStartupError } from '../../bootstrap/startup-errors.js'
import { version } from '../../bootstrap/version.js'
import { addAdopt } from './adopt.js'
import { addAudit } from './audit.js'
import { addAuditLog } from './audit-log.js'
import { addBackup } from './backup.js'
import { addBulk } from './bulk/command.js'
import { addCompare } from './compare/command.js'
import { addDoctor } from './doctor.js'
import { addEvents } from './bulk/events.js'
import { addKeys } from './keys.js'
import { addOperators } from './operators.js'
import { addOrgs } from './orgs.js'
import { addStart } from './start.js'
import { createControl, ExitWithFindings, Interrupted, type CliContext } from './context.js'
import { addTokens } from './tokens.js'
import { addUsage } from './usage.js'
import { addValidate } from './validate/command.js'

/**
 * Runs one command and returns its exit code: 0 done, 1 not possible, 2 not understood, 130 interrupted. Results go to
 * `out`, most of them as JSON, all other texts to `err`.
 */
export async function run (args: readonly string[], context: CliContext): Promise<number> {
  const program = new Command('clinigate')
    .version(version)
    .description('Runs and manages clinigate. A running gateway applies changes within a second.')
    .option(
      '--control-url <url>',
      'manage the control plane at this URL with the token in CONTROL_TOKEN (default: CONTROL_URL, or else the configured database)'
    )
    .configureOutput({ writeOut: context.out, writeErr: context.err })
    .exitOverride()
  const control = createControl(context, () => program.opts<{ controlUrl?: string }>().controlUrl)
  addStart(program, context)
  addOrgs(program, control)
  addKeys(program, control)
  addTokens(program, control)
  addUsage(program, control, context)
  addOperators(program, control)
  addAudit(program, context)
  addAuditLog(program, context)
  addAdopt(program, context)
  addDoctor(program, context)
  addValidate(program, context)
  addCompare(program, context)
  addBackup(program, context)
  addBulk(program, context)
  addEvents(program, context)
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has already reported the error itself.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    if (error instanceof ExitWithFindings) return 1
    if (error instanceof Interrupted) return 130
    context.err(`clinigate: ${explain(error)}\n`)
    return 1
  }
}

function explain (error: unknown): string {
  if (!(error instanceof ControlError)) return explainStartupError(error)
  return error.reason === 'missing'
    ? `${error.message} Are CLINIGATE_DATA and CONTROL_DATABASE_URL those of the gateway?`
    : error.message
}
