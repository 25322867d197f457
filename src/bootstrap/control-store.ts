import { join } from 'node:path'
import type { Config } from '../config/schema.js'
import { readControlDatabaseUrl, ensureWebhookKey } from '../config/secrets.js'
import { toKnownPlans } from '../control-plane/store/organizations.js'
import { openControlStore, type ControlStore } from '../control-plane/store/store.js'
import type { LinkedStore } from '../control-plane/sync/link.js'
import { createInProcessChangeFeed } from '../control-plane/sync/local.js'
import type { AddressRules } from '../net/checked-connection.js'
import type { Disposables, ServiceParts } from './parts.js'
import { openDataFile } from './startup-errors.js'

/** Opens the control database that the configuration names, which other processes and threads may have open too. */
export async function openDatabase (
  config: Config,
  { environment, now }: Pick<ServiceParts, 'environment' | 'now'>,
  closers: Disposables
): Promise<ControlStore> {
  const url = readControlDatabaseUrl(config, environment)
  return closers.add(
    await openDataFile(join(config.dataDirectory, 'control.db'), file =>
      openControlStore({
        file,
        url,
        ...toKnownPlans(config.plans),
        now,
        webhookKey: ensureWebhookKey(config),
        receiverRules: getReceiverRules(config)
      })
    )
  )
}

/** Which addresses webhooks and subscriptions may have, and reach. */
export function getReceiverRules ({ webhooks: { privateNetworks } }: Config): AddressRules {
  return { privateNetworks }
}

/** The part of a control database that gateways use. */
export function toLinkedStore (store: ControlStore): LinkedStore {
  return {
    feed: createInProcessChangeFeed(store),
    report: report => store.gateways.report(report),
    applyUsage: (batch, gateway) => store.usage.apply(batch, gateway),
    applyEvents: (batch, gateway) => store.events.append(batch, gateway),
    events: store.events,
    jobs: store.jobs,
    webhooks: store.webhooks,
    subscriptions: store.subscriptions
  }
}
