import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { parseBearerToken } from '../../envelope/headers.js'
import { jsonBodies } from '../../envelope/body.js'
import { handleError } from '../../envelope/error-handlers.js'
import { Failure } from '../../envelope/failures.js'
import type { ChangeFeed, Position } from '../../keys/change-feed.js'
import { formatEvent } from './event-stream.js'
import { eventBatchSchema, eventQuerySchema, type EventBatch, type EventQuery } from '../../events/event.js'
import { usageBatchSchema, type UsageBatch } from '../../limits/usage.js'
import type { LinkedStore } from './link.js'
import { gatewayReportSchema, type GatewayReport } from '../store/gateway-store.js'
import { feedQuery, createLazyCheck } from './messages.js'
import { getRawQuery } from '../../envelope/query.js'
import type { Jobs } from '../../jobs/model/jobs.js'
import { isTooManyUnfinished } from '../../jobs/model/unfinished-jobs.js'
import { toPlainNumbers } from '../../json/json.js'
import { jobCalls, maxJobRequestBytes, tooManyJobsReason, reasonsQuery } from './job-messages.js'
import { ControlError } from '../store/control-error.js'
import { getRequestSchema, receiverCalls, type CallResponse, type Receivers } from './receiver-messages.js'

/** The control store that remote gateways use, and how to authenticate them. */
interface LinkOptions {
  readonly store: LinkedStore
  /** The name of a valid gateway token. Undefined for any other token. */
  readonly findGatewayName: (token: string) => Promise<string | undefined>
  /** How often the token of an open stream is checked again. */
  readonly recheckMs?: number
}

const reportBytes = 65_536
const usageBytes = 2_097_152

/** Requests without problems are not logged, since every gateway sends one every few seconds. */
const logLevel = 'warn'

/**
 * The routes for gateways: the change feed as server-sent events with one batch each, reports, usage, bulk jobs,
 * webhooks and subscriptions.
 */
export async function linkRoutes (scope: FastifyInstance, options: LinkOptions): Promise<void> {
  scope.decorateRequest('gatewayName', '')
  scope.setErrorHandler(handleError)
  scope.setValidatorCompiler(({ schema }) => createLazyCheck(schema as never))
  scope.addHook('onRequest', async (_, reply) => { reply.header('cache-control', 'no-store') })
  scope.addHook('onRequest', async request => { request.gatewayName = await requireGateway(request, options) })
  await scope.register(jsonBodies, { limitBytes: usageBytes })
  feedRoute(scope, options)
  scope.post<{ Body: GatewayReport }>(
    '/report',
    { schema: { body: gatewayReportSchema }, bodyLimit: reportBytes, logLevel },
    async ({ body }) => {
      await options.store.report(body)
      return {}
    }
  )
  scope.post<{ Body: UsageBatch }>(
    '/usage',
    { schema: { body: usageBatchSchema }, logLevel },
    async ({ body, gatewayName }) => await options.store.applyUsage(body, gatewayName)
  )
  eventRoutes(scope, options.store)
  jobRoutes(scope, options.store.jobs)
  receiverRoutes(scope, options.store)
}

function eventRoutes (scope: FastifyInstance, { applyEvents, events }: LinkedStore): void {
  scope.post<{ Body: EventBatch }>(
    '/events',
    { schema: { body: eventBatchSchema }, logLevel },
    async ({ body, gatewayName }) => await applyEvents(body, gatewayName)
  )
  scope.post<{ Body: EventQuery }>(
    '/events/list',
    { schema: { body: eventQuerySchema }, logLevel },
    async ({ body }) => await events.list(body)
  )
  scope.post('/events/latest', { logLevel }, async () => ({ sequence: await events.getLatestSequence() }))
}

function feedRoute (
  scope: FastifyInstance, { store, findGatewayName, recheckMs = 30_000 }: LinkOptions
): void {
  const streams = new Set<AbortController>()
  // Before the server waits for open connections to end, which streams never do by themselves.
  scope.addHook('preClose', async () => streams.forEach(stream => stream.abort()))
  scope.get<{ Querystring: Static<typeof feedQuery> }>(
    '/feed',
    { schema: { querystring: feedQuery }, exposeHeadRoute: false },
    async (request, reply) => {
      const token = parseBearerToken(request.raw.rawHeaders)!
      const stream = createStreamController(reply, {
        isOk: async () => (await findGatewayName(token)) !== undefined,
        recheckMs
      })
      const { log, gatewayName: gateway } = request
      streams.add(stream)
      log.info({ gateway }, 'a gateway connected to the change feed')
      reply.raw.once('close', () => {
        streams.delete(stream)
        log.info({ gateway }, 'a gateway disconnected from the change feed')
      })
      // Proxies must not buffer this response.
      reply.type('text/event-stream').header('x-accel-buffering', 'no')
      return await reply.send(
        Readable.from(streamEvents(store.feed, { ...request.query, seq: Number(request.query.seq) }, stream.signal))
      )
    }
  )
}

async function requireGateway (
  request: FastifyRequest, { findGatewayName }: LinkOptions
): Promise<string> {
  const token = parseBearerToken(request.raw.rawHeaders)
  const name = token && await findGatewayName(token)
  if (name !== undefined) return name
  throw new Failure('UNAUTHORIZED', {
    message: 'Send a gateway token in the header Authorization: Bearer <token>.',
    headers: { 'www-authenticate': 'Bearer' }
  })
}

/** Ends a stream when its client disconnects or its token becomes invalid. */
function createStreamController (
  reply: FastifyReply,
  { isOk, recheckMs }: { readonly isOk: () => Promise<boolean>; readonly recheckMs: number }
): AbortController {
  const stream = new AbortController()
  const recheck = setInterval(async () => {
    if (!(await isOk().catch(() => false))) stream.abort()
  }, recheckMs)
  reply.raw.once('close', () => {
    clearInterval(recheck)
    stream.abort()
  })
  return stream
}

/** Reads the next batch only after the previous one was sent, so that a slow gateway uses no memory here. */
async function * streamEvents (feed: ChangeFeed, from: Position, signal: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const batch of feed.follow(from, signal)) yield formatEvent(batch)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the gateway's token, in the scope of {@link linkRoutes}. */
    gatewayName: string
  }
}

/** The calls of gateways to the jobs: one route per call. The body has the arguments. */
function jobRoutes (scope: FastifyInstance, jobs: Jobs): void {
  for (const name of Object.keys(jobCalls) as Array<keyof Jobs>) {
    const call = (args: unknown[]): Promise<unknown> =>
      (jobs[name] as (...parameters: unknown[]) => Promise<unknown>).apply(jobs, args)
    // Gateways call about once a second.
    const options = {
      schema: { body: jobCalls[name].request },
      bodyLimit: maxJobRequestBytes,
      logLevel: 'warn'
    } as const
    scope.post<{ Body: unknown[] }>(`/jobs/${name}`, options, async ({ body, raw }) => {
      try {
        return { response: await call(toPlainNumbers(body)) }
      } catch (error) {
        return toRefusal(error, getRawQuery(raw.url) === reasonsQuery)
      }
    })
  }
}

/**
 * The response that no job was made. @throws every other failure, since gateways take any failure to mean that the
 * control plane can't be reached
 */
function toRefusal (error: unknown, takesReasons: boolean): object {
  if (!isTooManyUnfinished(error)) throw error
  return takesReasons ? { refused: tooManyJobsReason } : {}
}

const maxRequestBytes = 131_072

/** The calls of gateways to webhooks and subscriptions: one route per call. The body has the arguments. */
function receiverRoutes (scope: FastifyInstance, receivers: Receivers): void {
  for (const [path, name] of receiverCalls) {
    const options = { schema: { body: getRequestSchema(path, name) }, bodyLimit: maxRequestBytes } as const
    scope.post<{ Body: unknown[] }>(`/${path}/${name}`, options, async ({ body }): Promise<CallResponse> => {
      const called = receivers[path] as unknown as Readonly<
        Record<string, (...parameters: unknown[]) => Promise<unknown>>
      >
      try {
        return { response: (await called[name]!(...toPlainNumbers(body))) ?? null }
      } catch (error) {
        if (!(error instanceof ControlError)) throw error
        const { reason, message, field } = error
        return { refused: { reason, message, ...field !== undefined && { field } } }
      }
    })
  }
}
