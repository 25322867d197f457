import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { probePath } from '../../src/backends/http-backend.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'

/** A request and the datastore's response to it. */
interface Exchange {
  readonly method: string
  /** From the base URL on. */
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request that is held up: before the datastore has it, or before the gateway has the response. */
interface Held {
  /** Lets it go on; resolves with the datastore's response, whether the gateway still waits for it or not. */
  pass (): Promise<Exchange>
  /**
   * Breaks the connection to the gateway, which learns no more of it; a request that the datastore does not have never
   * comes there.
   */
  drop (): void
}

/** A real FHIR server behind a proxy on loopback that sees every exchange, and can hold one up. */
export interface WatchedBackend {
  /** The base URL, for a gateway. */
  readonly url: string
  readonly seen: Exchange[]
  /** Resolves when the next such request, or its response, has come. */
  hold (what: 'request' | 'answer', method: string): Promise<Held>
  /** Stores a resource past any gateway. @returns its id */
  store (resource: FhirResource): Promise<string>
  close (): Promise<void>
}

interface Trap { readonly what: 'request' | 'answer', readonly method: string, readonly resolve: (held: Held) => void }

/** @param change what the datastore makes of a body before it stores it */
export async function startWatched (
  fhirUrl: string,
  change: (body: string) => string = body => body
): Promise<WatchedBackend> {
  const seen: Exchange[] = []
  const traps: Trap[] = []
  const server = createServer((request, response) => {
    relay(request, response).catch(error => response.destroy(error))
  })

  async function relay (request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const drop = (): void => { response.destroy() }
    const forwardAndRecord = async (): Promise<Exchange> => {
      const exchange = await forward(request, body)
      // The gateway looks after its datastores by itself.
      if (!exchange.path.endsWith(probePath)) seen.push(exchange)
      return exchange
    }
    const isProbe = request.url?.endsWith(probePath) === true
    const at = isProbe ? -1 : traps.findIndex(({ method }) => method === request.method)
    const [trap] = at < 0 ? [] : traps.splice(at, 1)
    if (trap?.what === 'request') return trap.resolve({ drop, pass: async () => sendExchange(response, await forwardAndRecord()) })
    const exchange = await forwardAndRecord()
    if (trap === undefined) sendExchange(response, exchange)
    else trap.resolve({ drop, pass: async () => sendExchange(response, exchange) })
  }

  async function forward ({ method = '', url: path = '', headers }: IncomingMessage, body: string): Promise<Exchange> {
    const forwardedHeaders = Object.entries(headers).filter(
      ([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name)
    )
    const got = await fetch(fhirUrl + path, {
      method,
      headers: Object.fromEntries(forwardedHeaders) as Record<string, string>,
      body: body === '' ? undefined : change(body)
    })
    // A server that shows references with its base URL uses the address to which the request was sent.
    const rewritten = (await got.text()).replaceAll(`"reference":"${fhirUrl}/`, `"reference":"${getUrl()}/`)
    return { method, path, status: got.status, headers: Object.fromEntries(got.headers), body: rewritten }
  }
  const getUrl = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: getUrl(),
    seen,
    hold: (what, method) => new Promise(resolve => { traps.push({ what, method, resolve }) }),
    store: async resource => {
      const headers = { 'content-type': 'application/fhir+json', accept: 'application/fhir+json' }
      const response = await fetch(`${fhirUrl}/${resource.resourceType}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(resource)
      })
      if (response.status !== 201) throw new Error(`not stored: ${response.status}`)
      return (await response.json() as StoredResource).id
    },
    close: () => new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

function sendExchange (response: ServerResponse, exchange: Exchange): Exchange {
  const headerNames = ['content-type', 'etag', 'location', 'last-modified'].filter(
    name => exchange.headers[name] !== undefined
  )
  response
    .writeHead(exchange.status, Object.fromEntries(headerNames.map(name => [name, exchange.headers[name]!])))
    .end(exchange.body)
  return exchange
}
