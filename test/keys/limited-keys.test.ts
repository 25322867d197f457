import t from 'tap'
import type { Scope } from '../../src/keys/caller.js'
import { openExportWorld, bulk } from '../jobs/exporting.js'
import { bundle, entry, isRefused, observation, patchType, patient } from '../passthrough/fixture.js'
import { startTestSandbox } from '../harness/sandbox.js'

t.test('keys with limits', async t => {
  const { url } = await startTestSandbox(t)
  const world = await openExportWorld(t, { url, server: 'sandbox' })
  const all = await world.join()
  const keyFor = async (...scopes: Scope[]) => await world.join({ tenantId: all.tenantId, scopes })
  const { resource: { id } } = await all.send('POST', '/Patient', patient())
  for (let made = 0; made < 3; made++) await all.send('POST', '/Observation', observation(`Patient/${id}`))

  await t.test('includes leave out what the key may not read, and name its types', async t => {
    const key = await keyFor('fhir/Observation:read', 'patients:read')
    const { resource } = await key.send('GET', '/Observation?_include=Observation:patient&_count=1')
    t.same(resource.entry.map((each: any) => each.resource.resourceType), ['Observation', 'OperationOutcome'])
    t.match(resource.entry[1].resource.issue[0].diagnostics, /not read records of these types.*: Patient\b/)
    const { resource: next } = await key.send('GET', resource.link.find((link: any) => link.relation === 'next').url)
    t.match(next.entry[1].resource.issue[0].diagnostics, /Patient\b/, 'on each page')

    const { status, body } = await (await keyFor('patients:read')).simple('GET', `/patients/${id}?include=observations`)
    t.equal(status, 200)
    t.notOk('observations' in body.data, 'an empty list would say that there are none')
    t.match(body.meta.warnings, [{ code: 'forbidden', expression: ['include'] }])
    t.match((await key.simple('GET', `/patients/${id}?include=observations`)).body.data.observations.length, 3)
  })

  await t.test('a raw scope opens the simple resource, and a simple one no raw FHIR', async t => {
    const [raw, simple] = [await keyFor('fhir/Patient:*'), await keyFor('patients:*')]
    t.equal((await raw.simple('GET', `/patients/${id}`)).status, 200)
    t.equal((await raw.simple('PATCH', `/patients/${id}`, { gender: 'female' })).body.data.gender, 'female')
    t.equal((await simple.simple('GET', `/patients/${id}`)).status, 200)
    isRefused(t, await simple.send('GET', `/Patient/${id}`), { status: 403, code: 'forbidden', diagnostics: /fhir\/Patient:read/ }, 'raw')
    t.equal((await simple.simple('GET', `/patients/${id}?_revinclude=Observation:patient`)).status, 403)
    t.equal((await simple.simple('GET', '/observations')).body.code, 'INSUFFICIENT_SCOPE')
    t.equal((await simple.simple('GET', '/no-such')).status, 404)
    t.equal((await simple.simple('GET', '/usage')).status, 200)
  })

  await t.test('a cursor of one key is of no use to a key with other limits', async t => {
    const { resource } = await all.send('GET', '/Observation?subject:Patient.family=Byron&_count=1')
    const next = resource.link.find((link: any) => link.relation === 'next').url
    t.equal((await all.send('GET', next)).status, 200)
    isRefused(t, await (await keyFor('fhir/Observation:read')).send('GET', next), 400, 'the search looked into patients')
  })

  await t.test('a key that only writes sees no record by a PATCH of the simple API', async t => {
    for (const scopes of [['write'], ['patients:write']] as const) {
      const key = await keyFor(...scopes)
      const { status, body } = await key.simple('PATCH', `/patients/${id}`, {})
      t.equal(status, 200)
      t.same(Object.keys(body.data).filter(name => !/^(id|resourceType|versionId|createdAt|updatedAt)$/.test(name)), [])
      const test = [{ op: 'test', path: '/lastName', value: 'Byron' }]
      t.equal((await key.simple('PATCH', `/patients/${id}`, test)).status, 403)
    }
  })

  await t.test('a key that only writes finds no record by a conditional reference', async t => {
    for (const scopes of [['write'], ['fhir/Observation:*']] as const) {
      const key = await keyFor(...scopes)
      for (const family of ['Byron', 'Nobody']) {
        const sent = bundle('transaction', entry('POST', 'Observation', observation(`Patient?family=${family}`)))
        isRefused(t, await key.send('POST', '', sent), { status: 403, code: 'forbidden' }, family)
      }
    }
    const key = await keyFor('fhir/Observation:*')
    t.equal((await key.send('POST', '/Observation', observation(`Patient/${id}`))).status, 201, 'an id is named, not read')
    t.equal((await key.send('PATCH', `/Patient/${id}`, [], patchType)).status, 403)
  })

  await t.test('an export has the types that the key may read; another one that is named is refused', async t => {
    const key = await keyFor('fhir/Observation:read', 'patients:read')
    const { lines, manifest } = await key.exported('/$export')
    t.same(Object.keys(lines), ['Observation'])
    const { leftOutTypes } = manifest.extension
    t.ok(leftOutTypes.includes('Patient') && !leftOutTypes.includes('Observation'), 'the manifest names what it lacks')
    t.notOk((await key.exported('/$export?_type=Observation')).manifest.extension, 'nothing that was named is lacking')
    isRefused(t, await key.send('GET', '/$export?_type=Observation,Patient', undefined, bulk), { status: 403, code: 'forbidden' }, 'raw')
    const { status } = await key.simple('POST', '/bulk/export', { format: 'simple', resourceTypes: ['patients'] })
    t.equal(status, 202)
    const whole = await key.simple('POST', '/bulk/export', { format: 'simple' })
    const { data: job } = (await key.simple('GET', `/bulk/jobs/${whole.body.data.jobId}`)).body
    t.ok(job.leftOutTypes.includes('Encounter') && !job.leftOutTypes.includes('Patient'), 'a job names what it lacks')
    await key.simple('DELETE', `/bulk/jobs/${whole.body.data.jobId}`)
    t.equal((await key.simple('POST', '/bulk/export', { resourceTypes: ['patients'] })).status, 403)
    const seen = async (...scopes: Scope[]) => (await (await keyFor(...scopes)).simple('GET', '/bulk/jobs')).body.data.data.length
    t.same(
      [await seen('read'), await seen('fhir/Observation:read', 'patients:read'), await seen('patients:read'), await seen('labs:read')],
      [4, 4, 1, 0]
    )
  })

  await t.test('unknown scopes are refused when a key is created', async t => {
    const refused = async (scopes: string[], message: RegExp) =>
      await t.rejects(keyFor(...scopes as Scope[]), { reason: 'invalid', field: 'scopes', message })
    await refused(['patient:read'], /did you mean patients\?/)
    await refused(['read', 'fhir/Patients:read'], /did you mean fhir\/Patient\?/)
    await refused([], /patients:read/)
    await refused(Array.from({ length: 101 }, () => 'patients:read'), /up to 100/)
  })
})
