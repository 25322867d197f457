/** An export from a server that misbehaves as the test decides. */
import type { Test } from 'tap'
import { createGateway, newTenant, system } from './guarded.js'
import { startExportingServer, type ExportingServer, type Fault } from './exporting-server.js'
import { createBreakableJob, type BreakableJob } from '../jobs/interrupted.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { TenantContext, Incident } from '../../src/tenant-guard/tenant-context.js'
import { createGuardedExport } from '../../src/tenant-guard/export/export.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'

export const tenantId = newTenant()
export const buildTaggedLine = (type: string, id: string, code = tenantId, more = {}): string =>
  JSON.stringify({
    resourceType: type,
    id,
    meta: { versionId: '1', lastUpdated: '2026-01-01T00:00:00.000Z', tag: [{ system, code }] },
    ...more
  })
export const buildTaggedLines = (type: string, from: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => buildTaggedLine(type, `${type}-${from + at}`))

export interface Scene {
  readonly server: ExportingServer
  readonly job: BreakableJob
  readonly incidents: Incident[]
  /** Another job with the same request. */
  readonly createJob: () => BreakableJob
}

export async function startScene (t: Test, request: Parameters<typeof createBreakableJob>[1] = {}): Promise<Scene> {
  const server = await startExportingServer()
  server.files = [
    { type: 'Patient', lines: buildTaggedLines('Patient', 0, 700) },
    { type: 'Observation', lines: buildTaggedLines('Observation', 0, 10) },
    { type: 'Patient', lines: buildTaggedLines('Patient', 700, 50) }
  ]
  const { backend, incidents } = createGateway(server.url)
  t.teardown(async () => { await backend.close(); await server.close() })
  const context: TenantContext = {
    backend,
    tenant: { id: tenantId, system },
    mode: 'test',
    ownership: createOwnershipCache({ max: 10 }),
    cursors: createCursors({ key: Buffer.alloc(32), now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    requestId: 'job-1',
    onIncident: incident => { incidents.push(incident) },
    onError: () => {}
  }
  const createJob = (): BreakableJob => createBreakableJob(() => createGuardedExport(context), request, tenantId)
  return { server, incidents, job: createJob(), createJob }
}

export const readLines = (job: BreakableJob, type: string): string[] =>
  (job.disk.get(`${type}.ndjson`)?.toString() ?? '').split('\n').filter(line => line !== '')

export function requireComplete (t: Test, { server, job }: Pick<Scene, 'server' | 'job'>): void {
  for (const type of ['Patient', 'Observation']) {
    const expected = server.files.filter(file => file.type === type).flatMap(({ lines }) => lines)
    t.strictSame(readLines(job, type).toSorted(), expected.toSorted(), `each ${type} once`)
    t.match(
      job.job.files.find(file => file.resourceType === type),
      { count: expected.length, bytes: job.disk.get(`${type}.ndjson`)!.length }
    )
  }
}

/** Responds wrongly to the first requests of a path, so many times. */
export function createFault (path: RegExp, times: number, behave: (response: Parameters<Fault>[1]) => void): Fault {
  return (request, response) => {
    if (!path.test(request.path) || times-- <= 0) return false
    behave(response)
    return true
  }
}
