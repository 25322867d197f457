import type { FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import { cacheHealthChecks, runHealthChecks, type Checks } from '../http/health.js'
import type { GatewayReport } from '../control-plane/store/gateway-store.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import { Reporter } from '../control-plane/sync/reporter.js'
import { getGatewayName } from './own-config.js'
import type { OpenKeys } from './keys.js'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { base32, randomString } from '../keys/random-text.js'

const form = /^gateway-[a-z2-7]{26}$/

/** The id of the gateway with this data directory: made at the first start, and never the same for two directories. */
function ensureGatewayId (dataDirectory: string): string {
  const file = join(dataDirectory, 'gateway.id')
  const storedId = readIfPresent(file)
  if (form.test(storedId)) return storedId
  const made = `gateway-${randomString(base32, 26)}`
  writeFileSync(file, `${made}\n`, { mode: 0o600 })
  return made
}

function readIfPresent (file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

/** The dependencies of a gateway's reports. */
interface ReportsParts {
  readonly link: Pick<ControlPlaneClient, 'report'>
  readonly keys: Pick<OpenKeys, 'position' | 'check'>
  /** Of everything else that the gateway needs. */
  readonly checks: Checks
  readonly version: string
  readonly now: () => Date
  readonly log: FastifyBaseLogger
}

/** Starts the reports of the gateway to its control plane. */
export function openReports (
  { control, dataDirectory }: Config,
  { link, keys, checks, version, now, log }: ReportsParts
): Reporter {
  const identity = {
    gatewayId: ensureGatewayId(dataDirectory),
    name: getGatewayName(control),
    version,
    startedAt: now().toISOString()
  }
  const statuses = createStatusCache(cacheHealthChecks(checks, now))
  return new Reporter({
    log,
    report: async stopping => {
      const known = await statuses()
      // The copy is checked last, so that the report is current.
      await link.report(
        { ...identity, position: keys.position(), checks: { keys: keys.check().status, ...known } },
        stopping
      )
    }
  })
}

/**
 * The last statuses of the checks. Only the first call waits for them: the report that a revocation has taken effect
 * must not wait for a slow datastore. They run one at a time, so that none replaces a newer result.
 * @param checks must not throw
 */
export function createStatusCache (checks: Checks): () => Promise<GatewayReport['checks']> {
  let latest: GatewayReport['checks'] | undefined
  let running: Promise<GatewayReport['checks']> | undefined
  const run = async (): Promise<GatewayReport['checks']> => {
    const results = await runHealthChecks(checks)
    running = undefined
    latest = Object.fromEntries(Object.entries(results).map(([name, { status }]) => [name, status]))
    return latest
  }
  return async () => {
    running ??= run()
    return latest ?? await running
  }
}
