import type { Test } from 'tap'
import type { Backend } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import type { ExportRequest } from '../../src/jobs/model/job.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { TenantContext } from '../../src/tenant-guard/tenant-context.js'
import { createGuardedExport } from '../../src/tenant-guard/export/export.js'
import { createOwnershipCache } from '../../src/tenant-guard/ownership.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { createGateway, newTenant, system } from '../tenant-guard/guarded.js'
import { createBreakableJob, type BreakableJob } from './interrupted.js'
import { toSortedIds, parseRecords } from './exporting.js'

const buildPatient = (family: string, more = {}) => ({ resourceType: 'Patient', name: [{ family }], ...more })

interface Scene {
  readonly backend: Backend
  readonly tenantId: string
  /** @param through stands between the export and the datastore */
  readonly createJob: (request: Partial<ExportRequest>, through?: Partial<Backend>) => BreakableJob
}

function createScene (t: Test, url: string): Scene {
  const tenantId = newTenant()
  const { backend } = createGateway(url)
  t.teardown(() => backend.close())
  const context: TenantContext = {
    backend,
    tenant: { id: tenantId, system },
    mode: 'test',
    ownership: createOwnershipCache({ max: 1_000 }),
    cursors: createCursors({ key: Buffer.alloc(32), now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    onIncident: incident => { t.fail(`an incident: ${incident.kind}`) },
    onError: () => {}
  }
  return {
    backend,
    tenantId,
    createJob: (request, through) =>
      createBreakableJob(
        () => createGuardedExport({ ...context, backend: decorateBackend(backend, through ?? {}) }),
        request,
        tenantId
      )
  }
}

/** The results of an export that is broken off, or that goes on while others write. */
export async function testResumedExports (t: Test, url: string): Promise<void> {
  await t.test('an export that is broken off at any step loses no record and doubles none', t => testInterruption(t, url))
  await t.test('a record that is changed during an export is in it once, in the old version or the new one', t =>
    testConcurrentChange(t, url)
  )
}

/**
 * By the datastore's native export where it has one, and by tagged searches: of one filter, and of two that many
 * records match both.
 */
const requests: ReadonlyArray<Partial<ExportRequest>> = [
  { types: ['Patient', 'Observation'] },
  { types: ['Patient'], filters: { Patient: [[['active', 'true']], [['gender', 'female']]] } },
  { types: ['Binary', 'Patient'] }
]

async function testInterruption (t: Test, url: string): Promise<void> {
  const scene = createScene(t, url)
  const server = createFhirClient(url)
  const ids: string[] = []
  for (let at = 0; at < 3; at++) {
    ids.push(
      ...(await server.storeAll(
        scene.tenantId,
        Array.from({ length: 400 }, (_, i) => buildPatient(`${at}`, { active: true, gender: i % 2 ? 'male' : 'female' }))
      ))
    )
  }
  await server.storeAll(
    scene.tenantId,
    Array.from({ length: 3 }, () => ({ resourceType: 'Binary', contentType: 'text/plain', data: 'aGk=' }))
  )
  await server.storeAll(newTenant(), [buildPatient('another', { active: true })])
  for (const request of requests) {
    const uninterrupted = scene.createJob(request)
    await uninterrupted.run({ saveEveryMs: 0 })
    t.strictSame(toSortedIds(parseRecords(String(uninterrupted.disk.get('Patient.ndjson')))), ids.toSorted(), JSON.stringify(request))
    let broken = 0
    for (let breaksAt = 1; breaksAt < uninterrupted.steps(); breaksAt += Math.ceil(uninterrupted.steps() / 6)) {
      const job = scene.createJob(request)
      // How a file of its native export is cut into pieces on the way differs, and with it the number of steps.
      if (await job.run({ breaksAt, saveEveryMs: 0 }) === 'broken off') broken++
      await job.run({ breaksAt: 3, saveEveryMs: 0 })
      t.equal(await job.run({ saveEveryMs: 0 }), 'ended')
      t.strictSame(
        toSortedIds(parseRecords(String(job.disk.get('Patient.ndjson')))),
        ids.toSorted(),
        `broken off at step ${breaksAt}`
      )
      t.match(
        job.job.files.find(({ resourceType }) => resourceType === 'Patient'),
        { count: ids.length, bytes: job.disk.get('Patient.ndjson')!.length }
      )
    }
    t.ok(broken >= 3)
  }
}

async function testConcurrentChange (t: Test, url: string): Promise<void> {
  const scene = createScene(t, url)
  const server = createFhirClient(url)
  const ids: string[] = []
  for (let at = 0; at < 3; at++) {
    ids.push(
      ...(await server.storeAll(
        scene.tenantId,
        Array.from({ length: 500 }, () => buildPatient('before', { active: true, gender: 'female' }))
      ))
    )
  }
  const change = async (id: string): Promise<void> => {
    const record = await server.read('Patient', id)
    const { status } = await server.send('PUT', `Patient/${id}`, { ...record, name: [{ family: 'after' }] })
    t.equal(status, 200)
  }
  let pages = 0
  const job = scene.createJob(
    { types: ['Patient'], filters: { Patient: [[['active', 'true']], [['gender', 'female']]] } },
    {
      // The first ones were met already, the last ones were not.
      send: async request => {
        if (request.path.startsWith('Patient?') && request.path.includes('_sort') && ++pages === 3) {
          for (const id of [...ids.slice(0, 3), ...ids.slice(-3)]) await change(id)
        }
        return scene.backend.send(request)
      }
    }
  )
  t.equal(await job.run({ saveEveryMs: 0 }), 'ended')
  t.ok(pages > 3)
  t.strictSame(toSortedIds(parseRecords(String(job.disk.get('Patient.ndjson')))), ids.toSorted())
  t.equal(job.job.progress.processed, ids.length)
}
