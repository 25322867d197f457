import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { UsageLedger, type LedgerOptions } from '../../src/limits/usage-ledger/ledger.js'
import { readLedgerLines } from '../../src/limits/usage-ledger/file.js'
import type { UsageEvent } from '../../src/limits/usage.js'

/** The attributes that any request may be counted under. */
export const buildUsageEvent = (what: Partial<UsageEvent> = {}): UsageEvent => ({
  tenantId: 'org-a',
  mode: 'live',
  keyId: 'key-a',
  resource: 'patients',
  interaction: 'read',
  outcome: 'ok',
  isCounted: true,
  isOverage: false,
  ...what
})

export const at = '2030-01-01T10:20:30.400Z'

/** A path for a ledger, which is deleted after the test. */
export function createLedgerPath (t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'clinigate-ledger-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'usage.db')
}

/** A ledger that writes when the test triggers it. */
export function openLedger (t: Test, file: string, options: Partial<LedgerOptions> = {}): UsageLedger {
  const ignore = () => {}
  const ledger = new UsageLedger({
    file,
    now: () => new Date(at),
    log: { info: ignore, warn: ignore, error: ignore },
    flushMs: 3_600_000,
    ...options
  })
  t.teardown(() => ledger.close())
  return ledger
}

/** Records so many requests of one kind. */
export function recordAlike (ledger: UsageLedger, at: string, requests: number): void {
  for (let i = 0; i < requests; i++) ledger.record(buildUsageEvent(), at)
}

/** How many requests are in a ledger's file. */
export function countLedgerRequests (file: string): number {
  return readLedgerLines(file).reduce((sum, { count }) => sum + count, 0)
}
