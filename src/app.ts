import accepts from '@fastify/accepts'
import fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyPluginCallback,
  type FastifyReply,
  type FastifyRequest,
  type HookHandlerDoneFunction
} from 'fastify'
import type { Plans } from './config/schema.js'
import { requireAcceptableType } from './envelope/accept.js'
import { jsonBodies } from './envelope/body.js'
import { handleError, handleNotFound } from './envelope/error-handlers.js'
import { identity } from './envelope/request-metadata.js'
import { envelope } from './envelope/reply.js'
import { accessLog } from './http/access-log.js'
import { auditAccesses, type AuditAccessesOptions } from './http/audit-accesses.js'
import { limitBodyTime, drainRequestBody } from './http/request-timeout.js'
import { usageMetering, type CountUsage } from './http/count-usage.js'
import { health, type HealthOptions } from './http/health.js'
import { refuseMethodOverride, requireSingleHostHeader } from './http/ambiguous-requests.js'
import { RouteTable } from './http/known-paths.js'
import { drainConnections } from './http/connection-draining.js'
import { measureRequests, type MeasureRequestsOptions } from './http/measure-requests.js'
import { metadata, type MetadataOptions } from './http/metadata.js'
import { overload, type OverloadOptions } from './http/overload.js'
import { limitPipelining } from './http/pipelining.js'
import { buildServerOptions, type ServerDependencies } from './http/server-options.js'
import { refuseIdempotencyKey } from './idempotency/header.js'
import { authenticate, type Authenticate } from './keys/authenticate.js'
import { requireScopeForRoute } from './keys/scopes.js'
import { createFailedAttemptCounter } from './limits/failed-attempts.js'
import { inFlight } from './limits/in-flight.js'
import { limitHeaders } from './limits/limit-headers.js'
import type { MonthlyUsage } from './limits/usage-ledger/month-counts.js'
import { monthlyQuota } from './limits/monthly-quota.js'
import { rateLimit } from './limits/rate-limit.js'
import type { RateLimitStoreClass } from './limits/limiter.js'
import type { FairConcurrencyLimiter } from './limits/concurrency-limiter.js'
import type { SharedRateLimitStore } from './limits/shared-counts.js'
import { documentation, type DocumentationOptions } from './api/openapi/routes.js'

/** The plugin that traces each request; absent if tracing is off. */
interface TraceOptions { readonly trace?: FastifyPluginCallback }

/** The routes without an API key: health, and the control plane's routes if this process has one. */
interface ControlPlaneOptions extends ServerDependencies, HealthOptions, MeasureRequestsOptions, TraceOptions {
  /** Each below one of the paths of {@link separate}, with its own parsers, error handlers and authentication. */
  readonly control?: readonly FastifyPluginAsync[]
}

/** Everything that the pipeline needs. */
export interface GatewayOptions
  extends ControlPlaneOptions, MetadataOptions, DocumentationOptions, OverloadOptions, AuditAccessesOptions {
  readonly authenticate: Authenticate
  /** Requests per minute that an address may send without a valid key. */
  readonly failedAttemptsPerMinute: number
  readonly plans: Plans
  /** Limits how many requests are processed concurrently. */
  readonly concurrency: Pick<FairConcurrencyLimiter, 'acquire'>
  /** How much of its month each organization has used. */
  readonly months: MonthlyUsage
  /** Counts that several gateways share; absent if each counts alone. */
  readonly shared?: SharedRateLimitStore
  /** Count requests, and attempts without a valid key, for all processes of this gateway; absent if it has one. */
  readonly counter?: RateLimitStoreClass
  readonly attemptCounter?: RateLimitStoreClass
  readonly countUsage: CountUsage
  /** The largest body of a request to one of the `routes`, in bytes. */
  readonly bodyBytes: number
  /** The routes below `/v1`; what their handlers return becomes `data`. */
  readonly routes: readonly FastifyPluginAsync[]
  /** Routes that take no API key and check credentials of their own. */
  readonly openRoutes?: readonly FastifyPluginAsync[]
  /** Raw FHIR, below `/v1/fhir`. */
  readonly fhir: FastifyPluginAsync
  /** The responses to OPTIONS there, which take no API key. */
  readonly fhirOptions: FastifyPluginAsync
}

/** Everything below this path needs a key. */
const closed = '/v1'

/** The control plane's paths: after the first steps, the gateway applies nothing of its own to them. */
const separate = ['/control', '/dashboard']

/** THE PIPELINE: every step of a request, in order. */
export async function buildGateway (options: GatewayOptions): Promise<FastifyInstance> {
  const { app, paths } = await createApp(options)
  await app.register(documentation, options)
  await app.register(publicRoutes, options)
  for (const scope of options.control ?? []) await app.register(scope)
  await app.register(preflightRoutes, { ...options, prefix: `${closed}/fhir` })
  await app.register(authenticatedRoutes, { ...options, paths, prefix: closed })
  return app
}

/** The pipeline of a control plane without a gateway: the same first steps, and nothing that takes an API key. */
export async function buildControlPlane (options: ControlPlaneOptions): Promise<FastifyInstance> {
  const { app } = await createApp(options)
  await app.register(openRoutes, options)
  for (const scope of options.control ?? []) await app.register(scope)
  return app
}

/** The pipeline of a process that runs bulk jobs alone: its health, and what datastores fetch of its imports. */
export async function buildWorker (options: GatewayOptions): Promise<FastifyInstance> {
  const { app } = await createApp(options)
  await app.register(openRoutes, options)
  return app
}

/** A hook of steps that wait for nothing: a promise for each would cost more than the steps themselves. */
function chainHooks (...steps: ReadonlyArray<(request: FastifyRequest, reply: FastifyReply) => unknown>) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    for (const step of steps) step(request, reply)
    done()
  }
}

function forbidCaching (_: FastifyRequest, reply: FastifyReply): void {
  reply.header('cache-control', 'no-store')
}

/** The first steps of every request, on every kind of process. */
async function createApp (
  options: ServerDependencies & MeasureRequestsOptions & TraceOptions & Pick<HealthOptions, 'readiness'>
): Promise<{ readonly app: FastifyInstance; readonly paths: RouteTable }> {
  const app = fastify(buildServerOptions(options))
  app.server.maxConnections = options.connections ?? Infinity
  // Node itself would respond to an unknown Expect header, without authentication, log or envelope. RFC 9110 permits
  // ignoring such a header instead.
  app.server.on('checkExpectation', (request, reply) => app.server.emit('request', request, reply))
  const paths = new RouteTable(app, { closed, separate })
  app.removeAllContentTypeParsers()
  app.setErrorHandler(handleError)
  app.setNotFoundHandler(handleNotFound)
  if (options.trace !== undefined) await app.register(options.trace)
  await app.register(measureRequests, options)
  await app.register(accessLog)
  await app.register(limitPipelining)
  await app.register(drainConnections, options)
  await app.register(identity, { now: options.now })
  await app.register(accepts)
  app.addHook('onRequest', chainHooks(
    request => limitBodyTime(request),
    (request, reply) => drainRequestBody(request, reply),
    requireSingleHostHeader,
    refuseMethodOverride,
    request => { if (request.is404 && paths.isOpen(request)) paths.refuse(request) }
  ))
  return { app, paths }
}

/** The routes that need no key. */
async function publicRoutes (scope: FastifyInstance, options: GatewayOptions): Promise<void> {
  await openRoutes(scope, options)
  await scope.register(metadata, options)
}

async function openRoutes (
  scope: FastifyInstance, options: HealthOptions & Pick<GatewayOptions, 'openRoutes'>
): Promise<void> {
  await scope.register(envelope)
  await scope.register(health, options)
  for (const route of options.openRoutes ?? []) await scope.register(route)
}

/** OPTIONS of raw FHIR, in a scope of its own, which does not get the hooks of {@link authenticatedRoutes}. */
async function preflightRoutes (
  scope: FastifyInstance,
  { fhirOptions }: GatewayOptions & { readonly prefix: string }
): Promise<void> {
  scope.addHook('onRequest', chainHooks(forbidCaching))
  await scope.register(fhirOptions)
}

interface AuthenticatedOptions extends GatewayOptions { readonly paths: RouteTable }

/** `/v1`: a request reaches a route only if no step before it refused it. */
async function authenticatedRoutes (
  scope: FastifyInstance,
  { prefix: _, paths, ...rest }: AuthenticatedOptions & { readonly prefix: string }
): Promise<void> {
  const options = { ...rest, paths }
  scope.addHook('onRequest', chainHooks(forbidCaching))
  await scope.register(overload, options)
  // A browser's preflight carries no key. It learns the methods of a path, and gets no CORS headers.
  scope.addHook('onRequest', chainHooks(request => {
    if (request.method === 'OPTIONS' && request.is404) paths.refuse(request)
  }))
  await scope.register(authenticate, { ...options, onRefused: await createFailedAttemptCounter(scope, options) })
  await scope.register(usageMetering, options)
  await scope.register(auditAccesses, options)
  await scope.register(inFlight, options)
  await scope.register(rateLimit, options)
  await scope.register(monthlyQuota, options)
  await scope.register(limitHeaders)
  await scope.register(envelopeRoutes, options)
  await scope.register(options.fhir, { prefix: '/fhir' })
}

/** The simple resources, and everything else that responds in the envelope. */
async function envelopeRoutes (
  scope: FastifyInstance, { bodyBytes, routes, paths }: AuthenticatedOptions
): Promise<void> {
  scope.setErrorHandler(handleError)
  scope.setNotFoundHandler(handleNotFound)
  scope.addHook('onRequest', chainHooks(
    requireScopeForRoute,
    request => paths.requireRoute(request),
    requireAcceptableType,
    refuseIdempotencyKey
  ))
  await scope.register(jsonBodies, { limitBytes: bodyBytes })
  await scope.register(envelope)
  for (const route of routes) await scope.register(route)
}
