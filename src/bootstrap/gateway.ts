import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { FastifyPluginAsync, FastifyBaseLogger } from 'fastify'
import type { Config } from '../config/schema.js'
import type { GatewayOptions } from '../app.js'
import { ensureCursorSecret, readRedisUrl } from '../config/secrets.js'
import { buildCapabilityStatements } from '../http/capability-statement.js'
import { Readiness } from '../http/readiness.js'
import { IdempotencyStore } from '../idempotency/keyed-requests.js'
import { RequestFile } from '../idempotency/request-file.js'
import { SharedRequests } from '../idempotency/shared-requests.js'
import { FairConcurrencyLimiter } from '../limits/concurrency-limiter.js'
import { usageRoute } from '../limits/usage-route.js'
import type { ControlPlaneClient } from '../control-plane/sync/link.js'
import { mappings } from '../mappings/registry.js'
import { buildOpenApiDocument } from '../api/openapi/document.js'
import { eventRoutes, disabledEventRoutes } from '../api/events/routes.js'
import { passthrough, passthroughOptions } from '../api/passthrough/routes.js'
import { resources } from '../api/resources/routes.js'
import { createCursors } from '../tenant-guard/cursor.js'
import type { OpenAuditLog } from './audit-log.js'
import type { Disposables, ServiceParts } from './parts.js'
import { openBulk } from './bulk.js'
import type { OpenDatastores } from './datastores.js'
import { createGuardedStoreOpener } from './guarded-stores.js'
import { getOwnUrl } from './own-config.js'
import type { OpenKeys } from './keys.js'
import { cacheCommonCapabilities } from './capabilities.js'
import type { Mapping } from '../mappings/core/mapping.js'
import type { Offered } from '../tenant-guard/capabilities.js'
import { createGaugeSources } from './metrics.js'
import { openReports } from './reports.js'
import { warnAboutConfig } from './warnings.js'
import type { OpenUsage } from './usage.js'
import { openRecordAccess } from './record-access.js'
import { JobThread, hasJobThread } from './job-thread/job-thread.js'
import { sendLeftOver } from './processes/left-over.js'
import type { ProcessMember } from './processes/member.js'
import { openDataFile } from './startup-errors.js'
import { subscriptionRoutes } from '../api/passthrough/subscriptions/routes.js'
import { webhookRoutes } from '../api/webhooks/routes.js'
import type { Environment } from '../config/environment.js'
import type { Check } from '../http/health.js'
import type { SharedRateLimitStore } from '../limits/shared-counts.js'

/** The parts that serve `/v1`: the dependencies of the pipeline, and those of the rest of a start. */
export interface GatewayServices {
  readonly options: GatewayOptions
  readonly keys: OpenKeys
  /** Names of the datastores that are sandboxes: for trying out only. */
  readonly sandboxes: readonly string[]
}

/** The parts needed to open a gateway. */
interface GatewayParts extends ServiceParts {
  readonly link: ControlPlaneClient
  /** The configuration of all processes, whose data directory has the control database. */
  readonly ofAll: Config
}

/**
 * Opens the copy of the keys, the datastores and the idempotency records of requests. It reaches the control plane only
 * by the link. No datastore need respond.
 */
export async function openGatewaySide (
  config: Config,
  { link, ofAll, ...parts }: GatewayParts,
  closers: Disposables
): Promise<GatewayServices> {
  const { environment, version, now, log, metrics, member } = parts
  warnAboutConfig(config, log)
  const reportNow: { notify?: () => void } = {}
  const access = await openRecordAccess(config, { ...parts, link, onApplied: () => reportNow.notify?.() }, closers)
  const { keys, datastores, usage, events, audit, ownership, openTenantContext, findIntended } = access
  const shared = await openSharedCounts(config, { environment, log }, closers)
  const checks = {
    usage: usage.check,
    ...events && { events: events.check },
    ...(shared ? { sharedCounts: () => checkRedis(shared) } : {}),
    ...(member && { processes: member.check }),
    ...datastores.checks
  }
  const keyedRequests = closers.add(await openIdempotencyStore(config, { shared, now, member }))
  const url = getOwnUrl(config)
  await sendLeftOver(config, { link, findCreated: findIntended, now, log, member }, closers)
  const storeFor = createGuardedStoreOpener(openTenantContext)
  const thread = hasJobThread(config)
    ? closers.add(new JobThread(config, { ...parts, ofAll, months: usage.months, onIncident: datastores.onIncident }))
    : undefined
  const bulk = openBulk(config, { ...access, link, url, now, log, metrics, thread }, closers)
  const reported = { ...checks, bulk: bulk.check }
  const reporter = closers.add(openReports(config, { link, keys, checks: reported, version, now, log }))
  reportNow.notify = () => reporter.report()
  const allChecks = {
    keys: keys.check, ...checks, ...(audit?.check && { auditEvents: audit.check }), bulk: bulk.check
  }
  metrics?.watch(createGaugeSources({ keys, ownership, usage, shared, bulk, audit, events, checks: allChecks, now }))
  const opened = { datastores, keys, usage, shared, keyedRequests, url, storeFor, audit, bulk, link, checks: allChecks }
  return { options: toGatewayOptions(config, parts, opened), keys, sandboxes: datastores.sandboxes }
}

/** The requests with an Idempotency-Key: those of all gateways where they share Redis, otherwise of this one. */
async function openIdempotencyStore (
  { dataDirectory }: Config,
  { shared, now, member }: Pick<GatewaySide, 'shared'> & Pick<ServiceParts, 'now' | 'member'>
): Promise<IdempotencyStore> {
  const storage = shared
    ? new SharedRequests(shared)
    : member?.requests ??
      await openDataFile(join(dataDirectory, 'idempotency.db'), file => new RequestFile({ file, now }))
  return new IdempotencyStore({ storage, now })
}

/** The parts that {@link openGatewaySide} opens for the pipeline. */
interface GatewaySide {
  readonly datastores: OpenDatastores
  readonly keys: OpenKeys
  readonly usage: OpenUsage
  readonly shared: Awaited<ReturnType<typeof openSharedCounts>>
  readonly keyedRequests: IdempotencyStore
  readonly url: string
  readonly storeFor: ReturnType<typeof createGuardedStoreOpener>
  readonly audit: OpenAuditLog | undefined
  readonly bulk: ReturnType<typeof openBulk>
  readonly checks: GatewayOptions['checks']
  readonly link: Pick<ControlPlaneClient, 'webhooks' | 'subscriptions' | 'events'>
}

function toGatewayOptions (
  config: Config, { log, now, version, metrics, traces, member }: ServiceParts, opened: GatewaySide
): GatewayOptions {
  const { datastores, keys, usage, shared, audit, bulk, checks } = opened
  const readiness = new Readiness()
  readiness.addBlocker(() => !keys.canServe())
  if (member !== undefined) {
    member.reportReadiness(keys.canServe)
    readiness.addBlocker(() => !member.areReady())
  }
  return {
    logger: log,
    readiness,
    connections: config.limits.connections,
    overload: config.overload,
    ...toObservers({ metrics, traces, audit }),
    trustedProxies: config.trustedProxies,
    now,
    version,
    plans: config.plans,
    shared,
    bodyBytes: config.limits.bodyBytes,
    authenticate: keys.authenticate,
    failedAttemptsPerMinute: config.limits.failedAttemptsPerMinute,
    countUsage: usage.count,
    months: usage.months,
    ...createLimiters(config, member),
    checks,
    ...buildDocuments(config, { version, now, shared: datastores.shared }),
    openRoutes: bulk.openRoutes,
    ...buildGatewayRoutes(config, now, opened)
  }
}

/** The limiters of requests: those of this process, or of all processes that serve with it. */
function createLimiters (
  { limits: { inFlightPerOrganization: permits } }: Config, member: ProcessMember | undefined
): Pick<GatewayOptions, 'concurrency' | 'counter' | 'attemptCounter'> {
  if (member === undefined) return { concurrency: new FairConcurrencyLimiter({ permits }) }
  return {
    concurrency: member.concurrency(permits),
    counter: member.windows('requests'),
    attemptCounter: member.windows('attempts')
  }
}

function buildGatewayRoutes (
  config: Config, now: () => Date, { storeFor, keyedRequests, url, bulk, usage, link }: GatewaySide
): Pick<GatewayOptions, 'fhir' | 'fhirOptions' | 'routes'> {
  const fhirOptions = {
    storeFor, keyedRequests, url, exports: bulk.exports, bodyBytes: config.limits.bundleBytes
  }
  const newUrl = () => `${url}/canonical/${randomUUID()}`
  return {
    fhir: async scope => {
      await passthrough(scope, fhirOptions)
      for (const routes of bulk.fhirRoutes) await scope.register(routes)
      const subscriptions = config.events.enabled ? link.subscriptions : undefined
      await scope.register(subscriptionRoutes, { subscriptions, url, now })
    },
    fhirOptions: scope => passthroughOptions(scope, { fhirBase: `${url}/v1/fhir` }),
    routes: [
      scope => usageRoute(scope, { plans: config.plans, months: usage.months }),
      config.events.enabled ? createEventsPlugin(config, { feed: link.events, now }) : disabledEventRoutes,
      ...bulk.routes,
      scope => webhookRoutes(scope, { webhooks: link.webhooks, hasEvents: config.events.enabled }),
      scope => resources(scope, { mappings, storeFor, keyedRequests, now, url, newUrl })
    ]
  }
}

function createEventsPlugin (
  config: Config,
  { feed, now }: { readonly feed: ControlPlaneClient['events'], readonly now: () => Date }
): FastifyPluginAsync {
  // A cursor is valid as long as the events after it are retained.
  const cursors = createCursors({ key: ensureCursorSecret(config), now, lifetimeMinutes: config.events.days * 24 * 60 })
  return scope => eventRoutes(scope, { feed, cursors })
}

/** The documents of the gateway about itself. */
function buildDocuments (
  config: Config,
  { version, now, shared }: Pick<ServiceParts, 'version' | 'now'> & Pick<OpenDatastores, 'shared'>
): Pick<GatewayOptions, 'capabilityStatement' | 'fhirStatement' | 'offered' | 'document'> {
  const { full, fhir } = buildCapabilityStatements(mappings, {
    version,
    url: getOwnUrl(config),
    date: now(),
    fetchesImports: config.bulk.importHosts.length > 0,
    hasEvents: config.events.enabled
  })
  return {
    capabilityStatement: full,
    fhirStatement: fhir,
    offered: cacheCommonCapabilities(shared, now),
    document: (offered, described) => buildOpenApiDocument(filterOfferedMappings(mappings, offered), {
      version, url: config.publicUrl ?? '/', described
    })
  }
}

/** The resources, with the filters, that the datastores have. */
function filterOfferedMappings (mappings: readonly Mapping[], { hasType, hasParameter }: Offered): readonly Mapping[] {
  return mappings
    .filter(({ type }) => hasType(type))
    .map(mapping => ({
      ...mapping,
      filters: Object.fromEntries(
        Object.entries(mapping.filters).filter(([, { param }]) => hasParameter(mapping.type, param))
      )
    }))
}

/** The observers of each request; undefined for those that are not configured. */
function toObservers ({
  metrics,
  traces,
  audit
}: Pick<ServiceParts, 'metrics' | 'traces'> & { readonly audit: OpenAuditLog | undefined }): Pick<
  GatewayOptions,
  'onCompleted' | 'trace' | 'accounts'
> {
  return { onCompleted: metrics?.recordRequest, trace: traces?.plugin, accounts: audit?.accounts }
}

/** The counts that this gateway shares with others, where a server for them is configured; it need not respond. */
async function openSharedCounts (
  config: Config,
  { environment, log }: { readonly environment: Environment; readonly log: FastifyBaseLogger },
  closers: Disposables
): Promise<SharedRateLimitStore | undefined> {
  const url = readRedisUrl(config, environment)
  if (url === undefined) return undefined
  // The client needs a tenth of a second to load, which a gateway without shared counts avoids.
  const { connectRateLimitStore } = await import('../limits/shared-counts.js')
  return closers.add(connectRateLimitStore({ url, log }))
}

/** Whether requests are counted over all gateways, or by each for itself. */
function checkRedis (shared: SharedRateLimitStore): Check {
  return { status: shared.isUsable() ? 'ok' : 'degraded' }
}
