import type { FastifyInstance } from 'fastify'
import { Failure } from '../envelope/failures.js'
import {
  describeRoute, buildEnvelopeSchema, buildFailureResponses, publicFailures, buildResponses
} from '../envelope/openapi-responses.js'
import { sendFailure, sendWithStatus } from '../envelope/reply.js'
import { healthStates, type Health } from '../envelope/health-states.js'
import type { Readiness } from './readiness.js'
import { withTimeout } from '../time/with-timeout.js'

/** One thing that the gateway needs, and its state. */
export interface Check {
  readonly status: Health
  readonly [detail: string]: unknown
}

/** Checks by name; each may fail or take long. */
export type Checks = Readonly<Record<string, () => Check | Promise<Check>>>

/** The sources of the reports of `/health` and `/health/ready`. */
export interface HealthOptions {
  readonly readiness: Readiness
  readonly version: string
  readonly checks: Checks
  readonly now: () => Date
}

/** How long a result is used, and how long a request waits for a new one. */
const lifetimeMs = 5_000
const timeoutMs = 1_000

const probe = { isProbe: true }

const healthStatus = {
  type: 'string',
  enum: healthStates,
  description: 'degraded means that some requests will fail or use outdated data.'
}
const check = { type: 'object', properties: { status: { type: 'string', enum: healthStates } }, required: ['status'] }
const healthReport = {
  type: 'object',
  properties: {
    status: healthStatus,
    version: { type: 'string' },
    uptimeSeconds: { type: 'integer', minimum: 0 },
    checks: { type: 'object', description: "The gateway's dependencies, by name.", additionalProperties: check }
  },
  required: ['status', 'version', 'uptimeSeconds', 'checks']
}
const ready = { type: 'object', properties: { status: { type: 'string', const: 'ready' } }, required: ['status'] }

const healthRoute = {
  config: probe,
  ...describeRoute({
    operationId: 'readHealth',
    tags: ['service'],
    security: [],
    summary: 'Check whether the gateway works',
    responses: {
      200: {
        description: 'The state of the gateway.',
        content: { 'application/json': { schema: buildEnvelopeSchema(healthReport, { status: healthStatus }) } }
      },
      ...buildFailureResponses(publicFailures)
    }
  })
}

const readinessRoute = {
  config: probe,
  ...describeRoute({
    operationId: 'readReadiness',
    tags: ['service'],
    security: [],
    summary: 'Check whether this process should receive requests',
    description: 'For load balancers.',
    responses: buildResponses({ status: 200, description: 'The process is ready.', data: ready }, [
      ...publicFailures,
      'BACKEND_UNAVAILABLE'
    ])
  })
}

/**
 * The routes `/health`, which is 200 as long as the process can respond, since only otherwise a restart would help, and
 * `/health/ready`, which is 200 as long as a load balancer should send requests here. The latter ignores the
 * datastores: they are the same behind every gateway.
 */
export async function health (
  scope: FastifyInstance,
  { version, checks, now, readiness }: HealthOptions
): Promise<void> {
  const startedAt = now().getTime()
  const cachedChecks = cacheHealthChecks(checks, now)
  scope.get('/health', healthRoute, async (_, reply) => {
    const results = await runHealthChecks(cachedChecks)
    const isOk = Object.values(results).every(({ status }) => status === 'ok')
    reply.header('cache-control', 'no-store')
    return sendWithStatus(reply, {
      status: isOk ? 'ok' : 'degraded',
      version,
      uptimeSeconds: Math.floor((now().getTime() - startedAt) / 1_000),
      checks: results
    })
  })
  scope.get('/health/ready', readinessRoute, async (_, reply) => {
    reply.header('cache-control', 'no-store')
    // Not thrown, since a load balancer sends a request every second, and each failure would be logged.
    return readiness.isReady ? { status: 'ready' } : sendFailure(reply, notReady())
  })
}

function notReady (): Failure {
  return new Failure('BACKEND_UNAVAILABLE', {
    message: 'This process accepts no requests at the moment. Send them to another one, or wait.',
    retryAfterSeconds: 5
  })
}

/** The present results of all checks. */
export async function runHealthChecks (checks: Checks): Promise<Readonly<Record<string, Check>>> {
  return Object.fromEntries(
    await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await check()] as const))
  )
}

/**
 * The same checks, run one at a time and every few seconds at most, since every client may request the health; none
 * takes longer than a second.
 */
export function cacheHealthChecks (checks: Checks, now: () => Date): Checks {
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, cacheHealthCheck(check, now)]))
}

function cacheHealthCheck (check: () => Check | Promise<Check>, now: () => Date): () => Promise<Check> {
  let latest: { readonly at: number, readonly result: Promise<Check> } | undefined
  return () => {
    const at = now().getTime()
    if (latest === undefined || at - latest.at >= lifetimeMs) latest = { at, result: runHealthCheck(check) }
    return withTimeout(latest.result, timeoutMs, { status: 'degraded', reason: 'no answer within a second' })
  }
}

async function runHealthCheck (check: () => Check | Promise<Check>): Promise<Check> {
  try {
    return await check()
  } catch {
    return { status: 'degraded', reason: 'the check failed' }
  }
}
