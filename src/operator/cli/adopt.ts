import { InvalidArgumentError, type Command } from 'commander'
import type { Backend } from '../../backends/backend.js'
import { adopt } from '../ownership-scan/adopt.js'
import { CriteriaRefused, readCriteria, type AdoptionCriteria } from '../ownership-scan/adopt-criteria.js'
import { adoptionText, adoptionJson, hasFailed } from './adopt-report.js'
import { fetchSupportedTypes, typesOf, openForDatastore, type OpenedDatastore } from './datastore.js'
import { ExitWithFindings, withControlStore, type CliContext } from './context.js'
import { walkProgress } from './scan-progress.js'

interface Options {
  readonly tenant: string
  readonly type?: readonly string[]
  readonly allTypes?: true
  readonly search?: AdoptionCriteria
  readonly dryRun?: true
  readonly parallel: number
  readonly json?: true
}

const help = `
Each record gets the tenant's tag; nothing else in it changes. Records that already have a tag of the tenant system are
skipped. You can interrupt a run at any time; the same command continues it.
Exit codes: 0 all adopted, 1 some records could not be adopted, 2 invalid command or datastore failure.

  clinigate adopt live --tenant <tenantId> --type Patient,Observation --dry-run
  clinigate adopt live --tenant <tenantId> --search 'Patient?organization=Organization/7'`

/** Adds the command that assigns existing records to a tenant. */
export function addAdopt (program: Command, context: CliContext): void {
  const command = program.command('adopt').description('assign records without an owner to a tenant')
    .argument('<datastore>', 'name in the configuration, such as test or live')
    .requiredOption('--tenant <tenantId>', 'tenant that gets the records')
    .option('--type <types>', 'comma-separated resource types', typesOf)
    .option('--all-types', 'all types whose records can belong to a tenant')
    .option('--search <search>', 'records that match a search, such as Patient?organization=Organization/7', searchOf)
    .option('--dry-run', 'show what would be done without changing anything')
    .option('--parallel <number>', 'concurrent writes, from 1 to 64; fewer while the datastore is busy', parallelOf, 4)
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', help)
  command.action(async (name: string, options: Options) => {
    const ways = [options.type, options.allTypes, options.search].filter(way => way !== undefined)
    if (ways.length !== 1) {
      command.error('error: select records with one of --type, --all-types and --search', { exitCode: 2 })
    }
    await openForDatastore(command, { name }, context, opened => run(opened, options, context))
  })
}

async function run (opened: OpenedDatastore, options: Options, context: CliContext): Promise<void> {
  const { out, streams } = context
  const { config, backend, ledger } = opened
  await withControlStore(config, context, store => store.organizations.find(options.tenant))
  const { tenant: id, parallel, dryRun: isDryRun = false } = options
  const progress = walkProgress({ stderr: streams.stderr })
  const show = (isComplete: boolean): void =>
    out(
      (options.json ? adoptionJson : adoptionText)(ledger, {
        tenantId: id,
        datastore: backend.name,
        isDryRun,
        isComplete
      })
    )
  try {
    const criteria = await requestedOf(options, backend)
    await adopt({
      backend,
      tenant: { id, system: config.tenantSystem },
      criteria,
      isDryRun,
      parallel,
      ledger,
      onProgress: progress.show
    })
  } catch (error) {
    progress.end()
    if (ledger.recordCounts().length > 0) show(false)
    throw error
  }
  progress.end()
  show(true)
  if (hasFailed(ledger)) throw new ExitWithFindings()
}

async function requestedOf ({ type: types, search }: Options, backend: Backend): Promise<AdoptionCriteria[]> {
  if (search !== undefined) return [search]
  return (await fetchSupportedTypes(backend, types)).map(type => ({ type, criteria: [] }))
}

function searchOf (text: string): AdoptionCriteria {
  try {
    return readCriteria(text)
  } catch (error) {
    if (error instanceof CriteriaRefused) throw new InvalidArgumentError(error.message)
    throw error
  }
}

function parallelOf (text: string): number {
  const number = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > 64) throw new InvalidArgumentError('Use a whole number from 1 to 64.')
  return number
}
