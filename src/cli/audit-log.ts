import type { Command } from 'commander'
import { filesOf, verify, type Verdict } from '../audit-log/verify.js'
import { FaultsFound, type Surroundings } from './surroundings.js'

const help = `
Reads the file and those that were set aside when they were full, oldest first. Ends with 0 when every line is as it was
written and in its place, 1 when one is not, and names the first of them.

Who can write to the log can also write a whole new one. So keep the last line's number and hash elsewhere, from time to time,
and give them to a later look: it fails when the log no longer has that line.

  clinigate audit-log verify /var/log/clinigate/access.log
  clinigate audit-log verify /var/log/clinigate/access.log --known 41893:9f2c…`

/** Adds the command that looks whether an access audit log is whole. */
export function addAuditLog (program: Command, { out }: Surroundings): void {
  const command = program.command('audit-log').description('look after the access audit log')
  command.command('verify').description('find the first line of an access audit log that was changed, removed or added')
    .argument('<file>', 'as auditLog.file names it')
    .option('--known <number:hash>', 'a line that the log must have, as an earlier look printed it')
    .addHelpText('after', help)
    .action(async (file: string, { known }: { readonly known?: string }) => {
      const verdict = await verify(demandFiles(file), known)
      out(`${JSON.stringify(shownOf(verdict))}\n`)
      if (verdict.broken !== undefined || verdict.isKnownMissing) throw new FaultsFound()
    })
}

function demandFiles (file: string): string[] {
  const files = filesOf(file)
  if (files.length === 0) throw new Error('there is no such file, and none that was set aside; name it as auditLog.file does')
  return files
}

function shownOf ({ lines, first, last, broken, isKnownMissing }: Verdict) {
  return {
    status: broken !== undefined ? 'broken' : isKnownMissing ? 'shortened' : 'whole',
    lines,
    ...first > 1 && { firstLine: first },
    last: `${last.n}:${last.hash}`,
    ...broken && { broken },
    ...isKnownMissing && { reason: 'the line that is known is not in it' }
  }
}
