import { InvalidArgumentError, type Command } from 'commander'
import type { Backend } from '../backends/backend.js'
import { adopt } from '../tenant-guard/walk/adopt.js'
import { CriteriaRefused, readCriteria, type Wanted } from '../tenant-guard/walk/adopt-criteria.js'
import { adoptionForPeople, adoptionJson, hasFailed } from './adopt-report.js'
import { servedAmong, typesOf, withDatastore, type OpenedDatastore } from './datastore.js'
import { FaultsFound, withControlStore, type Surroundings } from './surroundings.js'
import { walkProgress } from './walk-progress.js'

interface Options {
  readonly tenant: string
  readonly type?: readonly string[]
  readonly allTypes?: true
  readonly search?: Wanted
  readonly dryRun?: true
  readonly parallel: number
  readonly json?: true
}

const help = `
A record gets the tenant's tag and stays as it is in all else; one that has any tag of the tenant system is left alone. A
run can be ended at any moment: the same command goes on where it was.
Ends with 0 when all is adopted, 1 when a record could not be, 2 when the command was not understood or the datastore failed.

  clinigate adopt live --tenant <tenantId> --type Patient,Observation --dry-run
  clinigate adopt live --tenant <tenantId> --search 'Patient?organization=Organization/7'`

/** Adds the command that gives existing records to a tenant. */
export function addAdopt (program: Command, surroundings: Surroundings): void {
  const command = program.command('adopt').description('give records that belong to nobody to a tenant')
    .argument('<datastore>', 'its name in the configuration, such as test or live')
    .requiredOption('--tenant <tenantId>', 'whose they become')
    .option('--type <types>', 'resource types, with commas between', typesOf)
    .option('--all-types', 'every type that tenants can have records of')
    .option('--search <search>', 'what a search finds, such as Patient?organization=Organization/7', searchOf)
    .option('--dry-run', 'tell what would be done and change nothing')
    .option('--parallel <number>', 'writes at a time, from 1 to 64; fewer while the datastore is busy', parallelOf, 4)
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', help)
  command.action(async (name: string, options: Options) => {
    const ways = [options.type, options.allTypes, options.search].filter(way => way !== undefined)
    if (ways.length !== 1) command.error('error: say which records with one of --type, --all-types and --search', { exitCode: 2 })
    await withDatastore(command, { name }, surroundings, opened => run(opened, options, surroundings))
  })
}

async function run (opened: OpenedDatastore, options: Options, surroundings: Surroundings): Promise<void> {
  const { out, streams } = surroundings
  const { config, backend, ledger } = opened
  await withControlStore(config, surroundings, store => store.findOrganization(options.tenant))
  const { tenant: id, parallel, dryRun: isDryRun = false } = options
  const progress = walkProgress({ stderr: streams.stderr })
  const show = (isComplete: boolean): void => out((options.json ? adoptionJson : adoptionForPeople)(ledger, { tenantId: id, datastore: backend.name, isDryRun, isComplete }))
  try {
    const wanted = await wantedOf(options, backend)
    await adopt({ backend, tenant: { id, system: config.tenantSystem }, wanted, isDryRun, parallel, ledger, onProgress: progress.show })
  } catch (error) {
    progress.end()
    if (ledger.recordCounts().length > 0) show(false)
    throw error
  }
  progress.end()
  show(true)
  if (hasFailed(ledger)) throw new FaultsFound()
}

async function wantedOf ({ type: types, search }: Options, backend: Backend): Promise<Wanted[]> {
  if (search !== undefined) return [search]
  return (await servedAmong(backend, types)).map(type => ({ type, criteria: [] }))
}

function searchOf (text: string): Wanted {
  try {
    return readCriteria(text)
  } catch (error) {
    if (error instanceof CriteriaRefused) throw new InvalidArgumentError(error.message)
    throw error
  }
}

function parallelOf (text: string): number {
  const number = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > 64) throw new InvalidArgumentError('Write a whole number from 1 to 64.')
  return number
}
