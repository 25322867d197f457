import { statSync } from 'node:fs'
import { InvalidArgumentError, type Command } from 'commander'
import { listLogFiles, verify, type VerificationResult } from '../../observability/audit-log/chain.js'
import { ExitWithFindings, type CliContext } from './context.js'

const help = `
Reads the file and its rotated predecessors, oldest first, and reports the first line that was changed or is out of place.
Exit codes: 0 the log is intact, 1 it is not or cannot be read, 2 invalid command.

Anyone who can write to the log can also replace it. Regularly store the number and hash of the last line elsewhere, and
pass them as --known to a later check: it fails if the log no longer contains that line.

  clinigate audit-log verify /var/log/clinigate/access.log
  clinigate audit-log verify /var/log/clinigate/access.log --known 41893:9f2c…`

/** Adds the command that verifies that an access audit log is complete. */
export function addAuditLog (program: Command, { out }: CliContext): void {
  const command = program.command('audit-log').description('check the access audit log')
  command
    .command('verify')
    .description('find the first line of an access audit log that was changed, removed or added')
    .argument('<file>', 'path of the log, as in auditLog.file')
    .option('--known <number:hash>', 'a line that the log must contain, as printed by an earlier check', parseKnownLine)
    .addHelpText('after', help)
    .action(async (file: string, { known }: { readonly known?: string }) => {
      const verdict = await verify(requireFiles(file), known)
      out(`${JSON.stringify(toReport(verdict))}\n`)
      if (verdict.broken !== undefined || verdict.isKnownMissing) throw new ExitWithFindings()
    })
}

/** Rejects text that is not a line, which would otherwise be reported as missing from the log. */
function parseKnownLine (text: string): string {
  if (!/^\d{1,15}:[0-9a-f]{64}$/.test(text)) {
    throw new InvalidArgumentError(
      'Use a line number, a colon and a hash of 64 characters, as in "last" of an earlier check.'
    )
  }
  return text
}

function requireFiles (file: string): string[] {
  const files = listLogFiles(file)
  if (files.length === 0) throw new Error('no such file, and no rotated one either; use the path in auditLog.file')
  if (files.includes(file) && statSync(file).isDirectory()) {
    throw new Error('it is a directory; use the path of the file, as in auditLog.file')
  }
  return files
}

function toReport ({ lines, first, last, broken, isKnownMissing }: VerificationResult) {
  return {
    status: broken !== undefined ? 'broken' : isKnownMissing ? 'shortened' : 'whole',
    lines,
    ...first > 1 && { firstLine: first },
    last: `${last.n}:${last.hash}`,
    ...broken && { broken },
    ...isKnownMissing && { reason: 'the known line is missing' }
  }
}
