import type { Checks } from '../http/health.js'
import type { SharedRateLimitStore } from '../limits/shared-counts.js'
import type { GaugeSources } from '../observability/metrics/measurements.js'
import type { OwnershipCounts } from '../tenant-guard/ownership.js'
import type { OpenAuditLog } from './audit-log.js'
import type { OpenBulk } from './bulk.js'
import type { OpenEvents } from './events.js'
import type { OpenKeys } from './keys.js'
import { gaugeSource } from './metrics.js'
import type { OpenUsage } from './usage.js'

/** The parts of a gateway of which something can be read. */
interface ReadParts {
  readonly keys: Pick<OpenKeys, 'lookups' | 'check'>
  readonly ownership: { readonly counts: () => OwnershipCounts }
  readonly usage: Pick<OpenUsage, 'check'>
  /** Absent where the gateway counts for itself. */
  readonly shared: Pick<SharedRateLimitStore, 'isUsable'> | undefined
  readonly bulk: Pick<OpenBulk, 'running'>
  /** Absent where accesses are not audited. */
  readonly audit: Pick<OpenAuditLog, 'counts' | 'eventCounts'> | undefined
  /** Absent where changes become no events. */
  readonly events: Pick<OpenEvents, 'counts'> | undefined
  /** Those of `/health`. */
  readonly checks: Checks
  readonly now: () => Date
}

/** The gauges of a gateway's parts, readable at any time. */
export function gaugeSources (parts: ReadParts): GaugeSources {
  const { keys, ownership, usage, shared, bulk, audit, events, checks, now } = parts
  return {
    keyLookups: keys.lookups,
    keyCopy: keys.check,
    ownership: ownership.counts,
    ledger: () => {
      const { status, ...counts } = usage.check()
      return { isOk: status === 'ok', ...counts }
    },
    ...shared && { areCountsShared: shared.isUsable },
    jobsRunning: bulk.running,
    ...audit && { auditLog: audit.counts },
    ...audit?.eventCounts && { auditEvents: audit.eventCounts },
    ...events && { changeEvents: events.counts },
    checks: gaugeSource(checks, now)
  }
}
