import t from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { requireRealBackend } from '../harness/backend.js'
import { createGatewayClient } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  assertRejected,
  findLink,
  buildObservation,
  openWorld,
  fetchPages,
  patchType,
  buildPatient,
  storeResources
} from './fixture.js'

// HAPI applies _elements to the searchset Bundle as well, so that its type was missing.
t.test('stored Bundles are found, changed and referred to like any other record', async t => {
  const { url } = requireRealBackend()
  const gateway = await startGateway(t, { fhirUrl: url })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const bundle = { resourceType: 'Bundle', type: 'collection', identifier: { system: 'urn:x', value: client.tenantId } }
  // Stored by another gateway, so that this one has to look it up.
  const ids = await createFhirClient(url).storeAll(client.tenantId, [
    bundle,
    { ...bundle, identifier: { system: 'urn:y', value: client.tenantId } }
  ])
  const buildReferring = (id?: string) => ({
    resourceType: 'Basic',
    code: { text: 'x' },
    extension: [{ url: 'http://x.example/e', valueReference: { reference: `Bundle/${id}` } }]
  })
  t.equal((await other.send('PUT', `fhir/Bundle/${ids[0]}`, { ...bundle, id: ids[0] })).status, 404)
  t.equal(
    (await client.send('PUT', `fhir/Bundle/${ids[0]}`, { ...bundle, id: ids[0], timestamp: '2026-01-01T00:00:00Z' }))
      .status,
    200
  )
  t.equal((await other.send('POST', 'fhir/Basic', buildReferring(ids[1]))).status, 422)
  t.equal((await client.send('POST', 'fhir/Basic', buildReferring(ids[1]))).status, 201)
  t.equal(
    (await client.send('GET', `fhir/Bundle?identifier=urn:x|${client.tenantId}&_elements=identifier`)).body.total,
    1
  )
  t.equal((await client.send('PUT', `fhir/Bundle?identifier=urn:x|${client.tenantId}`, bundle)).status, 200)
})

// DocumentReference?relationship= and the coordinates of a MolecularSequence were stated, and HAPI refused them.
t.test('each composite search parameter of the CapabilityStatement is supported', async t => {
  const fhir = await (await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })).fhir()
  const { resource: { rest: [{ resource }] } } = await fhir.send('GET', '/metadata')
  const stated = resource.flatMap(({ type, searchParam = [] }: any) =>
    searchParam.filter((parameter: any) => parameter.type === 'composite').map(({ name }: any) => ({ type, name }))
  )
  t.ok(stated.length > 30)
  for (const { type, name } of stated) {
    const value = name.endsWith('-quantity') ? 'a$5' : name.endsWith('-date') ? 'a$2024' : 'a$b'
    t.equal((await fhir.send('GET', `/${type}?${name}=${value}&_count=1`)).status, 200, `${type}?${name}`)
  }
})

// HAPI ignores _since, start and end, and returns the records to which those of the types in _type refer.
t.test(
  '$everything returns the requested types and times, and refuses dates of care, which the server ignores',
  async t => {
    const fhir = await (await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })).fhir()
    const [id] = await storeResources(fhir, buildPatient())
    const url = `/Patient/${id}/$everything`
    await storeResources(fhir, buildObservation(`Patient/${id}`))
    const {
      resource: { meta }
    } = await fhir.send('GET', `/Patient/${id}`)
    const since = new Date(Date.parse(meta.lastUpdated) + 1).toISOString()
    const searchTypes = async (query: string): Promise<string[]> =>
      (await fetchPages(fhir, `${url}${query}`))
        .flatMap(({ resource }) => resource.entry ?? [])
        .map(({ resource }) => resource.resourceType)
        .sort()
    t.strictSame(await searchTypes(''), ['Observation', 'Patient'])
    t.strictSame(await searchTypes('?_type=Observation'), ['Observation'])
    t.strictSame(await searchTypes('?_type=Observation,Encounter&_count=1'), ['Observation'], 'on every page')
    t.strictSame(await searchTypes(`?_since=${since}`), ['Observation'])
    t.strictSame(await searchTypes('?_since=2099-01-01T00:00:00+01:00'), [], 'with a plus sign that is not encoded')
    for (const dates of ['start=2020-01-01', 'end=2020-01-01']) {
      assertRejected(t, await fhir.send('GET', `${url}?${dates}`), { status: 400, code: 'not-supported' }, dates)
    }
    for (const wrong of ['_since=2020', '_type=Observations']) {
      assertRejected(t, await fhir.send('GET', `${url}?${wrong}`), 400, wrong)
    }
  }
)

// A client that repeated a request by its self link got all versions, and all that is about the patient, instead.
t.test('the self link of a history or of $everything has the requested parameters', async t => {
  const world = await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })
  const fhir = await world.fhir()
  const [id] = await storeResources(fhir, buildPatient())
  await fhir.send('PUT', `/Patient/${id}`, buildPatient({ id, active: true }))
  for (const requested of [
    '_history',
    '_history?_since=2020-01-01T00%3A00%3A00Z&_count=5',
    '$everything',
    '$everything?_type=Patient&_count=5'
  ]) {
    t.equal(
      findLink(await fhir.send('GET', `/Patient/${id}/${requested}`), 'self'),
      `${fhirBase}/Patient/${id}/${requested}`
    )
  }
  const [first, second] = await fetchPages(fhir, `/Patient/${id}/_history?_count=1`)
  t.equal(findLink(second!, 'self'), findLink(first!, 'next'))
})

// R4: text, id, meta and the mandatory elements at the top. A read gave the text alone, which a client's parser
// refuses.
t.test('_summary=text has the mandatory elements, on a read as in a search', async t => {
  const sandbox = await startSandbox({ file: ':memory:', now: () => new Date() })
  t.after(() => sandbox.close())
  for (const { url, server } of [
    { url: requireRealBackend().url, server: 'hapi' },
    { url: sandbox.url, server: 'sandbox' }
  ] as const) {
    const fhir = await (await openWorld(t, { url, server })).fhir()
    const [id] = await storeResources(fhir, buildPatient())
    const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
    const request = {
      resourceType: 'MedicationRequest',
      text,
      status: 'active',
      intent: 'order',
      medicationCodeableConcept: { text: 'm' },
      subject: { reference: `Patient/${id}` },
      authoredOn: '2026-01-01'
    }
    const [observed, requested] = await storeResources(fhir, buildObservation(`Patient/${id}`, { text, valueString: 'v' }), request)
    for (const [path, elements] of [
      [`Observation/${observed}`, ['code', 'status', 'text']],
      [`MedicationRequest/${requested}`, ['intent', 'medicationCodeableConcept', 'status', 'subject', 'text']]
    ] as const) {
      const read = await fhir.send('GET', `/${path}?_summary=text`)
      const found = await fhir.send('GET', `/${path.replace('/', '?_id=')}&_summary=text`)
      for (const resource of [read.resource, found.resource.entry[0].resource]) {
        t.strictSame(
          Object.keys(resource)
            .filter(name => !['resourceType', 'id', 'meta'].includes(name))
            .sort(),
          elements,
          `${server}: ${path}`
        )
      }
    }
  }
})

// HAPI responds with 500 to a version that is no number in its range, and the gateway made 502 of it.
t.test('a version that the server could never assign is an unknown version', async t => {
  const { send } = await (await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })).fhir()
  const { id } = (await send('POST', '/Patient', buildPatient({ identifier: [{ system: 'urn:version', value: '1' }] })))
    .resource
  for (const version of ['x', '9'.repeat(19), '9'.repeat(64)]) {
    const ifMatch = `W/"${version}"`
    assertRejected(t, await send('GET', `/Patient/${id}/_history/${version}`), 404, `vread ${version}`)
    assertRejected(
      t,
      await send('PUT', `/Patient/${id}`, buildPatient({ id }), { 'if-match': ifMatch }),
      412,
      `update ${version}`
    )
    assertRejected(
      t,
      await send('PUT', '/Patient/no-such', buildPatient(), { 'if-match': ifMatch }),
      404,
      `update of nothing ${version}`
    )
    assertRejected(
      t,
      await send('PATCH', `/Patient/${id}`, [{ op: 'remove', path: '/name' }], { ...patchType, 'if-match': ifMatch }),
      412,
      `patch ${version}`
    )
    assertRejected(t, await send('DELETE', `/Patient/${id}`, undefined, { 'if-match': ifMatch }), 412, `delete ${version}`)
    for (const url of [`Patient/${id}`, 'Patient?identifier=urn:version%7C1']) {
      assertRejected(
        t,
        await send('POST', '', buildBundle('transaction', buildEntry('PUT', url, buildPatient(), { ifMatch }))),
        412,
        `transaction ${url} ${version}`
      )
    }
  }
})

// HAPI took ge2024 for dates that reach the end of 2024, and le2024 for dates that begin with it.
t.test('a search from or until a year or month finds the records within it', async t => {
  const fhir = await (await openWorld(t, { url: requireRealBackend().url, server: 'hapi' })).fhir()
  const days = ['2023-12-31', '2024-01-01', '2024-02-29', '2024-06-15', '2024-12-31', '2025-01-01']
  await storeResources(fhir, ...days.map(birthDate => buildPatient({ birthDate })))
  const searchDates = async (path: string): Promise<string[]> => {
    const { status, resource } = await fhir.send('GET', path)
    t.equal(status, 200, path)
    return (resource.entry ?? []).map(({ resource }: any) => resource.birthDate ?? resource.valueDateTime).sort()
  }
  t.strictSame(await searchDates('/Patient?birthdate=ge2024'), days.slice(1))
  t.strictSame(await searchDates('/Patient?birthdate=le2024'), days.slice(0, 5))
  t.strictSame(await searchDates('/Patient?birthdate=ge2024-02&birthdate=le2024-06'), days.slice(2, 4))
  t.strictSame(await searchDates('/Patient?birthdate=le2024-02'), days.slice(0, 3))
  const [id] = await storeResources(fhir, buildPatient())
  await storeResources(fhir, ...days.map(valueDateTime => buildObservation(`Patient/${id}`, { valueDateTime })))
  t.strictSame(await searchDates('/Observation?code-value-date=29463-7$ge2024-06'), days.slice(3), 'in a composite')
  const { resource } = await fhir.send('GET', '/Patient?_has:Observation:patient:value-date=le2024&_total=accurate')
  t.equal(resource.total, 1, 'in a condition of other records')
})
