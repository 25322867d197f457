import { randomUUID } from 'node:crypto'
import type { Backend } from '../../src/backends/backend.js'
import { HttpBackend } from '../../src/backends/http-backend.js'
import type { FhirResource, StoredResource } from '../../src/mappings/fhir.js'
import { audit } from '../../src/operator/ownership-scan/audit.js'
import { adopt, type AdoptParts } from '../../src/operator/ownership-scan/adopt.js'
import { readCriteria } from '../../src/operator/ownership-scan/adopt-criteria.js'
import { ScanIndex, type ScannedRecord } from '../../src/operator/ownership-scan/scan-index.js'
import { createFhirClient, tenantSystem, type FhirServer } from '../harness/fhir-server.js'

export { tenantSystem }

/** A code that stands on all records of one test, on a server that many share. */
const batchSystem = 'urn:test:batch'

/** A server that an operator brings, with ways to plant what an audit should find. */
export interface Existing extends FhirServer {
  readonly batch: string
  /** Stores a record with these tags in addition to the batch's. */
  readonly plant: (
    resource: FhirResource,
    ...tags: ReadonlyArray<readonly [system: string, code: string]>
  ) => Promise<StoredResource>
  /** Stores many, in transactions of 500; in the order of their storing. */
  readonly plantAll: (resources: readonly FhirResource[]) => Promise<void>
  /** The search for all that was planted of a type. */
  readonly search: (type: string) => string
  readonly listAll: (type: string) => Promise<StoredResource[]>
}

export function openExistingServer (url: string): Existing {
  const server = createFhirClient(url)
  const batch = randomUUID()
  const search = (type: string): string => `${type}?_tag=${encodeURIComponent(`${batchSystem}|${batch}`)}`
  const withTags = (resource: FhirResource, tags: ReadonlyArray<readonly [string, string]> = []): FhirResource => ({
    ...resource,
    meta: {
      ...resource.meta,
      tag: [
        { system: batchSystem, code: batch },
        ...(resource.meta?.tag ?? []),
        ...tags.map(([system, code]) => ({ system, code }))
      ]
    }
  })
  return {
    ...server,
    batch,
    search,
    async plant (resource, ...tags) {
      const { status, body } = await server.send('POST', resource.resourceType, withTags(resource, tags))
      if (status !== 201) throw new Error(`not stored: ${status} ${JSON.stringify(body)}`)
      return body
    },
    async plantAll (resources) {
      for (let at = 0; at < resources.length; at += 500) {
        const entry = resources
          .slice(at, at + 500)
          .map(resource => ({ resource: withTags(resource), request: { method: 'POST', url: resource.resourceType } }))
        const { status, body } = await server.send('POST', '', { resourceType: 'Bundle', type: 'transaction', entry })
        if (status !== 200) throw new Error(`not stored: ${status} ${JSON.stringify(body)}`)
      }
    },
    async listAll (type) {
      const found: StoredResource[] = []
      let path: string | undefined = `${search(type)}&_count=1000`
      while (path !== undefined) {
        const { body } = await server.send('GET', path)
        found.push(...(body.entry ?? []).map((entry: any) => entry.resource))
        path = body.link?.find(({ relation }: any) => relation === 'next')?.url.slice(url.length).replace(/^\//, '')
      }
      return found
    }
  }
}

/** What an audit of these types says, a line for each finding. */
export async function runAudit (
  backend: Backend,
  types: readonly string[],
  more: { pageSize?: number; onProgress?: () => void } = {}
): Promise<string[]> {
  const ledger = new ScanIndex()
  await audit({ backend, tenantSystem, types, ledger, ...more })
  const lines = [...ledger.listRecords(['no-tag', 'several-tags', 'unclear-tag'])].map(
    ({ state, type, id }) => `${state} ${type}/${id}`
  )
  lines.push(
    ...[...ledger.listFaults()].map(
      ({ finding, source, path, target = '-', tenantId, targetTenantId = '-' }) =>
        `${finding} ${source} ${path} ${target} ${tenantId} ${targetTenantId}`
    )
  )
  ledger.close()
  return lines
}

/** Adopts what a search finds, and says what became of each record. */
export async function runAdoption (
  backend: Backend,
  tenantId: string,
  search: string,
  more: Partial<AdoptParts> = {}
): Promise<{ states: Record<string, string>; faults: string[] }> {
  const ledger = new ScanIndex()
  await adopt({
    backend,
    tenant: { id: tenantId, system: tenantSystem },
    criteria: [readCriteria(search)],
    isDryRun: false,
    parallel: 4,
    ledger,
    ...more
  })
  const everyState = [...new Set(ledger.countRecords().map(({ state }) => state))]
  const states = Object.fromEntries(
    [...ledger.listRecords(everyState)].map(({ type, id, state }: ScannedRecord) => [`${type}/${id}`, state])
  )
  const faults = [...ledger.listFaults()].map(({ finding, source, target = '-' }) => `${finding} ${source} ${target}`)
  ledger.close()
  return { states, faults }
}

export const createOperatorBackend = (url: string): HttpBackend =>
  new HttpBackend({ name: 'datastore', baseUrl: url, retryPauseMs: 1 })

export const listTags = ({ meta }: StoredResource): string[] =>
  (meta.tag ?? []).map(({ system, code }) => `${system}|${code}`).sort()
