import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Responds in place of the server; `false` leaves the request to the server. */
export type Fault = (
  request: { readonly method: string; readonly path: string },
  response: ServerResponse
) => boolean | void

/** A FHIR server that does nothing but export the given records, on loopback, and misbehaves as the test decides. */
export interface ExportingServer {
  /** The base URL. */
  readonly url: string
  /** Every request, `GET /metadata`, its body behind it. */
  readonly seen: Array<{
    readonly method: string
    readonly path: string
    readonly body: string
    readonly headers: IncomingMessage['headers']
  }>
  /** The lines of each file, by its type. */
  files: Array<{ type: string; lines: readonly string[] }>
  /** Looks at each request first. */
  fault: Fault
  /** How often it says that the export goes on. */
  polls: number
  /** Entries of the manifest in place of its own. */
  output: ((url: string) => unknown) | undefined
  close(): Promise<void>
}

const type = { 'content-type': 'application/fhir+json' }

export async function startExportingServer (): Promise<ExportingServer> {
  let polled = 0
  const server = createServer((request, response) => {
    handleRequest(request, response).catch(error => response.destroy(error))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`
  const self: ExportingServer = {
    url,
    seen: [],
    files: [],
    fault: () => false,
    polls: 1,
    output: undefined,
    close: () => new Promise(resolve => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
  const respondJson = (response: ServerResponse, status: number, body?: unknown, headers = {}): void => {
    response.writeHead(status, { ...type, ...headers }).end(body === undefined ? '' : JSON.stringify(body))
  }

  async function handleRequest (request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: requestUrl = '', headers } = request
    const path = requestUrl.slice('/fhir'.length)
    self.seen.push({ method, path, headers, body: await text(request) })
    if (self.fault({ method, path }, response) === true) return
    if (path === '/metadata') {
      return respondJson(response, 200, {
        resourceType: 'CapabilityStatement',
        rest: [{ operation: [{ name: 'export' }], resource: [{ type: 'Patient' }, { type: 'Observation' }] }]
      })
    }
    if (method === 'POST' && path === '/$export') {
      polled = 0
      return respondJson(response, 202, undefined, { 'content-location': `${url}/$export-poll-status?_jobId=1` })
    }
    if (path.startsWith('/$export-poll-status')) {
      if (method === 'DELETE') return respondJson(response, 202)
      if (polled++ < self.polls) return respondJson(response, 202, undefined, { 'retry-after': '120' })
      const output = self.output?.(url) ?? self.files.map(({ type }, at) => ({ type, url: `${url}/Binary/${at}` }))
      return respondJson(response, 200, { transactionTime: '2030-01-01T00:00:00Z', output, error: [] })
    }
    const [, file] = /^\/Binary\/(\d+)$/.exec(path) ?? []
    if (file !== undefined) {
      response
        .writeHead(200, { 'content-type': 'application/fhir+ndjson' })
        .end(self.files[Number(file)]!.lines.map(line => `${line}\n`).join(''))
      return
    }
    const [, counted] = /^\/(\w+)\?.*_count=0/.exec(path) ?? []
    if (counted === undefined) return respondJson(response, 404, { resourceType: 'OperationOutcome' })
    const total = self.files.filter(({ type }) => type === counted).reduce((sum, { lines }) => sum + lines.length, 0)
    respondJson(response, 200, {
      resourceType: 'Bundle',
      type: 'searchset',
      total: path.includes('clinigate-clock') ? 0 : total
    })
  }
  return self
}
