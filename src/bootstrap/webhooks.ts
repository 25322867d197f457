import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import type { ControlStore } from '../control-plane/store/store.js'
import type { Check } from '../http/health.js'
import { BackgroundTask } from '../time/background-task.js'
import { WebhookDeliverer } from '../events/webhooks/deliverer.js'
import type { Metrics } from '../observability/metrics/measurements.js'
import type { Disposables } from './parts.js'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Looking at the queue fails so often, for about a minute, before it is worth a look. */
const noticedFailures = 7

/** In seconds; 0 where there is none, and where the clock was set back. */
function ageOf (oldest: string | undefined, now: Date): number {
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
export function openWebhooks (
  { webhooks: { privateNetworks }, events: { days } }: Config,
  { store: { webhooks, webhookQueue: queue }, version, now, log, metrics }: WebhookParts,
  closers: Disposables
): () => Check {
  const deliverer = closers.add(new WebhookDeliverer({
    queue,
    rules: { privateNetworks },
    version,
    now,
    log,
    ...metrics && { onAttempt: metrics.webhookAttempted }
  }))
  metrics?.watch({ oldestEventSeconds: async () => ageOf(await queue.oldest(), now()) })
  const sweeping = new BackgroundTask(async () => {
    await webhooks.deleteBefore(new Date(now().getTime() - days * dayMs)).catch((error: unknown) => {
      log.warn({ err: error }, 'old deliveries of webhooks could not be deleted')
    })
    return hourMs
  })
  closers.add({ close: () => sweeping.stop() })
  return () => ({ status: deliverer.failures < noticedFailures ? 'ok' : 'degraded' })
}
