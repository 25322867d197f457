import { InvalidArgumentError, type Command } from 'commander'
import { audit } from '../tenant-guard/walk/audit.js'
import { auditForPeople, auditJson, hasFindings } from './audit-report.js'
import { servedAmong, typesOf, withDatastore, type Named } from './datastore.js'
import { FaultsFound, type Surroundings } from './surroundings.js'
import { walkProgress } from './walk-progress.js'

interface Options { readonly url?: string, readonly type?: readonly string[], readonly json?: true, readonly limit: number }

const help = `
Findings:
  no-tag              the record belongs to nobody; adopt gives it a tenant
  several-tags        the record has more than one tag of the tenant system
  unclear-tag         its tag is not written as the gateway writes it
  foreign-reference   a tenant's record refers to another tenant's
  untagged-reference  it refers to a record that does not belong to exactly one tenant
  dangling-reference  it refers to a record that does not exist
  outside-reference   it refers to what no tenant can have: another server, a search, a shared type

Reads all records, as long as it takes, and writes nothing. Deleted records are not looked at.
Ends with 0 when there is nothing to find, 1 when there is, 2 when the command was not understood or the datastore failed.

  clinigate audit live
  clinigate audit live --json | jq -r 'select(.finding == "no-tag") | .type + "/" + .id'`

/** Adds the command that looks for records which the gateway shows nobody, and for references across tenants. */
export function addAudit (program: Command, surroundings: Surroundings): void {
  const command = program.command('audit').description('find records without one clear tenant, and references that cross tenants')
    .argument('[datastore]', 'its name in the configuration, such as test or live')
    .option('--url <url>', 'in place of the name: the base URL of a FHIR server that needs no authentication')
    .option('--type <types>', 'only these resource types, with commas between (default: all)', typesOf)
    .option('--json', 'print every finding as a line of JSON, and a summary as the last line')
    .option('--limit <number>', 'how many findings to print for people', natural, 20)
    .addHelpText('after', help)
  command.action(async (name: string | undefined, options: Options) => {
    if ((name === undefined) === (options.url === undefined)) command.error('error: name a datastore, or a server with --url', { exitCode: 2 })
    const named: Named = name === undefined ? { url: options.url! } : { name }
    await withDatastore(command, named, surroundings, async ({ config: { tenantSystem }, backend, ledger }) => {
      const progress = walkProgress(surroundings.streams)
      const types = options.type && await servedAmong(backend, options.type)
      const audited = await audit({ backend, tenantSystem, types, ledger, onProgress: progress.show }).finally(progress.end)
      for (const text of options.json ? auditJson(ledger, audited, backend.name) : auditForPeople(ledger, audited, options.limit)) surroundings.out(text)
      if (hasFindings(ledger)) throw new FaultsFound()
    })
  })
}

function natural (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Write a whole number.')
  return Number(text)
}
