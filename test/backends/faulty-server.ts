import { createServer as createHttp } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { probePath } from '../../src/backends/http-backend.js'

/** The requests that a loopback server received, in order. */
interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A loopback server that responds to each request by the next of its behaviours; the last one repeats. */
export interface FaultyServer {
  readonly url: string
  readonly port: number
  readonly seen: Seen[]
  behave (...behaviours: Behaviour[]): void
  /** For a whole gateway, which probes its datastores by itself: probes get a response and are not in `seen`. */
  answerProbes (): void
  close (): Promise<void>
}

export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void

/** Responds with FHIR JSON. */
export function sendJson (status: number, body: unknown, headers: Record<string, string> = {}): Behaviour {
  return response => {
    response.writeHead(status, { 'content-type': 'application/fhir+json', ...headers }).end(JSON.stringify(body))
  }
}

export async function startFaultyServer (tls?: ServerOptions): Promise<FaultyServer> {
  const seen: Seen[] = []
  let answersProbes = false
  let behaviours: Behaviour[] = [sendJson(200, { resourceType: 'Patient', id: '1' })]
  const listener: RequestListener = async (request, response) => {
    if (answersProbes && request.url!.endsWith(`/${probePath}`)) {
      return sendJson(404, { resourceType: 'OperationOutcome' })(response, request)
    }
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
    const behaviour = behaviours.length > 1 ? behaviours.shift()! : behaviours[0]!
    behaviour(response, request)
  }
  const server: Server = tls === undefined ? createHttp(listener) : createHttps(tls, listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    seen,
    behave: (...next) => { behaviours = next; seen.length = 0 },
    answerProbes: () => { answersProbes = true },
    close: () => new Promise(resolve => { server.close(() => resolve()); server.closeAllConnections() })
  }
}
