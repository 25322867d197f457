import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { Failure } from '../../envelope/failures.js'
import { fhirType } from '../../envelope/operation-outcome.js'
import type { FhirResponse, TerminologyRequest } from '../../tenant-guard/guard.js'
import { terminologyOperations } from '../../tenant-guard/operations/terminology-operations.js'

interface TerminologyProxyOptions {
  /** Reads a request and decides on it. @throws {Failure} */
  readonly toTerminologyRequest: (request: FastifyRequest) => Promise<TerminologyRequest>
}

/**
 * The routes that @fastify/http-proxy forwards: terminology operations on codes, which no tenant owns. Path, query,
 * headers and body are those of the guard's request; the client receives the parts of the response that the guard
 * shows.
 */
export async function terminologyProxy (
  scope: FastifyInstance, { toTerminologyRequest }: TerminologyProxyOptions
): Promise<void> {
  const dispatcher = new ProxyDispatcher()
  await scope.register(httpProxy, {
    routes: [...new Set(Object.keys(terminologyOperations).map(name => name.split('/', 1)[0]))].map(
      type => `/${type}/${anyOperation}`
    ),
    httpMethods: ['GET', 'POST'],
    // The destination is known only after the request is read.
    upstream: '',
    replyOptions: { getUpstream: () => '' },
    proxyPayloads: false,
    disableRequestLogging: true,
    undici: dispatcher as unknown as Dispatcher,
    handler: async (request, reply) => {
      const terminologyRequest = await toTerminologyRequest(request)
      dispatcher.open(terminologyRequest)
      return reply.from(terminologyRequest.path, {
        getUpstream: () => terminologyRequest.upstream.origin,
        method: terminologyRequest.method,
        queryString: () => terminologyRequest.query,
        body: terminologyRequest.body ?? null,
        ...(terminologyRequest.body !== undefined && { contentType: terminologyRequest.headers['content-type'] }),
        rewriteRequestHeaders: () => terminologyRequest.headers,
        rewriteHeaders: () => ({}),
        // Otherwise a request that fails with 503 would be repeated ten times.
        retryDelay: () => null,
        onResponse: (_, __, response) => {
          toFhirResponse(terminologyRequest, response as unknown as ProxiedResponse).then(
            ({ status, body }) => reply.code(status).type(fhirType).send(body),
            error => reply.send(error)
          )
        },
        onError: (_, { error }) => reply.send(terminologyRequest.broken(error.cause as Error))
      })
    }
  })
}

/** As an expression, since the router reads an encoded dollar, which many clients send, in no other form of a path. */
const anyOperation = ':operation(^\\$.*$)'

/**
 * Sends through the datastore's own connections, and only to the datastore of the guard's request. The proxy sends it
 * in the same turn of the event loop in which it was passed to `open`; by its address alone one datastore would be
 * confused with another one on the same host, credential included.
 */
class ProxyDispatcher {
  #upstream: TerminologyRequest['upstream'] | undefined

  open ({ upstream }: TerminologyRequest): void {
    this.#upstream = upstream
  }

  request (
    options: Dispatcher.RequestOptions,
    upstreamResponse: Parameters<TerminologyRequest['upstream']['request']>[1]
  ): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    if (upstream === undefined || upstream.origin !== String(options.origin)) throw new Error('no passage leads there')
    upstream.request(options, upstreamResponse)
  }
}

/** A response in the form of the proxy, before its body has arrived. */
interface ProxiedResponse extends Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> { readonly stream: Readable }

/** Clients request larger responses about codes in pages. */
const maxResponseBytes = 16 * 1024 * 1024

async function toFhirResponse (
  terminologyRequest: TerminologyRequest, { statusCode: status, headers, stream }: ProxiedResponse
): Promise<FhirResponse> {
  return terminologyRequest.shown({ status, headers, body: await readText(terminologyRequest, stream) })
}

async function readText (terminologyRequest: TerminologyRequest, stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxResponseBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof Failure ? error : terminologyRequest.broken(error as Error)
  }
  const bytes = Buffer.concat(chunks)
  if (!isUtf8(bytes)) throw new Failure('BACKEND_ERROR', { cause: { reason: 'the response is not UTF-8' } })
  return bytes.toString()
}

function tooLarge (): Failure {
  const message = 'The response is too large. Narrow the request with filter, or request a part with offset and count.'
  return new Failure('BAD_REQUEST', {
    message,
    issues: [{ severity: 'error', code: 'too-costly', diagnostics: message }]
  })
}
