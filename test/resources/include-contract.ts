import type { Test } from 'tap'
import { mappings } from '../../src/mappings/registry.js'
import { buildRelations } from '../../src/api/resources/include.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { startWatched } from '../harness/recording-backend.js'
import { createGateway, newTenant, system } from '../tenant-guard/guarded.js'

/**
 * The records that are included with a record, on every FHIR server.
 * @param refusedTypes types of which the server accepts no record
 */
export async function testIncludes (t: Test, fhirUrl: string, refusedTypes: readonly string[] = []): Promise<void> {
  const backend = await startWatched(fhirUrl)
  t.after(() => backend.close())
  const { inject, createKey } = await startGateway(t, {
    fhirUrl: backend.url,
    config: { publicUrl: 'https://api.example.org' }
  })

  const createClient = async () => {
    const { secret, tenantId } = await createKey()
    const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
      const response = await inject({ method, url: `/v1/${url}`, headers: { 'x-api-key': secret }, payload })
      return { status: response.statusCode, headers: response.headers, ...response.json() }
    }
    const make = async (path: string, payload: object): Promise<string> => {
      const made = await send('POST', path, payload)
      if (made.status !== 201) throw new Error(JSON.stringify(made.issues))
      return made.data.id
    }
    const createPatient = () => make('patients', { firstName: 'Ada', lastName: 'Byron' })
    const createEncounter = (patientId: string) => make('encounters', { status: 'planned', class: 'AMB', patientId })
    const createObservation = (patientId: string, more: object = {}) =>
      make('observations', {
        status: 'final',
        code: { code: '8867-4', system: 'http://loinc.org' },
        patientId,
        ...more
      })
    return { send, make, createPatient, createEncounter, createObservation, tenantId }
  }
  const listIds = (list: Array<{ id: string }>) => list.map(({ id }) => id).sort()
  const tenantMeta = (tenantId: string) => ({ tag: [{ system, code: tenantId }] })

  await t.test(
    "_revinclude responds with a searchset of the patient and the tenant's records about it, by addresses of the gateway",
    async t => {
      const { send, createPatient, createEncounter, createObservation } = await createClient()
      const id = await createPatient()
      const [first, second] = [await createEncounter(id), await createEncounter(id)]
      const measured = await createObservation(id)
      await createObservation(await createPatient())
      backend.seen.length = 0
      const { status, data, headers } = await send(
        'GET',
        `patients/${id}?_revinclude=Encounter:subject&_revinclude=Encounter:patient&_revinclude=Observation:subject&_revinclude=Observation%3Apatient`
      )
      t.equal(backend.seen.length, 1, 'one call')
      t.equal(status, 200)
      t.equal(headers.etag, undefined, 'the version of the patient says nothing of what comes along')
      t.match(data, { resourceType: 'Bundle', type: 'searchset', total: 1 })
      t.strictSame(data.link, [
        {
          relation: 'self',
          url: `https://api.example.org/v1/fhir/Patient?_id=${id}&_revinclude=Encounter:patient&_revinclude=Observation:patient`
        }
      ])
      const [match, ...included] = data.entry
      t.match(match, {
        fullUrl: `https://api.example.org/v1/fhir/Patient/${id}`,
        resource: { resourceType: 'Patient', id },
        search: { mode: 'match' }
      })
      t.strictSame(
        included
          .map(({ fullUrl, search }: { fullUrl: string; search: unknown }) => [
            fullUrl.replace('https://api.example.org/v1/fhir/', ''),
            search
          ])
          .sort(),
        [`Encounter/${first}`, `Encounter/${second}`, `Observation/${measured}`]
          .sort()
          .map(record => [record, { mode: 'include' }])
      )
      t.notMatch(JSON.stringify(data), new URL(backend.url).host)
      t.notMatch(JSON.stringify(data), new URL(fhirUrl).host)
    }
  )

  await t.test('_include responds with the record and what it refers to, the same way', async t => {
    const { send, createPatient, createEncounter, createObservation } = await createClient()
    const id = await createPatient()
    const visit = await createEncounter(id)
    const measured = await createObservation(id, { encounterId: visit })
    for (const [path, type] of [
      [`encounters/${visit}?_include=Encounter:subject&_include=Encounter:patient`, 'Encounter'],
      [`observations/${measured}?_include=Observation:subject:Patient`, 'Observation']
    ] as const) {
      const { data } = await send('GET', path)
      t.strictSame(
        data.entry.map(({ resource: { resourceType, id }, search: { mode } }: any) => [resourceType, id, mode]),
        [
          [type, type === 'Encounter' ? visit : measured, 'match'],
          ['Patient', id, 'include']
        ]
      )
    }
    const both = await send('GET', `encounters/${visit}?_include=Encounter:subject&_revinclude=Observation:encounter`)
    t.strictSame(listIds(both.data.entry.map(({ resource }: any) => resource)), [id, visit, measured].sort())
  })

  await t.test('include responds with the simple record and a list of simple records for each name', async t => {
    const { send, createPatient, createEncounter, createObservation } = await createClient()
    const id = await createPatient()
    const bare = await send('GET', `patients/${id}?include=encounters,observations`)
    t.strictSame([bare.data.encounters, bare.data.observations, bare.data.incomplete], [[], [], undefined])
    const visit = await createEncounter(id)
    const measured = await createObservation(id, { encounterId: visit })
    await createObservation(await createPatient(), { performerId: `Patient/${id}` })
    backend.seen.length = 0
    const { data } = await send('GET', `patients/${id}?include=encounters,observations`)
    t.equal(backend.seen.length, 1, 'one call')
    t.match(data, {
      id,
      firstName: 'Ada',
      encounters: [{ id: visit, patientId: id, class: 'AMB' }],
      observations: [{ id: measured, encounterId: visit }]
    })
    t.strictSame(
      [data.encounters.length, data.observations.length],
      [1, 1],
      'an observation that the patient made of somebody else is not one of the patient'
    )
    t.match((await send('GET', `encounters/${visit}?include=observations`)).data, {
      id: visit,
      observations: [{ id: measured }]
    })
  })

  await t.test('a record that was just stored is included, also after the same request before it', async t => {
    const { send, make, createPatient, createEncounter } = await createClient()
    const id = await createPatient()
    for (let number = 1; number <= 4; number++) {
      const visit = await createEncounter(id)
      const simple = await send('GET', `patients/${id}?include=encounters`)
      t.ok(listIds(simple.data.encounters).includes(visit))
      t.equal(simple.data.encounters.length, number)
      const bundle = await send('GET', `patients/${id}?_revinclude=Encounter:patient`)
      t.equal(bundle.data.entry.length, number + 1)
      const listed = await send('GET', `encounters?patientId=${id}`)
      t.strictSame([listed.data.total, listIds(listed.data.data).includes(visit)], [number, true])
      await make('observations', {
        status: 'final',
        code: { code: '8867-4', system: 'http://loinc.org' },
        patientId: id
      })
      t.equal((await send('GET', `observations?patientId=${id}`)).data.total, number)
    }
    const last = await send('GET', `patients/${id}?include=encounters`)
    await send('DELETE', `encounters/${last.data.encounters[0].id}`)
    t.equal((await send('GET', `patients/${id}?include=encounters`)).data.encounters.length, 3)
    await send('PATCH', `encounters/${last.data.encounters[1].id}`, { status: 'cancelled' })
    t.ok(
      (await send('GET', `patients/${id}?include=encounters`)).data.encounters.some(
        (visit: any) => visit.status === 'cancelled'
      )
    )
  })

  await t.test(
    "another tenant's record, an unknown and a deleted one are all not found, with any include",
    async t => {
      const [mine, theirs] = [await createClient(), await createClient()]
      const foreign = await theirs.createPatient()
      await theirs.createEncounter(foreign)
      const deleted = await mine.createPatient()
      await mine.send('DELETE', `patients/${deleted}`)
      for (const query of ['include=encounters', '_revinclude=Encounter:subject', '_include=Patient:organization']) {
        const responses = await Promise.all(
          [foreign, deleted, 'unknown'].map(async id => {
            const { headers: _, meta: __, requestId: ___, ...response } = await mine.send('GET', `patients/${id}?${query}`)
            return JSON.stringify(response)
          })
        )
        t.equal(new Set(responses).size, 1)
        t.match(responses[0], /NOT_FOUND/)
      }
    }
  )

  await t.test(
    'records of another tenant that refer to the own one, or that it refers to, are not included',
    async t => {
      const [mine, theirs] = [await createClient(), await createClient()]
      const [own, foreign] = [await mine.createPatient(), await theirs.createPatient()]
      const visit = { resourceType: 'Encounter', status: 'planned', class: { code: 'AMB' } }
      const [stranger, twofold, mixed] = await Promise.all([
        backend.store({ ...visit, meta: tenantMeta(theirs.tenantId), subject: { reference: `Patient/${own}` } }),
        backend.store({
          ...visit,
          meta: { tag: [...tenantMeta(mine.tenantId).tag, ...tenantMeta(theirs.tenantId).tag] },
          subject: { reference: `Patient/${own}` }
        }),
        backend.store({ ...visit, meta: tenantMeta(mine.tenantId), subject: { reference: `Patient/${foreign}` } })
      ])
      for (const query of ['_revinclude=Encounter:patient', 'include=encounters']) {
        const response = JSON.stringify((await mine.send('GET', `patients/${own}?${query}`)).data)
        t.notMatch(response, stranger)
        t.notMatch(response, twofold)
      }
      const { data } = await mine.send('GET', `encounters/${mixed}?_include=Encounter:subject`)
      t.strictSame(
        data.entry.map(({ resource: { id } }: any) => id),
        [mixed]
      )
    }
  )

  await t.test('a name of a pair that R4 does not know is ignored where the type has the other name', async t => {
    const { send, createPatient, make } = await createClient()
    const id = await createPatient()
    const allergy = await make('allergies', {
      patientId: id,
      code: { code: '91935009', system: 'http://snomed.info/sct' }
    })
    const pairs = ['AllergyIntolerance', 'Encounter', 'Observation', 'Appointment', 'Consent']
      .flatMap(type => [`_revinclude=${type}:subject`, `_revinclude=${type}:patient`])
      .join('&')
    const { status, data } = await send('GET', `patients/${id}?${pairs}`)
    t.equal(status, 200)
    t.strictSame(data.entry.map(({ resource: { id } }: any) => id), [id, allergy])
    t.equal((await send('GET', `patients/${id}?_revinclude=AllergyIntolerance:subject`)).data.entry.length, 1)
  })

  await t.test('all groups that refer to a record are included at once, whatever the record is', async t => {
    const { backend: straight, guard } = createGateway(fhirUrl)
    t.teardown(() => straight.close())
    const tenant = newTenant()
    const store = guard(tenant)
    for (const mapping of mappings.filter(({ type }) => !refusedTypes.includes(type))) {
      const { id } = await createFhirClient(fhirUrl).store(tenant, { resourceType: mapping.type })
      const includes = [...buildRelations(mapping, mappings).values()].flatMap(({ includes }) => includes)
      t.match(
        await store.readRelated({ kind: 'read-related', type: mapping.type, id, includes }),
        { record: { id }, related: [] },
        mapping.path
      )
    }
  })

  await t.test('a group that a record cannot have adds nothing, with a warning that names it, and the rest is included', async t => {
    const { send, createPatient, createEncounter } = await createClient()
    const id = await createPatient()
    const visit = await createEncounter(id)
    for (const query of [
      '_revinclude=Encounter:nonsense',
      '_revinclude=Nonsense:patient',
      '_revinclude=Medication:subject',
      '_revinclude=Encounter:status',
      '_revinclude=Encounter:patient:Group',
      '_include=Encounter:subject',
      '_include=Patient:link:Nonsense',
      '_include=Patient:Medication',
      '_revinclude=Medication:Patient',
      '_revinclude=Subscription:patient',
      '_revinclude=MeasureReport:measure',
      '_revinclude=Encounter:constructor'
    ]) {
      const { status, data, meta } = await send('GET', `patients/${id}?${query}`)
      t.strictSame([status, data.entry.length], [200, 1], query)
      t.match(meta.warnings, [{ severity: 'warning', diagnostics: /value 1: .*adds nothing/ }], query)
      t.notMatch(JSON.stringify(meta.warnings), /nonsense|constructor/i)
      const more = await send('GET', `patients/${id}?_revinclude=Encounter:patient&${query}`)
      t.strictSame(listIds(more.data.entry.map(({ resource }: any) => resource)), [id, visit].sort(), query)
    }
    const { data, meta } = await send('GET', `patients/${id}?include=medications,encounters,patients`)
    t.match(data, { id, medications: [], patients: [], encounters: [{ id: visit }] })
    t.equal(meta.warnings.length, 2)
  })

  await t.test('_include and _revinclude with a type follow each reference that leads there', async t => {
    const { send, make, createPatient, createEncounter, createObservation } = await createClient()
    const id = await createPatient()
    const measured = await createObservation(id)
    const about = await createObservation(await createPatient(), { performerId: `Patient/${id}` })
    const lab = await make('labs', { patientId: id, code: 'CBC', resultIds: [measured] })
    const visit = await createEncounter(id)
    const fetchIncludedIds = async (path: string) => {
      const { data, meta } = await send('GET', path)
      t.equal(meta.warnings, undefined, path)
      return listIds(data.entry.slice(1).map(({ resource }: any) => resource))
    }
    t.strictSame(await fetchIncludedIds(`labs/${lab}?_include=DiagnosticReport:Observation`), [measured])
    t.strictSame(await fetchIncludedIds(`labs/${lab}?_include=DiagnosticReport:Patient`), [id])
    t.strictSame(await fetchIncludedIds(`patients/${id}?_revinclude=Observation:Patient`), [measured, about].sort())
    t.strictSame(await fetchIncludedIds(`observations/${measured}?_revinclude=DiagnosticReport:Observation`), [lab])
    t.strictSame(await fetchIncludedIds(`encounters/${visit}?_include=Encounter:Patient&_include=Encounter:subject`), [id])
  })

  await t.test('any other query of a read is rejected before the datastore is called', async t => {
    const { send, createPatient } = await createClient()
    const id = await createPatient()
    backend.seen.length = 0
    const refused = [
      'unknown=1',
      'include=',
      'include=encounter',
      'include=encounters&include=observations',
      'include=encounters,',
      'include=__proto__',
      'include=encounters&_revinclude=Encounter:patient',
      'include=encounters&unknown=1',
      '_include=*',
      '_revinclude=*',
      '_revinclude=Encounter',
      '_revinclude=Encounter:*',
      '_revinclude:iterate=Encounter:patient',
      '_include:recurse=Patient:link',
      '_revinclude=encounter:patient',
      '_revinclude=Encounter:patient:Patient:x',
      '_revinclude=constructor:name',
      '_revinclude=',
      '_revinclude=Encounter:patient&_elements=id',
      '_revinclude=Encounter:patient&_count=1'
    ]
    for (const query of refused) {
      const { status, code, message } = await send('GET', `patients/${id}?${query}`)
      t.strictSame([status, code], [400, 'BAD_REQUEST'], query)
      t.notMatch(message, /nonsense/i)
    }
    t.equal(backend.seen.length, 0)
    t.match((await send('GET', `patients/${id}?include=encounter`)).message, /did you mean encounters\?/)
    t.equal((await send('POST', 'patients?include=encounters', { firstName: 'A', lastName: 'B' })).status, 400)
    t.equal((await send('GET', 'patients?include=encounters')).status, 400)
  })
}
