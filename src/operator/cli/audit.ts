import { InvalidArgumentError, type Command } from 'commander'
import { audit, referenceFindings, tagFindings, type AuditResult } from '../ownership-scan/audit.js'
import { fetchSupportedTypes, parseTypes, addDatastoreAction } from './datastore.js'
import { ExitWithFindings, type CliContext } from './context.js'
import { createScanProgress } from './progress.js'
import type { ScanIndex } from '../ownership-scan/scan-index.js'
import { formatTable, formatInteger } from './table.js'

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
  const command = program.command('audit')
    .description('find records without exactly one tenant, and references across tenants')
  addDatastoreAction<Options>(command, context, async ({ config: { tenantSystem }, backend, ledger }, options) => {
    const progress = createScanProgress(context.streams)
    const types = options.type && await fetchSupportedTypes(backend, options.type)
    const audited = await audit({ backend, tenantSystem, types, ledger, onProgress: progress.show })
      .finally(progress.end)
    const report = options.json
      ? formatAuditJson(ledger, audited, backend.name)
      : formatAuditText(ledger, audited, options.limit)
    for (const text of report) context.out(text)
    if (hasFindings(ledger)) throw new ExitWithFindings()
  })
    .option('--type <types>', 'comma-separated resource types (default: all)', parseTypes)
    .option('--json', 'print each finding as one line of JSON, and a summary as the last line')
    .option('--limit <number>', 'maximum number of findings in the text report', parseNaturalNumber, 20)
    .addHelpText('after', help)
}

function parseNaturalNumber (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number.')
  return Number(text)
}

const findings: readonly string[] = [...tagFindings, ...referenceFindings]

/** Whether anything is wrong. */
function hasFindings (ledger: ScanIndex): boolean {
  return listCounts(ledger).some(({ isFinding }) => isFinding)
}

function listCounts (ledger: ScanIndex): Array<{ type: string, state: string, count: number, isFinding: boolean }> {
  return [...ledger.countRecords(), ...ledger.countFaults()].map(count => ({
    ...count,
    isFinding: findings.includes(count.state)
  }))
}

/** The findings for programs, a line of JSON each, then the summary. */
function * formatAuditJson (
  ledger: ScanIndex, { records, shared }: AuditResult, datastore: string
): Generator<string> {
  for (const { type, id, state: finding } of ledger.listRecords(tagFindings)) {
    yield formatJsonLine({ finding, type, id })
  }
  for (const { source, finding, tenantId, path, target, targetTenantId } of ledger.listFaults()) {
    const [type, id] = source.split('/')
    yield formatJsonLine({ finding, type, id, tenantId, path, target, targetTenantId })
  }
  const types: Record<string, Record<string, number>> = {}
  for (const { type, state, count } of listCounts(ledger)) (types[type] ??= {})[state] = count
  yield formatJsonLine({ summary: { datastore, records, findings: countFindings(ledger), types, shared } })
}

const formatJsonLine = (value: unknown): string => `${JSON.stringify(value)}\n`

function countFindings (ledger: ScanIndex): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { state, count, isFinding } of listCounts(ledger)) if (isFinding) sums[state] = (sums[state] ?? 0) + count
  return sums
}

/** The report for people, with the first findings. */
function * formatAuditText (ledger: ScanIndex, { records, shared }: AuditResult, limit: number): Generator<string> {
  const sums = countFindings(ledger)
  const total = Object.values(sums).reduce((sum, count) => sum + count, 0)
  yield `${formatInteger(records)} records were read; ${total === 0 ? 'no findings' : `${formatInteger(total)} findings`}.\n`
  if (records > 0) yield `\n${formatFindingsTable(ledger, Object.keys(sums))}`
  yield * formatNotes(ledger, shared)
  if (total === 0 || limit === 0) return
  yield `\nFindings${total > limit ? ` (the first ${formatInteger(limit)}; --limit shows more, --json all)` : ''}:\n`
  let printed = 0
  for (const text of formatFindings(ledger)) {
    if (printed++ === limit) return
    yield text
  }
}

function formatFindingsTable (ledger: ScanIndex, found: readonly string[]): string {
  const visibleFindings = findings.filter(finding => found.includes(finding))
  const byType = new Map<string, Map<string, number>>()
  for (const { type, state, count } of listCounts(ledger)) {
    byType.set(type, (byType.get(type) ?? new Map()).set(state, count))
  }
  const rows = [...byType]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([type, counts]): [string, ...number[]] => {
      const all = [...counts]
        .filter(([state]) => !referenceFindings.some(finding => finding === state))
        .reduce((sum, [, count]) => sum + count, 0)
      return [type, all, ...visibleFindings.map(finding => counts.get(finding) ?? 0)]
    })
  return formatTable(['type', 'records', ...visibleFindings], rows)
}

function * formatNotes (ledger: ScanIndex, shared: AuditResult['shared']): Generator<string> {
  const files = ledger
    .countRecords()
    .filter(({ state }) => state === 'export-file')
    .reduce((sum, { count }) => sum + count, 0)
  if (files > 0) {
    yield `\n${formatInteger(files)} of the Binary records are files of the datastore's native exports, which belong to no tenant.\n`
  }
  const kinds = Object.entries(shared).map(([type, count]) => `${type} ${formatInteger(count)}`)
  if (kinds.length > 0) yield `\nNot checked, because these types cannot belong to one tenant: ${kinds.join(', ')}.\n`
}

function * formatFindings (ledger: ScanIndex): Generator<string> {
  const width = Math.max(...findings.map(({ length }) => length))
  for (const { type, id, state } of ledger.listRecords(tagFindings)) yield `  ${state.padEnd(width)}  ${type}/${id}\n`
  for (const { finding, source, path, target } of ledger.listFaults()) {
    yield `  ${finding.padEnd(width)}  ${source}  ${path}${target === undefined ? '' : ` → ${target}`}\n`
  }
}
