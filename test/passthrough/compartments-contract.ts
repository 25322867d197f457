import type { Test } from 'tap'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  parseVersionedId,
  assertRejected,
  findLink,
  listRecords,
  buildObservation,
  fetchPages,
  buildPatient,
  storeResources,
  type Fhir,
  type World
} from './fixture.js'

/**
 * What the search of a compartment must do, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/R4/compartmentdefinition.html
 */
export async function testCompartments (t: Test, world: World): Promise<void> {
  await t.test('the records of a patient are found below it, and no others', t => testPatientCompartment(t, world))
  await t.test('a record is in the compartment by each of the parameters that R4 names, and once', t => testAnyParameter(t, world))
  await t.test('the records of an encounter are found below it', t => testEncounterCompartment(t, world))
  await t.test('a compartment is searched as its type is: filters, joins, includes, pages, a form', t =>
    testCompartmentSearch(t, world)
  )
  await t.test("the compartment of an unknown, a deleted and another tenant's patient are alike not found", t =>
    testOtherTenants(t, world)
  )
  await t.test('searches that R4 does not have in a compartment are not offered', t => testUnsupported(t, world))
}

const buildCondition = (more: object) => ({ resourceType: 'Condition', subject: { display: 'x' }, ...more })

async function testPatientCompartment (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, bo] = await storeResources(fhir, buildPatient(), buildPatient())
  const [own] = await storeResources(fhir, buildObservation(`Patient/${ada}`), buildObservation(`Patient/${bo}`))
  const found = await fhir.send('GET', `/Patient/${ada}/Observation`)
  t.strictSame([found.status, listRecords(found), found.resource.total], [200, [`Observation/${own}`], 1])
  t.equal(findLink(found, 'self'), `${fhirBase}/Patient/${ada}/Observation`)
  const none = await fhir.send('GET', `/Patient/${ada}/AuditEvent`)
  t.match(none.resource, { type: 'searchset', total: 0, entry: undefined })
  const noneByMany = await fhir.send('GET', `/Patient/${ada}/Condition?code=x`)
  t.match(noneByMany.resource, {
    type: 'searchset',
    total: 0,
    entry: undefined,
    link: [{ relation: 'self', url: `${fhirBase}/Patient/${ada}/Condition?code=x` }]
  })
}

async function testAnyParameter (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, bo] = await storeResources(fhir, buildPatient(), buildPatient())
  const performed = { performer: [{ reference: `Patient/${ada}` }] }
  const [ofAda, byAda, both] = await storeResources(
    fhir,
    buildObservation(`Patient/${ada}`),
    buildObservation(`Patient/${bo}`, performed),
    buildObservation(`Patient/${ada}`, performed),
    buildObservation(`Patient/${bo}`)
  )
  const toReferences = (...ids: Array<string | undefined>) => ids.map(id => `Observation/${id}`).sort()
  t.strictSame(listRecords(await fhir.send('GET', `/Patient/${ada}/Observation`)).sort(), toReferences(ofAda, byAda, both))
  t.strictSame(
    listRecords(await fhir.send('GET', `/Patient/${ada}/Observation?_id=${ofAda}`)),
    toReferences(ofAda),
    "an id of the client's narrows as well"
  )
  const [asserted] = await storeResources(
    fhir,
    buildCondition({ asserter: { reference: `Patient/${ada}` }, subject: { reference: `Patient/${bo}` } })
  )
  t.strictSame(listRecords(await fhir.send('GET', `/Patient/${ada}/Condition`)), [`Condition/${asserted}`])
}

async function testEncounterCompartment (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await storeResources(fhir, buildPatient())
  const [visit] = await storeResources(fhir, {
    resourceType: 'Encounter',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: `Patient/${ada}` }
  } as { resourceType: string })
  const [during] = await storeResources(
    fhir,
    buildObservation(`Patient/${ada}`, { encounter: { reference: `Encounter/${visit}` } }),
    buildObservation(`Patient/${ada}`)
  )
  t.strictSame(listRecords(await fhir.send('GET', `/Encounter/${visit}/Observation`)), [`Observation/${during}`])
  t.strictSame(listRecords(await fhir.send('GET', `/Patient/${ada}/Encounter`)), [`Encounter/${visit}`])
}

async function testCompartmentSearch (t: Test, { fhir: join, server }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await storeResources(fhir, buildPatient())
  const ids = await storeResources(
    fhir,
    ...Array.from({ length: 5 }, (_, at) => buildObservation(`Patient/${ada}`, { status: at < 2 ? 'final' : 'amended' }))
  )
  const path = `/Patient/${ada}/Observation`
  t.equal(listRecords(await fhir.send('GET', `${path}?status=final`)).length, 2)
  t.strictSame(listRecords(await fhir.send('GET', `${path}?_count=1&_include=Observation:subject`)).slice(1), [
    `+Patient/${ada}`
  ])
  if (server === 'hapi') t.equal(listRecords(await fhir.send('GET', `${path}?subject:Patient.family=Byron`)).length, 5)
  const pages = await fetchPages(fhir, `${path}?_count=2`)
  t.strictSame(pages.flatMap(listRecords).sort(), ids.map(id => `Observation/${id}`).sort())
  t.equal(
    listRecords(
      await fhir.send('POST', `${path}/_search?_count=5`, 'status=final', {
        'content-type': 'application/x-www-form-urlencoded'
      })
    ).length,
    2
  )
  assertRejected(t, await fhir.send('GET', `${path}?nothing=1`), 400, 'an unknown parameter')
  assertRejected(
    t,
    await fhir.send('GET', `${path}?_cursor=${new URL(findLink(pages[0]!, 'next')!).searchParams.get('_cursor')}`),
    400,
    'a cursor is taken where the link leads'
  )
}

async function testOtherTenants (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[foreign], [deleted]] = [
    await storeResources(other, buildPatient()),
    await storeResources(fhir, buildPatient())
  ]
  await storeResources(other, buildObservation(`Patient/${foreign}`))
  await fhir.send('DELETE', `/Patient/${deleted}`)
  for (const path of [
    'Observation',
    'Condition',
    'Observation?status=final',
    'Observation?_has:Provenance:target:recorded=2026'
  ]) {
    const responses = await Promise.all(
      ['no-such', foreign, deleted, 'x'.repeat(65)].map(id => fhir.send('GET', `/Patient/${id}/${path}`))
    )
    for (const response of responses) {
      assertRejected(t, response, { status: 404, code: 'not-found' }, path)
      t.strictSame(response.text, responses[0]!.text)
    }
  }
}

async function testUnsupported (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await storeResources(fhir, buildPatient())
  for (const path of [`/Patient/${ada}/*`, `/Patient/${ada}/Practitioner`, `/Patient/${ada}/ValueSet`]) {
    assertRejected(t, await fhir.send('GET', path), { status: 405, code: 'not-supported' }, path)
  }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    assertRejected(
      t,
      await fhir.send(
        method,
        `/Patient/${ada}/Observation`,
        method === 'DELETE' ? undefined : buildObservation(`Patient/${ada}`)
      ),
      405,
      method
    )
  }
  assertRejected(t, await fhir.send('GET', `/Patient/${ada}/Observation/_search`), 405, 'GET _search')
  assertRejected(t, await fhir.send('GET', '/Practitioner/1/Observation'), 404, 'another compartment')
}

/** More records than a search can name, in two ways: the error says what to do instead. */
export async function testTooManyRecords (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, bo] = await storeResources(fhir, buildPatient(), buildPatient())
  const createObservations = (subject: string, more: object, count: number): Promise<unknown> =>
    fhir.send(
      'POST',
      '',
      buildBundle(
        'transaction',
        ...Array.from({ length: count }, () => buildEntry('POST', 'Observation', buildObservation(subject, more)))
      )
    )
  await createObservations(`Patient/${ada}`, {}, 600)
  await createObservations(`Patient/${ada}`, {}, 420)
  const path = `/Patient/${ada}/Observation?_count=1000`
  t.equal((await fetchPages(fhir, path)).flatMap(listRecords).length, 1_020, 'one way alone has no limit')
  const made = await fhir.send(
    'POST',
    '/Observation',
    buildObservation(`Patient/${bo}`, { performer: [{ reference: `Patient/${ada}` }] })
  )
  const refused = await fhir.send('GET', path)
  assertRejected(t, refused, { status: 400, code: 'too-costly' }, 'in two ways')
  t.match(refused.resource.issue[0].diagnostics, /subject, performer/)
  await fhir.send('DELETE', `/Observation/${getCreatedId(made)}`)
}

const getCreatedId = ({ headers }: Awaited<ReturnType<Fhir['send']>>): string => parseVersionedId(headers.location!)
