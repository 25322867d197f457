import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import httpProxy from '@fastify/http-proxy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Dispatcher } from 'undici'
import { Failure } from '../../envelope/failures.js'
import { fhirType } from '../../envelope/operation-outcome.js'
import type { FhirResponse, TerminologyRequest } from '../../tenant-guard/guard.js'
import { terminologyOperations } from '../../tenant-guard/operations/terminology-operations.js'

interface CarriedOptions {
  /** Reads a request and decides on it. @throws {Failure} */
  readonly passageOf: (request: FastifyRequest) => Promise<TerminologyRequest>
}

/**
 * The routes that @fastify/http-proxy forwards: terminology operations on codes, which no tenant owns. Path, query,
 * headers and body are those of the passage; the client receives the parts of the response that the guard shows.
 */
export async function terminologyProxy (scope: FastifyInstance, { passageOf }: CarriedOptions): Promise<void> {
  const carrier = new ProxyDispatcher()
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
    undici: carrier as unknown as Dispatcher,
    handler: async (request, reply) => {
      const passage = await passageOf(request)
      carrier.open(passage)
      return reply.from(passage.path, {
        getUpstream: () => passage.upstream.origin,
        method: passage.method,
        queryString: () => passage.query,
        body: passage.body ?? null,
        ...(passage.body !== undefined && { contentType: passage.headers['content-type'] }),
        rewriteRequestHeaders: () => passage.headers,
        rewriteHeaders: () => ({}),
        // Otherwise a request that fails with 503 would be repeated ten times.
        retryDelay: () => null,
        onResponse: (_, __, response) => {
          shown(passage, response as unknown as Response).then(
            ({ status, body }) => reply.code(status).type(fhirType).send(body),
            error => reply.send(error)
          )
        },
        onError: (_, { error }) => reply.send(passage.broken(error.cause as Error))
      })
    }
  })
}

/** As an expression, since the router reads an encoded dollar, which many clients send, in no other form of a path. */
const anyOperation = ':operation(^\\$.*$)'

/**
 * Sends through the datastore's own connections, and only to the datastore of an open passage. The proxy sends in the
 * same event loop turn in which a passage was opened; by its address alone one datastore would be confused with another
 * one on the same host, credential included.
 */
class ProxyDispatcher {
  #opened: TerminologyRequest['upstream'] | undefined

  open ({ upstream }: TerminologyRequest): void {
    this.#opened = upstream
  }

  request (
    options: Dispatcher.RequestOptions,
    upstreamResponse: Parameters<TerminologyRequest['upstream']['request']>[1]
  ): void {
    const upstream = this.#opened
    this.#opened = undefined
    if (upstream === undefined || upstream.origin !== String(options.origin)) throw new Error('no passage leads there')
    upstream.request(options, upstreamResponse)
  }
}

/** A response in the form of the proxy, before its body has arrived. */
interface Response extends Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> { readonly stream: Readable }

/** Clients request larger responses about codes in pages. */
const maxResponseBytes = 16 * 1024 * 1024

async function shown (
  passage: TerminologyRequest, { statusCode: status, headers, stream }: Response
): Promise<FhirResponse> {
  return passage.shown({ status, headers, body: await textOf(passage, stream) })
}

async function textOf (passage: TerminologyRequest, stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxResponseBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof Failure ? error : passage.broken(error as Error)
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
