import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

/** A request that reached the server, with its credential and the status of the response. */
interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly status: number
}

/** A real FHIR server behind a proxy that lets in known credentials only, and responds with 401 to all others. */
export interface GuardedFhir {
  /** The base URL, for a gateway. */
  readonly url: string
  readonly requested: readonly ReceivedRequest[]
  /** From now on, `then` is called once when so many more requests were let in, before the next one is looked at. */
  readonly after: (requests: number, then: () => void) => void
}

/** Headers of one connection only, or set again by `fetch`. */
const ofConnection = [
  'host',
  'connection',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'keep-alive',
  'date'
]

export async function startGuardedFhir (
  t: Test,
  {
    fhirUrl,
    accepts
  }: { readonly fhirUrl: string; readonly accepts: (authorization: string | undefined) => Promise<boolean> }
): Promise<GuardedFhir> {
  const requested: ReceivedRequest[] = []
  let waiting: { requests: number; readonly then: () => void } | undefined
  const { origin, pathname } = new URL(fhirUrl)
  const base = pathname.replace(/\/$/, '')

  const forward = async ({ method = '', url: path = '', headers }: IncomingMessage, body: string) => {
    const forwardedHeaders = Object.entries(headers).filter(
      ([name]) => !ofConnection.includes(name) && name !== 'authorization'
    ) as Array<[string, string]>
    const response = await fetch(origin + path, { method, headers: forwardedHeaders, ...(body !== '' && { body }) })
    const own = (of: string) => of.replaceAll(origin, getOrigin())
    return {
      status: response.status,
      headers: [...response.headers]
        .filter(([name]) => !ofConnection.includes(name))
        .map(([name, value]) => [name, own(value)]),
      body: own(await response.text())
    }
  }

  const relay = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    const {
      method = '',
      url: path = '',
      headers: { authorization }
    } = request
    const isKnown = await accepts(authorization)
    const result = isKnown
      ? await forward(request, body)
      : {
          status: 401,
          headers: [['content-type', 'application/fhir+json']],
          body: '{"resourceType":"OperationOutcome"}'
        }
    requested.push({ method, path, authorization, status: result.status })
    response.writeHead(result.status, Object.fromEntries(result.headers)).end(result.body)
    if (!isKnown || waiting === undefined || --waiting.requests > 0) return
    waiting.then()
    waiting = undefined
  }

  const server = createServer((request, response) => {
    relay(request, response).catch(error => response.destroy(error))
  })
  const getOrigin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(
    () =>
      new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  )
  return {
    url: getOrigin() + base,
    requested,
    after: (requests, then) => {
      waiting = { requests, then }
    }
  }
}
