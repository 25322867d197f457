import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import type { Environment } from '../config/environment.js'
import { redisUrl } from '../config/secrets.js'
import type { Check } from '../http/health.js'
import type { SharedRateLimitStore } from '../limits/shared-counts.js'
import type { Disposables } from './parts.js'

/** The counts that this gateway shares with others, where a server for them is configured; it need not respond. */
export async function openSharedCounts (
  config: Config,
  { environment, log }: { readonly environment: Environment; readonly log: FastifyBaseLogger },
  closers: Disposables
): Promise<SharedRateLimitStore | undefined> {
  const url = redisUrl(config, environment)
  if (url === undefined) return undefined
  // The client needs a tenth of a second to load, which a gateway without shared counts avoids.
  const { sharedCounts } = await import('../limits/shared-counts.js')
  return closers.add(sharedCounts({ url, log }))
}

/** Whether requests are counted over all gateways, or by each for itself. */
export function redisHealthCheck (shared: SharedRateLimitStore): Check {
  return { status: shared.isUsable() ? 'ok' : 'degraded' }
}
