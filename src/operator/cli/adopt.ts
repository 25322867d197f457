import { InvalidArgumentError, type Command } from 'commander'
import type { Backend } from '../../backends/backend.js'
import { adopt } from '../ownership-scan/adopt.js'
import { CriteriaRefused, readCriteria, type AdoptionCriteria } from '../ownership-scan/adopt-criteria.js'
import { fetchSupportedTypes, parseTypes, openForDatastore, type OpenedDatastore } from './datastore.js'
import { ExitWithFindings, withControlStore, type CliContext } from './context.js'
import { createScanProgress } from './progress.js'
import type { ScanIndex } from '../ownership-scan/scan-index.js'
import { formatTable, formatInteger } from './table.js'

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
    .option('--type <types>', 'comma-separated resource types', parseTypes)
    .option('--all-types', 'all types whose records can belong to a tenant')
    .option('--search <search>', 'records that match a search, such as Patient?organization=Organization/7', parseSearch)
    .option('--dry-run', 'show what would be done without changing anything')
    .option('--parallel <number>', 'concurrent writes, from 1 to 64; fewer while the datastore is busy', parseParallel, 4)
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', help)
  command.action(async (name: string, options: Options) => {
    const selections = [options.type, options.allTypes, options.search].filter(selection => selection !== undefined)
    if (selections.length !== 1) {
      command.error('error: select records with one of --type, --all-types and --search', { exitCode: 2 })
    }
    await openForDatastore(command, { named: { name }, context }, opened => run(opened, options, context))
  })
}

async function run (opened: OpenedDatastore, options: Options, context: CliContext): Promise<void> {
  const { out, streams } = context
  const { config, backend, ledger } = opened
  await withControlStore(config, context, store => store.organizations.find(options.tenant))
  const { tenant: id, parallel, dryRun: isDryRun = false } = options
  const progress = createScanProgress({ stderr: streams.stderr })
  const show = (isComplete: boolean): void =>
    out(
      (options.json ? formatAdoptionJson : formatAdoptionText)(ledger, {
        tenantId: id,
        datastore: backend.name,
        isDryRun,
        isComplete
      })
    )
  try {
    const criteria = await resolveCriteria(options, backend)
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
    if (ledger.countRecords().length > 0) show(false)
    throw error
  }
  progress.end()
  show(true)
  if (hasFailed(ledger)) throw new ExitWithFindings()
}

async function resolveCriteria ({ type: types, search }: Options, backend: Backend): Promise<AdoptionCriteria[]> {
  if (search !== undefined) return [search]
  return (await fetchSupportedTypes(backend, types)).map(type => ({ type, criteria: [] }))
}

function parseSearch (text: string): AdoptionCriteria {
  try {
    return readCriteria(text)
  } catch (error) {
    if (error instanceof CriteriaRefused) throw new InvalidArgumentError(error.message)
    throw error
  }
}

function parseParallel (text: string): number {
  const number = /^\d{1,2}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > 64) throw new InvalidArgumentError('Use a whole number from 1 to 64.')
  return number
}

const failed = 'failed: '
const isFailed = (state: string): boolean => state.startsWith(failed)

/** Whether a record could not be adopted. */
function hasFailed (ledger: ScanIndex): boolean {
  return ledger.countRecords().some(({ state }) => isFailed(state))
}

/** Which run a report is about. */
interface AdoptionRun {
  readonly tenantId: string
  readonly datastore: string
  readonly isDryRun: boolean
  readonly isComplete: boolean
}

/** The summary for programs: one line of JSON. */
function formatAdoptionJson (ledger: ScanIndex, about: AdoptionRun): string {
  const types: Record<string, Record<string, number>> = {}
  for (const [type, states] of countStatesByType(ledger)) types[type] = Object.fromEntries(states)
  return `${JSON.stringify({ ...about, types, failures: countFailures(ledger), references: countReferences(ledger) })}\n`
}

function countStatesByType (ledger: ScanIndex): Map<string, Map<string, number>> {
  const types = new Map<string, Map<string, number>>()
  for (const { type, state: full, count } of ledger.countRecords()) {
    const states = types.get(type) ?? new Map<string, number>()
    const state = isFailed(full) ? 'failed' : full
    types.set(type, states.set(state, (states.get(state) ?? 0) + count))
  }
  return types
}

function countFailures (ledger: ScanIndex): Record<string, number> {
  return sumByName(
    ledger
      .countRecords()
      .filter(({ state }) => isFailed(state))
      .map(({ state, count }) => [state.slice(failed.length), count])
  )
}

function countReferences (ledger: ScanIndex): Record<string, number> {
  return sumByName(ledger.countFaults().map(({ state, count }) => [state, count]))
}

function sumByName (counts: ReadonlyArray<readonly [string, number]>): Record<string, number> {
  const all: Record<string, number> = {}
  for (const [name, count] of counts) all[name] = (all[name] ?? 0) + count
  return all
}

/** The states as people read them, in the order of the columns. */
const columns: Readonly<Record<string, string>> = {
  adopted: 'adopted',
  own: 'already theirs',
  foreign: 'other tenants\'',
  unclear: 'unclear tag',
  'export-file': 'export files',
  gone: 'deleted meanwhile',
  failed: 'failed'
}

/** The summary for people. */
function formatAdoptionText (ledger: ScanIndex, { tenantId, datastore, isDryRun, isComplete }: AdoptionRun): string {
  const types = countStatesByType(ledger)
  const visibleStates = Object.keys(columns).filter(
    state => state === 'adopted' || [...types.values()].some(states => states.has(state))
  )
  const rows = [...types].map(([type, states]): [string, ...number[]] => [
    type,
    ...visibleStates.map(state => states.get(state) ?? 0)
  ])
  const adopted = rows.reduce((sum, [, count = 0]) => sum + count, 0)
  const what = `${formatInteger(adopted)} records ${isDryRun ? 'would be' : 'were'} adopted for ${tenantId}${isComplete ? '' : ', then the run ended early; run the same command again to continue'}.\n`
  const failures = Object.entries(countFailures(ledger)).map(
    ([reason, count]) => `  ${formatInteger(count)}  ${reason}\n`
  )
  const references = Object.values(countReferences(ledger)).reduce((sum, count) => sum + count, 0)
  return [
    what,
    rows.length === 0 ? '' : `\n${formatTable(['type', ...visibleStates.map(state => columns[state]!)], rows)}`,
    failures.length === 0 ? '' : `\nNot adopted:\n${failures.join('')}`,
    references === 0
      ? ''
      : `\n${formatInteger(references)} of their references point outside this tenant, so updates of these records are refused. clinigate audit ${datastore} lists them${isDryRun ? ' after the adoption' : ''}.\n`
  ].join('')
}
