import { LogController, type FastifyBaseLogger, type FastifyHttpOptions, type RawServerDefault } from 'fastify'
import {
  createFrameworkErrorHandler, createMalformedHttpHandler, type RefusalPages
} from '../envelope/malformed-http.js'
import type { IncomingMessage } from 'node:http'
import { uuidv7 } from 'uuidv7'

const validRequestId = /^[A-Za-z0-9._-]{1,64}$/

/**
 * The id of a request in the log and the response: the client's x-request-id if it is well-formed, otherwise a new
 * UUIDv7.
 */
export function resolveRequestId ({ headers }: Pick<IncomingMessage, 'headers'>, newId: () => string = uuidv7): string {
  const sent = headers['x-request-id']
  return typeof sent === 'string' && validRequestId.test(sent) ? sent : newId()
}

/** The dependencies of the HTTP server. */
export interface ServerDependencies {
  readonly logger?: FastifyBaseLogger
  /**
   * Addresses and networks of the proxies whose X-Forwarded-For is trusted, with commas between; absent: of none.
   */
  readonly trustedProxies?: string
  /** Open connections at a time, beyond which a new one is closed immediately; absent: no bound. */
  readonly connections?: number
  readonly now: () => Date
  readonly newRequestId?: () => string
  /** The form of refusals for people, where a request reaches no route; absent: the same as for programs. */
  readonly pages?: RefusalPages
}

/** Longest URL and headers that are read together; an id that is longer than any id can be is just not found. */
const headBytes = 16_384

/** The options of the HTTP server: every option of the framework that matters here, set explicitly. */
export function buildServerOptions ({
  logger,
  trustedProxies,
  now,
  newRequestId,
  pages
}: ServerDependencies): FastifyHttpOptions<RawServerDefault> {
  return {
    ...(logger ? { loggerInstance: logger } : { logger: false }),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: request => resolveRequestId(request, newRequestId),
    requestIdHeader: false,
    trustProxy: trustedProxies ?? false,
    // One spelling of a path reaches a route; every other one is not found.
    routerOptions: {
      caseSensitive: true,
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: false,
      maxParamLength: headBytes
    },
    exposeHeadRoutes: true,
    // A missing Host header is refused in the pipeline, with an envelope.
    http: {
      maxHeaderSize: headBytes,
      headersTimeout: 20_000,
      connectionsCheckingInterval: 5_000,
      insecureHTTPParser: false,
      requireHostHeader: false,
      joinDuplicateHeaders: false
    },
    // An upload of any size may continue as long as data arrives; the pipeline bounds the time of all other bodies.
    requestTimeout: 0,
    // Longer than any datastore may take, so that a client gets a response and not a broken connection.
    connectionTimeout: 300_000,
    // Longer than the 60 seconds after which load balancers release a connection.
    keepAliveTimeout: 72_000,
    // A request that arrives while the gateway closes still gets a response, and its connection is closed.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: createFrameworkErrorHandler(now, pages),
    clientErrorHandler: createMalformedHttpHandler(now, pages)
  }
}
