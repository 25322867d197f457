import type { Test } from 'tap'
import type { Backend } from '../../src/backends/backend.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import type { ExportRequest } from '../../src/jobs/model/job.js'
import { createCursors } from '../../src/tenant-guard/cursor.js'
import type { TenantContext } from '../../src/tenant-guard/tenant-context.js'
import { guardedExport } from '../../src/tenant-guard/export/export.js'
import { ownershipCache } from '../../src/tenant-guard/ownership.js'
import { fhirServer } from '../harness/fhir-server.js'
import { gatewayTo, newTenant, system } from '../tenant-guard/guarded.js'
import { breakableJob, type BreakableJob } from './interrupted.js'
import { idsIn, recordsIn } from './exporting.js'

const patient = (family: string, more = {}) => ({ resourceType: 'Patient', name: [{ family }], ...more })

interface Place {
  readonly backend: Backend
  readonly tenantId: string
  /** @param through stands between the export and the datastore */
  readonly jobOf: (request: Partial<ExportRequest>, through?: Partial<Backend>) => BreakableJob
}

function placeAt (t: Test, url: string): Place {
  const tenantId = newTenant()
  const { backend } = gatewayTo(url)
  t.teardown(() => backend.close())
  const context: TenantContext = {
    backend,
    tenant: { id: tenantId, system },
    mode: 'test',
    ownership: ownershipCache({ max: 1_000 }),
    cursors: createCursors({ key: Buffer.alloc(32), now: () => new Date() }),
    fhirBase: 'http://gateway.test/v1/fhir',
    onIncident: incident => { t.fail(`an incident: ${incident.kind}`) },
    onError: () => {}
  }
  return {
    backend,
    tenantId,
    jobOf: (request, through) =>
      breakableJob(
        () => guardedExport({ ...context, backend: decorateBackend(backend, through ?? {}) }),
        request,
        tenantId
      )
  }
}

/** What an export that is broken off, or that goes on while others write, must come to. */
export async function resumedContract (t: Test, url: string): Promise<void> {
  await t.test('an export that is broken off at any step loses no record and doubles none', t => brokenOff(t, url))
  await t.test('a record that is changed while an export goes on is in it once, as it was or as it is', t =>
    changedMeanwhile(t, url)
  )
}

/**
 * By the datastore's native export where it has one, and by tagged searches: of one filter, and of two that many
 * records match both.
 */
const ways: ReadonlyArray<Partial<ExportRequest>> = [
  { types: ['Patient', 'Observation'] },
  { types: ['Patient'], filters: { Patient: [[['active', 'true']], [['gender', 'female']]] } },
  { types: ['Binary', 'Patient'] }
]

async function brokenOff (t: Test, url: string): Promise<void> {
  const place = placeAt(t, url)
  const server = fhirServer(url)
  const ids: string[] = []
  for (let at = 0; at < 3; at++) {
    ids.push(
      ...(await server.storeAll(
        place.tenantId,
        Array.from({ length: 400 }, (_, i) => patient(`${at}`, { active: true, gender: i % 2 ? 'male' : 'female' }))
      ))
    )
  }
  await server.storeAll(
    place.tenantId,
    Array.from({ length: 3 }, () => ({ resourceType: 'Binary', contentType: 'text/plain', data: 'aGk=' }))
  )
  await server.storeAll(newTenant(), [patient('another', { active: true })])
  for (const request of ways) {
    const whole = place.jobOf(request)
    await whole.run({ saveEveryMs: 0 })
    t.strictSame(idsIn(recordsIn(String(whole.disk.get('Patient.ndjson')))), ids.toSorted(), JSON.stringify(request))
    let broken = 0
    for (let breaksAt = 1; breaksAt < whole.steps(); breaksAt += Math.ceil(whole.steps() / 6)) {
      const job = place.jobOf(request)
      // How a file of its native export is cut into pieces on the way differs, and with it the number of steps.
      if (await job.run({ breaksAt, saveEveryMs: 0 }) === 'broken off') broken++
      await job.run({ breaksAt: 3, saveEveryMs: 0 })
      t.equal(await job.run({ saveEveryMs: 0 }), 'ended')
      t.strictSame(
        idsIn(recordsIn(String(job.disk.get('Patient.ndjson')))),
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

async function changedMeanwhile (t: Test, url: string): Promise<void> {
  const place = placeAt(t, url)
  const server = fhirServer(url)
  const ids: string[] = []
  for (let at = 0; at < 3; at++) {
    ids.push(
      ...(await server.storeAll(
        place.tenantId,
        Array.from({ length: 500 }, () => patient('before', { active: true, gender: 'female' }))
      ))
    )
  }
  const change = async (id: string): Promise<void> => {
    const record = await server.read('Patient', id)
    const { status } = await server.send('PUT', `Patient/${id}`, { ...record, name: [{ family: 'after' }] })
    t.equal(status, 200)
  }
  let pages = 0
  const job = place.jobOf(
    { types: ['Patient'], filters: { Patient: [[['active', 'true']], [['gender', 'female']]] } },
    {
      // The first ones were met already, the last ones were not.
      send: async request => {
        if (request.path.startsWith('Patient?') && request.path.includes('_sort') && ++pages === 3) {
          for (const id of [...ids.slice(0, 3), ...ids.slice(-3)]) await change(id)
        }
        return place.backend.send(request)
      }
    }
  )
  t.equal(await job.run({ saveEveryMs: 0 }), 'ended')
  t.ok(pages > 3)
  t.strictSame(idsIn(recordsIn(String(job.disk.get('Patient.ndjson')))), ids.toSorted())
  t.equal(job.job.progress.processed, ids.length)
}
