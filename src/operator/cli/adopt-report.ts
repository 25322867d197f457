import type { ScanIndex } from '../ownership-scan/scan-index.js'
import { table, formatInteger } from './table.js'

const failed = 'failed: '
const isFailed = (state: string): boolean => state.startsWith(failed)

/** Whether a record could not be adopted. */
export function hasFailed (ledger: ScanIndex): boolean {
  return ledger.recordCounts().some(({ state }) => isFailed(state))
}

/** Which run a report is about. */
interface AdoptionRun {
  readonly tenantId: string
  readonly datastore: string
  readonly isDryRun: boolean
  readonly isComplete: boolean
}

/** The summary for programs: one line of JSON. */
export function adoptionJson (ledger: ScanIndex, about: AdoptionRun): string {
  const types: Record<string, Record<string, number>> = {}
  for (const [type, states] of statesByType(ledger)) types[type] = Object.fromEntries(states)
  return `${JSON.stringify({ ...about, types, failures: failuresOf(ledger), references: referencesOf(ledger) })}\n`
}

function statesByType (ledger: ScanIndex): Map<string, Map<string, number>> {
  const types = new Map<string, Map<string, number>>()
  for (const { type, state: full, count } of ledger.recordCounts()) {
    const states = types.get(type) ?? new Map<string, number>()
    const state = isFailed(full) ? 'failed' : full
    types.set(type, states.set(state, (states.get(state) ?? 0) + count))
  }
  return types
}

function failuresOf (ledger: ScanIndex): Record<string, number> {
  return sums(
    ledger
      .recordCounts()
      .filter(({ state }) => isFailed(state))
      .map(({ state, count }) => [state.slice(failed.length), count])
  )
}

function referencesOf (ledger: ScanIndex): Record<string, number> {
  return sums(ledger.faultCounts().map(({ state, count }) => [state, count]))
}

function sums (counts: ReadonlyArray<readonly [string, number]>): Record<string, number> {
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
export function adoptionText (ledger: ScanIndex, { tenantId, datastore, isDryRun, isComplete }: AdoptionRun): string {
  const types = statesByType(ledger)
  const shown = Object.keys(columns).filter(
    state => state === 'adopted' || [...types.values()].some(states => states.has(state))
  )
  const rows = [...types].map(([type, states]): [string, ...number[]] => [
    type,
    ...shown.map(state => states.get(state) ?? 0)
  ])
  const adopted = rows.reduce((sum, [, count = 0]) => sum + count, 0)
  const what = `${formatInteger(adopted)} records ${isDryRun ? 'would be' : 'were'} adopted for ${tenantId}${isComplete ? '' : ', then the run ended early; run the same command again to continue'}.\n`
  const failures = Object.entries(failuresOf(ledger)).map(
    ([reason, count]) => `  ${formatInteger(count)}  ${reason}\n`
  )
  const references = Object.values(referencesOf(ledger)).reduce((sum, count) => sum + count, 0)
  return [
    what,
    rows.length === 0 ? '' : `\n${table(['type', ...shown.map(state => columns[state]!)], rows)}`,
    failures.length === 0 ? '' : `\nNot adopted:\n${failures.join('')}`,
    references === 0
      ? ''
      : `\n${formatInteger(references)} of their references point outside this tenant, so updates of these records are refused. clinigate audit ${datastore} lists them${isDryRun ? ' after the adoption' : ''}.\n`
  ].join('')
}
