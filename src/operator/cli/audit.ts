import { InvalidArgumentError, type Command } from 'commander'
import { audit, referenceFindings, tagFindings, type AuditResult } from '../ownership-scan/audit.js'
import { fetchSupportedTypes, typesOf, onDatastore } from './datastore.js'
import { ExitWithFindings, type CliContext } from './context.js'
import { walkProgress } from './progress.js'
import type { ScanIndex } from '../ownership-scan/scan-index.js'
import { table, formatInteger } from './table.js'

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
  onDatastore<Options>(command, context, async ({ config: { tenantSystem }, backend, ledger }, options) => {
    const progress = walkProgress(context.streams)
    const types = options.type && await fetchSupportedTypes(backend, options.type)
    const audited = await audit({ backend, tenantSystem, types, ledger, onProgress: progress.show })
      .finally(progress.end)
    const report = options.json
      ? auditJson(ledger, audited, backend.name)
      : auditText(ledger, audited, options.limit)
    for (const text of report) context.out(text)
    if (hasFindings(ledger)) throw new ExitWithFindings()
  })
    .option('--type <types>', 'comma-separated resource types (default: all)', typesOf)
    .option('--json', 'print each finding as one line of JSON, and a summary as the last line')
    .option('--limit <number>', 'maximum number of findings in the text report', natural, 20)
    .addHelpText('after', help)
}

function natural (text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number.')
  return Number(text)
}

const findings: readonly string[] = [...tagFindings, ...referenceFindings]

/** Whether anything is wrong. */
function hasFindings (ledger: ScanIndex): boolean {
  return countsOf(ledger).some(({ isFinding }) => isFinding)
}

function countsOf (ledger: ScanIndex): Array<{ type: string, state: string, count: number, isFinding: boolean }> {
  return [...ledger.recordCounts(), ...ledger.faultCounts()].map(count => ({
    ...count,
    isFinding: findings.includes(count.state)
  }))
}

/** The findings for programs, a line of JSON each, then the summary. */
function * auditJson (
  ledger: ScanIndex, { records, shared }: AuditResult, datastore: string
): Generator<string> {
  for (const { type, id, state: finding } of ledger.records(tagFindings)) yield line({ finding, type, id })
  for (const { source, finding, tenantId, path, target, targetTenantId } of ledger.faults()) {
    const [type, id] = source.split('/')
    yield line({ finding, type, id, tenantId, path, target, targetTenantId })
  }
  const types: Record<string, Record<string, number>> = {}
  for (const { type, state, count } of countsOf(ledger)) (types[type] ??= {})[state] = count
  yield line({ summary: { datastore, records, findings: totals(ledger), types, shared } })
}

const line = (value: unknown): string => `${JSON.stringify(value)}\n`

function totals (ledger: ScanIndex): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { state, count, isFinding } of countsOf(ledger)) if (isFinding) sums[state] = (sums[state] ?? 0) + count
  return sums
}

/** The report for people, with the first findings. */
function * auditText (ledger: ScanIndex, { records, shared }: AuditResult, limit: number): Generator<string> {
  const sums = totals(ledger)
  const total = Object.values(sums).reduce((sum, count) => sum + count, 0)
  yield `${formatInteger(records)} records were read; ${total === 0 ? 'no findings' : `${formatInteger(total)} findings`}.\n`
  if (records > 0) yield `\n${tableOf(ledger, Object.keys(sums))}`
  yield * notes(ledger, shared)
  if (total === 0 || limit === 0) return
  yield `\nFindings${total > limit ? ` (the first ${formatInteger(limit)}; --limit shows more, --json all)` : ''}:\n`
  let shown = 0
  for (const text of findingLines(ledger)) {
    if (shown++ === limit) return
    yield text
  }
}

function tableOf (ledger: ScanIndex, found: readonly string[]): string {
  const shown = findings.filter(finding => found.includes(finding))
  const byType = new Map<string, Map<string, number>>()
  for (const { type, state, count } of countsOf(ledger)) {
    byType.set(type, (byType.get(type) ?? new Map()).set(state, count))
  }
  const rows = [...byType]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([type, counts]): [string, ...number[]] => {
      const all = [...counts]
        .filter(([state]) => !referenceFindings.some(finding => finding === state))
        .reduce((sum, [, count]) => sum + count, 0)
      return [type, all, ...shown.map(finding => counts.get(finding) ?? 0)]
    })
  return table(['type', 'records', ...shown], rows)
}

function * notes (ledger: ScanIndex, shared: AuditResult['shared']): Generator<string> {
  const files = ledger
    .recordCounts()
    .filter(({ state }) => state === 'export-file')
    .reduce((sum, { count }) => sum + count, 0)
  if (files > 0) {
    yield `\n${formatInteger(files)} of the Binary records are files of the datastore's native exports, which belong to no tenant.\n`
  }
  const kinds = Object.entries(shared).map(([type, count]) => `${type} ${formatInteger(count)}`)
  if (kinds.length > 0) yield `\nNot checked, because these types cannot belong to one tenant: ${kinds.join(', ')}.\n`
}

function * findingLines (ledger: ScanIndex): Generator<string> {
  const width = Math.max(...findings.map(({ length }) => length))
  for (const { type, id, state } of ledger.records(tagFindings)) yield `  ${state.padEnd(width)}  ${type}/${id}\n`
  for (const { finding, source, path, target } of ledger.faults()) {
    yield `  ${finding.padEnd(width)}  ${source}  ${path}${target === undefined ? '' : ` → ${target}`}\n`
  }
}
