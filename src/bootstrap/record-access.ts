import type { Config } from '../config/schema.js'
import type { FindMade } from '../events/change-resolver.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import type { Measurements } from '../observability/metrics/measurements.js'
import { createOwnershipCache } from '../tenant-guard/ownership.js'
import { findCreated } from '../tenant-guard/writes/find-created.js'
import { openAuditLog, type OpenAuditLog } from './audit-log.js'
import { openDatastores, type OpenDatastores } from './datastores.js'
import { openEvents, type OpenEvents } from './events.js'
import { createTenantContextOpener, type OpenTenantContext } from './guarded-stores.js'
import { openKeys, type OpenKeys } from './keys.js'
import { getOwnUrl } from './own-config.js'
import type { Disposables, ServiceParts } from './parts.js'
import { openUsage, type OpenUsage } from './usage.js'

/**
 * The parts with which requests and jobs reach the records of organizations, and those that count and record their
 * accesses.
 */
interface RecordAccess {
  readonly keys: OpenKeys
  readonly datastores: OpenDatastores
  readonly usage: OpenUsage
  /** Absent where changes become no events. */
  readonly events: OpenEvents | undefined
  /** Absent where accesses are not audited. */
  readonly audit: OpenAuditLog | undefined
  readonly ownership: ReturnType<typeof createOwnershipCache>
  readonly openTenantContext: OpenTenantContext
  /** Determines the outcome of a change without one. */
  readonly findIntended: FindMade
}

type AccessParts = Pick<ServiceParts, 'environment' | 'now' | 'log' | 'traces' | 'logsCapabilities'> & {
  readonly link: Pick<ControlPlaneClient, 'feed' | 'sendUsage' | 'sendEvents'>
  /** Absent where nothing is measured. */
  readonly metrics?: Pick<Measurements, 'exchanged' | 'incident' | 'storedDifferently'> | undefined
  /** Called when changes of keys have taken effect. */
  readonly onApplied?: () => void
}

/** Opens all of it in the data directory. Neither a datastore nor the control plane need respond. */
export async function openRecordAccess (
  config: Config,
  { link, environment, now, log, metrics, traces, logsCapabilities, onApplied = () => {} }: AccessParts,
  closers: Disposables
): Promise<RecordAccess> {
  const keys = closers.add(openKeys(config, { feed: link.feed, now, log, onApplied }))
  const observers = { ...metrics && { onExchange: metrics.exchanged }, ...traces && { beginExchange: traces.begin } }
  const datastores = await openDatastores(config, { environment, now, log, logsCapabilities, ...observers }, closers)
  const usage = closers.add(await openUsage(config, { link, now, log }))
  const events = config.events.enabled ? await openEvents(config, { link, now, log }, closers) : undefined
  const ownership = createOwnershipCache()
  const { incident: onIncident, storedDifferently: onDifferences } = metrics ?? {}
  const openTenantContext = createTenantContextOpener(config, datastores, {
    url: getOwnUrl(config), now, ownership, recorderOf: events?.recorderOf, onIncident, onDifferences
  })
  const findIntended: FindMade = intent =>
    findCreated(openTenantContext(intent.owner, { id: intent.requestId, log }), intent)
  events?.resolveWith(findIntended)
  const audit = await openAuditLog(config, { openTenantContext, now, log }, closers)
  return { keys, datastores, usage, events, audit, ownership, openTenantContext, findIntended }
}
