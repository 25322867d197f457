import { setTimeout as pause } from 'node:timers/promises'
import { createFhirClient, type FhirServer } from '../harness/fhir-server.js'
import type { Scope } from '../../src/keys/caller.js'
import { openWorld, type RawResponse, type Fhir, type World } from '../passthrough/fixture.js'
import type { Test } from 'tap'

export const bulk = { prefer: 'respond-async' }

/** An export that has ended: its manifest, and the lines of its files by type. */
interface Exported {
  readonly manifest: any
  readonly lines: Readonly<Record<string, readonly any[]>>
  readonly texts: Readonly<Record<string, string>>
}

/** A client of one organization that exports. */
export interface Exporter extends Fhir {
  /** Starts an export; fails unless it has begun. @returns its status URL */
  readonly begin: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<string>
  /** The last response of the status URL of an export. */
  readonly waitForEnd: (statusUrl: string) => Promise<RawResponse>
  readonly runExport: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Exported>
  /** Sends to the simple routes. `path` begins after `/v1`. */
  readonly sendSimple: (
    method: string,
    path: string,
    body?: unknown
  ) => Promise<{ readonly status: number; readonly text: string; readonly body: any }>
}

/** A gateway to a FHIR server, and direct access to the server. */
export interface ExportWorld extends Omit<World, 'fhir'> {
  readonly direct: FhirServer
  readonly join: (request?: { readonly tenantId?: string, readonly scopes?: readonly Scope[] }) => Promise<Exporter>
}

export async function openExportWorld (
  t: Test,
  where: { readonly url: string; readonly server: World['server'] }
): Promise<ExportWorld> {
  const { fhir, ...world } = await openWorld(t, where)
  return {
    ...world,
    direct: createFhirClient(where.url),
    join: async request => createExporter(world, await fhir(request))
  }
}

/** A client that exports, built from what sends the requests of one key. */
export function createExporter ({ gateway }: Pick<World, 'gateway'>, fhir: Fhir): Exporter {
  const begin: Exporter['begin'] = async (path, body, headers = {}) => {
    const response = await fhir.send(body === undefined ? 'GET' : 'POST', path, body, { ...bulk, ...headers })
    if (response.status !== 202) throw new Error(`the export was answered with ${response.status} ${response.text}`)
    return response.headers['content-location']!
  }
  const waitForEnd: Exporter['waitForEnd'] = async statusUrl => {
    for (let tries = 0; tries < 1_200; tries++) {
      const response = await fhir.send('GET', statusUrl)
      if (response.status !== 202) return response
      await pause(100)
    }
    throw new Error('the export does not end')
  }
  const sendSimple: Exporter['sendSimple'] = async (method, path, body) => {
    const response = await gateway.inject({
      method: method as 'GET',
      url: `/v1${path}`,
      headers: { 'x-api-key': fhir.secret, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { payload: JSON.stringify(body) })
    })
    return {
      status: response.statusCode,
      text: response.body,
      body: String(response.headers['content-type']).includes('ndjson') ? undefined : JSON.parse(response.body)
    }
  }
  return {
    ...fhir,
    begin,
    waitForEnd,
    sendSimple,
    runExport: async (path, body, headers) => {
      const response = await waitForEnd(await begin(path, body, headers))
      if (response.status !== 200) throw new Error(`the export ended with ${response.status} ${response.text}`)
      const texts: Record<string, string> = {}
      for (const { type, url } of response.resource.output) {
        texts[type] = (await sendSimple('GET', new URL(url).pathname.slice('/v1'.length))).text
      }
      return {
        manifest: response.resource,
        texts,
        lines: Object.fromEntries(Object.entries(texts).map(([type, text]) => [type, parseRecords(text)]))
      }
    }
  }
}

export const parseRecords = (text: string): any[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))

export const toSortedIds = (records: readonly any[] = []): string[] => records.map(({ id }) => id).sort()
