import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import { Option, type Command } from 'commander'
import { organizationOperations, recordOperations } from '../../control-plane/admin-api/operations.js'
import { formatBillCsv } from '../../control-plane/store/bill.js'
import { listWriterDirectories } from '../../bootstrap/own-config.js'
import { loadConfig } from '../../config/load.js'
import { readLedgerLines, readLedgerTotals } from '../../limits/usage-ledger/file.js'
import { toHour } from '../../limits/usage-ledger/tally.js'
import { toMonth } from '../../limits/month.js'
import type { UsageLine } from '../../limits/usage.js'
import { ExitWithFindings, type Control, type CliContext } from './context.js'
import { parseDuration, parseMonth, parseTime } from './times.js'

interface BillOptions { readonly tenant: string, readonly month: string, readonly csv?: true }
interface RecomputeOptions { readonly month: string, readonly ledger?: readonly string[] }
interface ExportOptions {
  readonly from?: Date
  readonly to?: Date
  readonly settle: number
  readonly ledger?: readonly string[]
}

/** Adds the commands on usage and its costs. */
export function addUsage (program: Command, control: Control, context: CliContext): void {
  const usage = program.command('usage').description('show what organizations used and what it costs')
  usage.command('bill').description('print the bill of a month, by hour')
    .requiredOption('--tenant <tenantId>', 'the organization')
    .requiredOption('--month <month>', 'such as 2030-01, in UTC', parseMonth)
    .option('--csv', 'print CSV for a spreadsheet instead of JSON')
    .action(({ tenant: tenantId, month, csv }: BillOptions) => {
      const bill = { tenantId, month }
      return csv
        ? control.work(async call => context.out(formatBillCsv(await call(recordOperations.readBill, bill))))
        : control.print(call => call(recordOperations.readBill, bill))
    })
  usage
    .command('recompute')
    .description("recompute a month from the gateways' ledgers, and compare it with the control plane")
    .requiredOption('--month <month>', 'such as 2030-01, in UTC', parseMonth)
    .option('--ledger <file...>', 'the ledgers of all gateways (default: usage.db in the data directory)')
    .action(async ({ month, ledger }: RecomputeOptions) => {
      const files = listLedgerFiles(ledger, context)
      const own = sumByOrganization(
        files.flatMap(file => readUsageLines(file)),
        month
      )
      const unsent = sumByOrganization(
        files.flatMap(file => readUsageLines(file, 'unsent')),
        month
      )
      const found: Comparison[] = []
      await control.print(async call => {
        for (const { tenantId } of await call(organizationOperations.listOrganizations, {})) {
          const summary = await call(recordOperations.readBill, { tenantId, month })
          found.push(compare(tenantId, { own, unsent, summary }))
        }
        return found
      })
      if (found.some(({ agrees }) => !agrees)) throw new ExitWithFindings()
    })
  usage
    .command('export')
    .description("print the hourly usage in the gateways' ledgers as events for a metering service, one a line")
    .addOption(new Option('--format <format>', 'CloudEvents 1.0 as JSON').choices(['cloudevents']).makeOptionMandatory())
    .option('--from <time>', 'the first hour (default: all that the ledgers have)', parseTime)
    .option('--to <time>', 'the hour before which to stop (default: all that are settled)', parseTime)
    .addOption(new Option('--settle <duration>', 'how long ago an hour must have ended, since a line is sent once')
      .argParser(parseDuration).default(parseDuration('1d'), '1d'))
    .option('--ledger <file...>', 'the ledgers of all gateways (default: usage.db in the data directory)')
    .action((options: ExportOptions) => exportUsage(options, context))
}

/** @throws {Error} if an hour of the range is not settled yet: lines of it may still grow */
function exportUsage ({ from, to, settle, ledger }: ExportOptions, context: CliContext): void {
  const settled = toHour(new Date(context.now().getTime() - settle).toISOString())
  const end = to === undefined ? settled : toHour(to.toISOString())
  if (end > settled) {
    throw new Error(`the hours from ${settled} on are not settled yet; choose an earlier --to, or a shorter --settle`)
  }
  const files = listLedgerFiles(ledger, context)
  let later = 0
  for (const file of files) {
    const { ledgerId, lines } = readLedger(file, () =>
      readLedgerTotals(file, {
        from: from === undefined ? '' : toHour(from.toISOString()),
        to: to === undefined ? '~' : end
      })
    )
    for (const line of lines) {
      if (line.hour < end) context.out(`${JSON.stringify(toUsageEvent(ledgerId, line))}\n`)
      else later += line.count
    }
  }
  if (later > 0) {
    context.err(`Not exported yet: ${later} requests in the hours from ${end} on, which are not settled (--settle).\n`)
  }
}

const listLedgerFiles = (ledger: readonly string[] | undefined, { environment }: CliContext): readonly string[] =>
  ledger ?? listOwnLedgers(loadConfig(environment).dataDirectory)

/** Those of all processes that have served with this data directory, and of their bulk jobs. */
function listOwnLedgers (dataDirectory: string): readonly string[] {
  const [first, ...others] = listWriterDirectories(dataDirectory).map(directory => join(directory, 'usage.db'))
  return [first!, ...others.filter(existsSync)]
}

const readUsageLines = (...[file, which]: Parameters<typeof readLedgerLines>): readonly UsageLine[] =>
  readLedger(file, () => readLedgerLines(file, which))

/** @throws {Error} that names the file, since the driver does not, and its own words speak of the data directory */
function readLedger<T> (file: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Error(
      `${file} cannot be read as a ledger (${(error as NodeJS.ErrnoException).code ?? (error as Error).name}); name the usage.db of each gateway with --ledger, or set CLINIGATE_DATA to the gateway's data directory`,
      { cause: error }
    )
  }
}

interface Sum { readonly counted: number, readonly overage: number }

interface Comparison {
  readonly tenantId: string
  /** The sums of the ledgers, of their unsent part, and of the control plane. */
  readonly ledger: Sum
  readonly unsent: Sum
  readonly controlPlane: Sum
  readonly agrees: boolean
}

const none: Sum = { counted: 0, overage: 0 }

function compare (
  tenantId: string,
  { own, unsent, summary: { counted, overage } }: { readonly own: Sums; readonly unsent: Sums; readonly summary: Sum }
): Comparison {
  const [ledger, waiting] = [own.get(tenantId) ?? none, unsent.get(tenantId) ?? none]
  const agrees = ledger.counted === counted + waiting.counted && ledger.overage === overage + waiting.overage
  return { tenantId, ledger, unsent: waiting, controlPlane: { counted, overage }, agrees }
}

type Sums = ReadonlyMap<string, Sum>

/** The billed sums by organization. */
function sumByOrganization (lines: readonly UsageLine[], month: string): Sums {
  const found = new Map<string, Sum>()
  for (const { tenantId, mode, hour, isCounted, isOverage, count } of lines) {
    if (mode !== 'live' || !isCounted || toMonth(hour) !== month) continue
    const { counted, overage } = found.get(tenantId) ?? none
    found.set(tenantId, { counted: counted + count, overage: overage + (isOverage ? count : 0) })
  }
  return found
}

/**
 * The number of requests in an hour that have all other members of `data` in common, as an event of CloudEvents 1.0 in
 * its JSON format (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md).
 */
interface UsageCloudEvent {
  readonly specversion: '1.0'
  /** The same whenever the same line of the same ledger is exported, so that a receiver takes it once. */
  readonly id: string
  readonly source: string
  readonly type: 'clinigate.usage'
  /** The organization's id. */
  readonly subject: string
  /** The start of the hour, in UTC. */
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: Pick<UsageLine, 'mode' | 'keyId' | 'resource' | 'interaction' | 'outcome' | 'isCounted' | 'isOverage'>
    & { readonly requests: number }
}

/** The event of a line of a ledger. Its id depends on everything but the count. */
function toUsageEvent (ledgerId: string, line: UsageLine): UsageCloudEvent {
  const { tenantId, hour, mode, keyId, resource, interaction, outcome, isCounted, isOverage, count } = line
  const names = [ledgerId, hour, tenantId, mode, keyId, resource, interaction, outcome, isCounted, isOverage]
  return {
    specversion: '1.0',
    // Stripe takes identifiers of at most 100 characters.
    id: createHash('sha256').update(JSON.stringify(names)).digest('hex'),
    source: `urn:clinigate:usage-ledger:${ledgerId}`,
    type: 'clinigate.usage',
    subject: tenantId,
    time: hour,
    datacontenttype: 'application/json',
    data: { mode, keyId, resource, interaction, outcome, isCounted, isOverage, requests: count }
  }
}
