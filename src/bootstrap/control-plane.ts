import type { FastifyPluginAsync, FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import { readOidcClientSecret } from '../config/secrets.js'
import { createLocalLink } from '../control-plane/sync/local.js'
import type { ControlStore } from '../control-plane/store/store.js'
import { unstyledErrorPages } from '../control-plane/dashboard/errors.js'
import { dashboard } from '../control-plane/dashboard/routes.js'
import type { RefusalPages } from '../envelope/malformed-http.js'
import type { Check, Checks } from '../http/health.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import { linkRoutes } from '../control-plane/sync/routes.js'
import { management } from '../control-plane/admin-api/routes.js'
import { BackgroundTask } from '../time/background-task.js'
import type { Disposables, ServiceParts } from './parts.js'
import { getGatewayName, getOwnUrl } from './own-config.js'
import { getReceiverRules, toLinkedStore, openDatabase } from './control-store.js'
import { WebhookDeliverer } from '../events/webhooks/deliverer.js'
import type { Metrics } from '../observability/metrics/measurements.js'

/**
 * The control plane of this process: the management of organizations and keys, and the feed that gateways elsewhere
 * follow.
 */
export interface ControlSide {
  readonly store: ControlStore
  /** The link of a gateway in this process. */
  readonly link: ControlPlaneClient
  readonly checks: Checks
  /** The plugins that the pipeline serves for it. */
  readonly scopes: readonly FastifyPluginAsync[]
  /** Its error pages for requests that reach no route. */
  readonly pages: RefusalPages
}

/** Opens the control database. It depends neither on datastores nor on the copy of the keys. */
export async function openControlSide (
  config: Config,
  { environment, now, version, log, metrics, member }: ServiceParts,
  closers: Disposables
): Promise<ControlSide> {
  const store = await openDatabase(config, { environment, now }, closers)
  closers.add(deleteOldEvents(store, { days: config.events.days, now, log }))
  const linked = toLinkedStore(store)
  const webhooks = openWebhooks(config, { store, version, now, log, ...metrics && { metrics } }, closers)
  const own = getOwnUrl(config)
  return {
    store,
    link: createLocalLink(linked, getGatewayName(config.control)),
    checks: { controlDatabase: () => checkDatabase(store), webhooks },
    pages: unstyledErrorPages,
    scopes: [
      async scope => {
        await scope.register(linkRoutes, {
          prefix: '/control/v1/link',
          store: linked,
          findGatewayName: token => findGatewayName(store, token)
        })
      },
      async scope => {
        await scope.register(management, { prefix: '/control/v1', control: store, version, url: own })
      },
      async scope => {
        await scope.register(dashboard, {
          prefix: '/dashboard',
          control: store,
          settings: config.dashboard,
          plans: config.plans,
          routing: config.routing,
          gatewayUrl: config.dashboard.gatewayUrl ?? own,
          now,
          url: own,
          clientSecret: readOidcClientSecret(config, environment),
          ...member && { signInCounter: member.windows('signIns') }
        })
      }
    ]
  }
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Deletes events that are too old, once an hour. */
function deleteOldEvents (
  store: ControlStore,
  { days, now, log }: Pick<ServiceParts, 'now' | 'log'> & { readonly days: number }
): { readonly close: () => Promise<void> } {
  const task = new BackgroundTask(async () => {
    await store.events.deleteBefore(new Date(now().getTime() - days * dayMs))
      .catch((error: unknown) => log.warn({ err: error }, 'old events cannot be deleted; it is tried again'))
    return hourMs
  })
  return { close: () => task.stop() }
}

async function findGatewayName (store: ControlStore, token: string): Promise<string | undefined> {
  const found = await store.tokens.findBySecret(token)
  return found?.role === 'gateway' ? found.name : undefined
}

async function checkDatabase (store: ControlStore): Promise<Check> {
  await store.listChangesAfter({ feedId: '', seq: 0 }, 1)
  return { status: 'ok' }
}

/** Looking at the queue fails so often, for about a minute, before it is worth a look. */
const noticedFailures = 7

/** In seconds; 0 where there is none, and where the clock was set back. */
function toAgeSeconds (oldest: string | undefined, now: Date): number {
  return oldest === undefined ? 0 : Math.max(0, (now.getTime() - Date.parse(oldest)) / 1_000)
}

/** The dependencies of delivering. */
interface WebhookParts {
  readonly store: Pick<ControlStore, 'webhooks' | 'webhookQueue'>
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
  /** Absent where nothing is measured. */
  readonly metrics?: Metrics
}

/** Starts delivering the events of webhooks. @returns whether they can be read, for `/health` */
function openWebhooks (
  config: Config,
  { store: { webhooks, webhookQueue: queue }, version, now, log, metrics }: WebhookParts,
  closers: Disposables
): () => Check {
  const deliverer = closers.add(new WebhookDeliverer({
    queue,
    rules: getReceiverRules(config),
    version,
    now,
    log,
    ...metrics && { onAttempt: metrics.webhookAttempted }
  }))
  metrics?.watch({ oldestEventSeconds: async () => toAgeSeconds(await queue.findOldestEventTime(), now()) })
  const { days } = config.events
  const sweeping = new BackgroundTask(async () => {
    await webhooks.deleteBefore(new Date(now().getTime() - days * dayMs)).catch((error: unknown) => {
      log.warn({ err: error }, 'old deliveries of webhooks could not be deleted')
    })
    return hourMs
  })
  closers.add({ close: () => sweeping.stop() })
  return () => ({ status: deliverer.failures < noticedFailures ? 'ok' : 'degraded' })
}
