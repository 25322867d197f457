import { referenceFindings, tagFindings, type AuditResult } from '../ownership-scan/audit.js'
import type { ScanIndex } from '../ownership-scan/scan-index.js'
import { table, formatInteger } from './table.js'

const findings: readonly string[] = [...tagFindings, ...referenceFindings]

/** Whether anything is wrong. */
export function hasFindings (ledger: ScanIndex): boolean {
  return countsOf(ledger).some(({ isFinding }) => isFinding)
}

function countsOf (ledger: ScanIndex): Array<{ type: string, state: string, count: number, isFinding: boolean }> {
  return [...ledger.recordCounts(), ...ledger.faultCounts()].map(count => ({
    ...count,
    isFinding: findings.includes(count.state)
  }))
}

/** The findings for programs, a line of JSON each, then the summary. */
export function * auditJson (
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
export function * auditText (ledger: ScanIndex, { records, shared }: AuditResult, limit: number): Generator<string> {
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
