import { join } from 'node:path'
import type { Config } from '../config/schema.js'
import { controlDatabaseUrl, webhookKey } from '../config/secrets.js'
import { knownPlans } from '../control-plane/store/organizations.js'
import { openControlStore, type ControlStore } from '../control-plane/store/store.js'
import type { LinkedStore } from '../control-plane/sync/link.js'
import { inProcessChangeFeed } from '../control-plane/sync/local.js'
import type { Disposables, ServiceParts } from './parts.js'
import { openedFile } from './startup-errors.js'

/** Opens the control database that the configuration names, which other processes and threads may have open too. */
export async function openDatabase (
  config: Config,
  { environment, now }: Pick<ServiceParts, 'environment' | 'now'>,
  closers: Disposables
): Promise<ControlStore> {
  const url = controlDatabaseUrl(config, environment)
  return closers.add(
    await openedFile(join(config.dataDirectory, 'control.db'), file =>
      openControlStore({ file, url, ...knownPlans(config.plans), now, webhookKey: webhookKey(config) })
    )
  )
}

/** What gateways reach of a control database. */
export function linkedStore (store: ControlStore): LinkedStore {
  return {
    feed: inProcessChangeFeed(store),
    report: report => store.gateways.report(report),
    applyUsage: (batch, gateway) => store.usage.apply(batch, gateway),
    applyEvents: (batch, gateway) => store.events.append(batch, gateway),
    events: store.events,
    jobs: store.jobs,
    webhooks: store.webhooks,
    subscriptions: store.subscriptions
  }
}
