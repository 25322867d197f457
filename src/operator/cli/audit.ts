import { InvalidArgumentError, type Command } from 'commander'
import { audit } from '../ownership-scan/audit.js'
import { auditText, auditJson, hasFindings } from './audit-report.js'
import { fetchSupportedTypes, typesOf, openForDatastore, type DatastoreOption } from './datastore.js'
import { ExitWithFindings, type CliContext } from './context.js'
import { walkProgress } from './scan-progress.js'

interface Options {
  readonly url?: string
  readonly type?: readonly string[]
  readonly json?: true
  readonly limit: number
}

const help = `
Findings:
  no-tag              the record belongs to no tenant; clinigate adopt assigns one
  several-tags        the record has more than one tag of the tenant system
  unclear-tag         its tag does not have the form that the gateway writes
  foreign-reference   a tenant's record refers to a record of another tenant
  untagged-reference  it refers to a record that does not belong to exactly one tenant
  dangling-reference  it refers to a record that does not exist
  outside-reference   it refers to something that no tenant can own: another server, a search, a shared type

Reads all records, which may take long, and writes nothing. Deleted records are not checked.
Exit codes: 0 no findings, 1 findings, 2 invalid command or datastore failure.

  clinigate audit live
  clinigate audit live --json | jq -r 'select(.finding == "no-tag") | .type + "/" + .id'`

/** Adds the command that finds records that the gateway shows to no tenant, and references across tenants. */
export function addAudit (program: Command, context: CliContext): void {
  const command = program
    .command('audit')
    .description('find records without exactly one tenant, and references across tenants')
    .argument('[datastore]', 'name in the configuration, such as test or live')
    .option('--url <url>', 'base URL of a FHIR server that needs no authentication, instead of a name')
    .option('--type <types>', 'comma-separated resource types (default: all)', typesOf)
    .option('--json', 'print each finding as one line of JSON, and a summary as the last line')
    .option('--limit <number>', 'maximum number of findings in the text report', natural, 20)
    .addHelpText('after', help)
  command.action(async (name: string | undefined, options: Options) => {
    if ((name === undefined) === (options.url === undefined)) {
      command.error('error: name a datastore, or a server with --url', { exitCode: 2 })
    }
    const named: DatastoreOption = name === undefined ? { url: options.url! } : { name }
    await openForDatastore(command, named, context, async ({ config: { tenantSystem }, backend, ledger }) => {
      const progress = walkProgress(context.streams)
      const types = options.type && await fetchSupportedTypes(backend, options.type)
      const audited = await audit({ backend, tenantSystem, types, ledger, onProgress: progress.show }).finally(
        progress.end
      )
      for (const text of options.json
        ? auditJson(ledger, audited, backend.name)
        : auditText(ledger, audited, options.limit)) { context.out(text) }
      if (hasFindings(ledger)) throw new ExitWithFindings()
    })
  })
}

function natural (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number.')
  return Number(text)
}
