import t from 'tap'
import type { Scope } from '../../src/keys/caller.js'
import { openExportWorld, bulk } from '../jobs/exporting.js'
import {
  buildBundle, buildEntry, assertRejected, buildObservation, patchType, buildPatient
} from '../passthrough/fixture.js'
import { startTestSandbox } from '../harness/sandbox.js'

t.test('keys with limits', async t => {
  const { url } = await startTestSandbox(t)
  const world = await openExportWorld(t, { url, server: 'sandbox' })
  const all = await world.join()
  const joinWithScopes = async (...scopes: Scope[]) => await world.join({ tenantId: all.tenantId, scopes })
  const { resource: { id } } = await all.send('POST', '/Patient', buildPatient())
  for (let made = 0; made < 3; made++) await all.send('POST', '/Observation', buildObservation(`Patient/${id}`))

  await t.test('includes leave out records that the key may not read, and name their types', async t => {
    const key = await joinWithScopes('fhir/Observation:read', 'patients:read')
    const { resource } = await key.send('GET', '/Observation?_include=Observation:patient&_count=1')
    t.same(resource.entry.map((each: any) => each.resource.resourceType), ['Observation', 'OperationOutcome'])
    t.match(resource.entry[1].resource.issue[0].diagnostics, /not read records of these types.*: Patient\b/)
    const { resource: next } = await key.send('GET', resource.link.find((link: any) => link.relation === 'next').url)
    t.match(next.entry[1].resource.issue[0].diagnostics, /Patient\b/, 'on each page')

    const { status, body } = await (await joinWithScopes('patients:read')).sendSimple('GET', `/patients/${id}?include=observations`)
    t.equal(status, 200)
    t.notOk('observations' in body.data, 'an empty list would say that there are none')
    t.match(body.meta.warnings, [{ code: 'forbidden', expression: ['include'] }])
    t.match((await key.sendSimple('GET', `/patients/${id}?include=observations`)).body.data.observations.length, 3)
  })

  await t.test('a raw scope permits the simple resource, and a simple one no raw FHIR', async t => {
    const [raw, simple] = [await joinWithScopes('fhir/Patient:*'), await joinWithScopes('patients:*')]
    t.equal((await raw.sendSimple('GET', `/patients/${id}`)).status, 200)
    t.equal((await raw.sendSimple('PATCH', `/patients/${id}`, { gender: 'female' })).body.data.gender, 'female')
    t.equal((await simple.sendSimple('GET', `/patients/${id}`)).status, 200)
    assertRejected(t, await simple.send('GET', `/Patient/${id}`), { status: 403, code: 'forbidden', diagnostics: /fhir\/Patient:read/ }, 'raw')
    t.equal((await simple.sendSimple('GET', `/patients/${id}?_revinclude=Observation:patient`)).status, 403)
    t.equal((await simple.sendSimple('GET', '/observations')).body.code, 'INSUFFICIENT_SCOPE')
    t.equal((await simple.sendSimple('GET', '/no-such')).status, 404)
    t.equal((await simple.sendSimple('GET', '/usage')).status, 200)
  })

  await t.test('a cursor of one key is rejected for a key with other limits', async t => {
    const { resource } = await all.send('GET', '/Observation?subject:Patient.family=Byron&_count=1')
    const next = resource.link.find((link: any) => link.relation === 'next').url
    t.equal((await all.send('GET', next)).status, 200)
    assertRejected(t, await (await joinWithScopes('fhir/Observation:read')).send('GET', next), 400, 'the search looked into patients')
  })

  await t.test('a key that only writes reads no record by a PATCH of the simple API', async t => {
    for (const scopes of [['write'], ['patients:write']] as const) {
      const key = await joinWithScopes(...scopes)
      const { status, body } = await key.sendSimple('PATCH', `/patients/${id}`, {})
      t.equal(status, 200)
      t.same(Object.keys(body.data).filter(name => !/^(id|resourceType|versionId|createdAt|updatedAt)$/.test(name)), [])
      const test = [{ op: 'test', path: '/lastName', value: 'Byron' }]
      t.equal((await key.sendSimple('PATCH', `/patients/${id}`, test)).status, 403)
    }
  })

  await t.test('a key that only writes finds no record by a conditional reference', async t => {
    for (const scopes of [['write'], ['fhir/Observation:*']] as const) {
      const key = await joinWithScopes(...scopes)
      for (const family of ['Byron', 'Nobody']) {
        const sent = buildBundle('transaction', buildEntry('POST', 'Observation', buildObservation(`Patient?family=${family}`)))
        assertRejected(t, await key.send('POST', '', sent), { status: 403, code: 'forbidden' }, family)
      }
    }
    const key = await joinWithScopes('fhir/Observation:*')
    t.equal((await key.send('POST', '/Observation', buildObservation(`Patient/${id}`))).status, 201, 'an id is named, not read')
    t.equal((await key.send('PATCH', `/Patient/${id}`, [], patchType)).status, 403)
  })

  await t.test('an export has the types that the key may read; another one that is named is rejected', async t => {
    const key = await joinWithScopes('fhir/Observation:read', 'patients:read')
    const { lines, manifest } = await key.runExport('/$export')
    t.same(Object.keys(lines), ['Observation'])
    const { leftOutTypes } = manifest.extension
    t.ok(leftOutTypes.includes('Patient') && !leftOutTypes.includes('Observation'), 'the manifest names what it lacks')
    t.notOk((await key.runExport('/$export?_type=Observation')).manifest.extension, 'nothing that was named is lacking')
    assertRejected(t, await key.send('GET', '/$export?_type=Observation,Patient', undefined, bulk), { status: 403, code: 'forbidden' }, 'raw')
    const { status } = await key.sendSimple('POST', '/bulk/export', { format: 'simple', resourceTypes: ['patients'] })
    t.equal(status, 202)
    const exported = await key.sendSimple('POST', '/bulk/export', { format: 'simple' })
    const { data: job } = (await key.sendSimple('GET', `/bulk/jobs/${exported.body.data.jobId}`)).body
    t.ok(job.leftOutTypes.includes('Encounter') && !job.leftOutTypes.includes('Patient'), 'a job names what it lacks')
    await key.sendSimple('DELETE', `/bulk/jobs/${exported.body.data.jobId}`)
    t.equal((await key.sendSimple('POST', '/bulk/export', { resourceTypes: ['patients'] })).status, 403)
    const countJobs = async (...scopes: Scope[]) => (await (await joinWithScopes(...scopes)).sendSimple('GET', '/bulk/jobs')).body.data.data.length
    t.same(
      [await countJobs('read'), await countJobs('fhir/Observation:read', 'patients:read'), await countJobs('patients:read'), await countJobs('labs:read')],
      [4, 4, 1, 0]
    )
  })

  await t.test('unknown scopes are rejected when a key is created', async t => {
    const requireInvalidScopes = async (scopes: string[], message: RegExp) =>
      await t.rejects(joinWithScopes(...scopes as Scope[]), { reason: 'invalid', field: 'scopes', message })
    await requireInvalidScopes(['patient:read'], /did you mean patients\?/)
    await requireInvalidScopes(['read', 'fhir/Patients:read'], /did you mean fhir\/Patient\?/)
    await requireInvalidScopes([], /patients:read/)
    await requireInvalidScopes(Array.from({ length: 101 }, () => 'patients:read'), /up to 100/)
  })
})
