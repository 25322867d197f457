import type { Test } from 'tap'
import { tenantSystem } from '../harness/fhir-server.js'
import { fhirBase, assertRejected, buildObservation, buildPatient, storeResources } from '../passthrough/fixture.js'
import { bulk, toSortedIds, parseRecords, type ExportWorld } from './exporting.js'

const group = (...members: object[]) => ({
  resourceType: 'Group',
  type: 'person',
  actual: true,
  ...(members.length > 0 && { member: members })
})
const buildMember = (id: string | undefined, more = {}) => ({ entity: { reference: `Patient/${id}` }, ...more })
const buildParameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })

/**
 * What an export must be, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/uv/bulkdata/export.html (version 3.0.0)
 */
export async function testExports (t: Test, world: ExportWorld): Promise<void> {
  await t.test('an export contains each record of the organization once, and none of another one', t => testCompleteness(t, world))
  await t.test('the status URL of an export reports its progress, then the manifest, and is gone after a DELETE', t =>
    testLifecycle(t, world)
  )
  await t.test('only records changed since are exported, and nothing between two exports is lost', t =>
    testSince(t, world)
  )
  await t.test('records changed at _until or later are left out of an export until then', t => testUntil(t, world))
  await t.test('an export has the records of the patients that a POST names, in a group or without', t =>
    testNamedPatients(t, world)
  )
  await t.test('several filters of one type are alternatives, and no record comes twice', t => testFilters(t, world))
  await t.test('a filter narrows its type alone, and its values go on as they were meant', t => testFilterValues(t, world))
  await t.test('requested elements are exported with the mandatory ones, tagged SUBSETTED', t =>
    testElements(t, world)
  )
  await t.test("records are exported as stored: numbers, texts, tags and the gateway's own URLs", t =>
    testStoredText(t, world)
  )
  await t.test("at Patient level come the records of any patient's compartment, and no others", t =>
    testPatientLevel(t, world)
  )
  await t.test('at Group level come the records of the members that are the organization\'s', t => testGroupLevel(t, world))
  await t.test('a group that is unknown, deleted or another\'s is one and the same 404', t => testUnknownGroup(t, world))
  await t.test('the parameters of a POST are those of a GET', t => testPost(t, world))
  await t.test('a request that an export does not support is refused, and no job is started', t => testRejections(t, world))
  await t.test('with lenient handling an export ignores unknown parameters, but never those that narrow it', t =>
    testLenientHandling(t, world)
  )
  await t.test('an export needs a key that may read', t => testScopes(t, world))
  await t.test('one call exports simple records or FHIR', t => testSimpleExport(t, world))
  await t.test('an error in that call is reported with its field, and without the value', t => testErrors(t, world))
}

async function testCompleteness (t: Test, world: ExportWorld): Promise<void> {
  const [own, other] = [await world.join(), await world.join()]
  const ids: string[] = []
  for (let at = 0; at < 4; at++) {
    ids.push(
      ...(await world.direct.storeAll(
        own.tenantId,
        Array.from({ length: 300 }, () => buildPatient())
      ))
    )
  }
  const [mine, theirs] = [
    await storeResources(own, buildObservation(`Patient/${ids[0]}`), {
      resourceType: 'Binary',
      contentType: 'text/plain',
      data: 'aGk='
    } as { resourceType: string }),
    await storeResources(other, buildPatient())
  ]
  const { manifest, lines } = await own.runExport('/$export')
  t.strictSame(toSortedIds(lines.Patient), ids.sort())
  t.strictSame(
    manifest.output.map(({ type, count }: any) => [type, count]),
    [
      ['Binary', 1],
      ['Observation', 1],
      ['Patient', 1_200]
    ]
  )
  t.strictSame([toSortedIds(lines.Observation), toSortedIds(lines.Binary)], [[mine[0]], [mine[1]]])
  const foreign = await other.runExport('/$export')
  t.strictSame(foreign.manifest.output.map(({ type, count }: any) => [type, count]), [['Patient', 1]])
  t.strictSame(toSortedIds(foreign.lines.Patient), theirs)
  t.strictSame(
    (await (await world.join()).runExport('/$export')).manifest.output,
    [],
    'an organization without records has an empty export'
  )
}

async function testLifecycle (t: Test, { join }: ExportWorld): Promise<void> {
  const [own, other] = [await join(), await join()]
  await storeResources(own, buildPatient())
  const begun = await own.send('GET', '/$export?_type=Patient,Observation&_outputFormat=ndjson', undefined, bulk)
  t.match(begun, { status: 202, resource: { resourceType: 'OperationOutcome' } })
  const statusUrl = begun.headers['content-location']!
  t.match(statusUrl, new RegExp(`^${fhirBase}/`))
  const first = await own.send('GET', statusUrl)
  t.match(first, { status: 202, text: '', headers: { 'retry-after': /^\d+$/, 'x-progress': /\w/ } })
  const done = await own.waitForEnd(statusUrl)
  t.match(done.headers, { 'content-type': /^application\/json/, expires: /GMT$/ })
  t.ok(Date.parse(done.headers.expires!) > Date.now())
  t.strictSame(Object.keys(done.resource), ['transactionTime', 'request', 'requiresAccessToken', 'output', 'error'])
  t.match(done.resource, {
    request: `${fhirBase}/$export?_type=Patient,Observation&_outputFormat=ndjson`,
    requiresAccessToken: true,
    error: []
  })
  const [{ type, count, url }, ...more] = done.resource.output
  t.strictSame([type, count, more], ['Patient', 1, []])
  const file = `/${new URL(url).pathname.split('/').slice(2).join('/')}`
  t.equal(parseRecords((await own.sendSimple('GET', file)).text).length, 1)
  for (const [method, path] of [
    ['GET', statusUrl],
    ['DELETE', statusUrl]
  ] as const) { assertRejected(t, await other.send(method, path), { status: 404, code: 'not-found' }, "another's") }
  t.equal((await other.sendSimple('GET', file)).status, 404)
  t.match(await own.send('DELETE', statusUrl), { status: 202, resource: { resourceType: 'OperationOutcome' } })
  for (const method of ['GET', 'DELETE']) {
    assertRejected(t, await own.send(method, statusUrl), { status: 404, code: 'not-found' }, method)
  }
  t.equal((await own.sendSimple('GET', file)).status, 404)
  const cancelled = await own.begin('/$export')
  t.equal((await own.send('DELETE', cancelled)).status, 202)
  t.equal((await own.send('GET', cancelled)).status, 404)
}

async function testSince (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [before] = await storeResources(own, buildPatient())
  const { manifest, lines } = await own.runExport('/$export?_type=Patient,Observation')
  t.strictSame(toSortedIds(lines.Patient), [before])
  const [after] = await storeResources(own, buildPatient(), buildObservation(`Patient/${before}`))
  const later = await own.runExport(
    `/$export?_type=Patient,Observation&_since=${encodeURIComponent(manifest.transactionTime)}`
  )
  t.strictSame(toSortedIds(later.lines.Patient), [after])
  t.equal(later.lines.Observation!.length, 1)
  t.strictSame((await own.runExport('/$export?_since=2999-01-01T00:00:00%2B01:00')).manifest.output, [])
}

async function testUntil (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [before] = await storeResources(own, buildPatient({ gender: 'female' }))
  const changed = await own.send('GET', `/Patient/${before}`)
  // A millisecond of its own: servers store no less.
  await new Promise(resolve => setTimeout(resolve, 20))
  const [after] = await storeResources(own, buildPatient({ gender: 'female' }))
  const end = (await own.send('GET', `/Patient/${after}`)).resource.meta.lastUpdated
  const buildUntilQuery = (time: string) => `_type=Patient&_until=${encodeURIComponent(time)}`
  t.strictSame(toSortedIds((await own.runExport(`/$export?${buildUntilQuery(end)}`)).lines.Patient), [before])
  t.strictSame(toSortedIds((await own.runExport(`/Patient/$export?${buildUntilQuery(end)}&_typeFilter=Patient%3Fgender%3Dfemale`))
    .lines.Patient), [before])
  const start = encodeURIComponent(changed.resource.meta.lastUpdated)
  t.strictSame(toSortedIds((await own.runExport(`/$export?${buildUntilQuery(end)}&_since=${start}`)).lines.Patient), [before])
  t.strictSame((await own.runExport(`/$export?${buildUntilQuery(changed.resource.meta.lastUpdated)}`)).manifest.output, [])
}

async function testNamedPatients (t: Test, world: ExportWorld): Promise<void> {
  const [own, other] = [await world.join(), await world.join()]
  const [foreign] = await storeResources(other, buildPatient())
  const [ada, bo, out] = await storeResources(own, buildPatient(), buildPatient(), buildPatient())
  const [ofAda, ofBo, ofOut] = await storeResources(own, ...[ada, bo, out].map(id => buildObservation(`Patient/${id}`)))
  const buildPatientParameters = (...references: string[]) => buildParameters(
    { name: '_type', valueString: 'Patient,Observation' },
    ...references.map(reference => ({ name: 'patient', valueReference: { reference } }))
  )
  const ofTwo = await own.runExport('/Patient/$export', buildPatientParameters(`Patient/${ada}`, `${fhirBase}/Patient/${out}`))
  t.strictSame(toSortedIds(ofTwo.lines.Patient), [ada, out].sort())
  t.strictSame(toSortedIds(ofTwo.lines.Observation), [ofAda, ofOut].sort())
  const [id] = await storeResources(own, group(buildMember(ada), buildMember(bo)) as { resourceType: string })
  const ofMember = await own.runExport(`/Group/${id}/$export`, buildPatientParameters(`Patient/${bo}`))
  t.strictSame([toSortedIds(ofMember.lines.Patient), toSortedIds(ofMember.lines.Observation)], [[bo], [ofBo]])
  const refused = await Promise.all(['nobody', foreign!].map(id =>
    own.send('POST', '/Patient/$export', buildPatientParameters(`Patient/${ada}`, `Patient/${id}`), bulk)))
  for (const response of refused) assertRejected(t, response, 400, 'a patient of another organization, or of none')
  t.equal(refused[0]!.text, refused[1]!.text)
  for (const patientId of [out, foreign]) {
    assertRejected(t, await own.send('POST', `/Group/${id}/$export`, buildPatientParameters(`Patient/${patientId}`), bulk), 400, 'no member')
  }
  for (const reference of [`Practitioner/${ada}`, `Patient/${ada}/_history/1`, `https://x.example/Patient/${ada}`, 'Patient/']) {
    assertRejected(t, await own.send('POST', '/Patient/$export', buildPatientParameters(reference), bulk), 400, reference)
  }
  assertRejected(t, await own.send('POST', '/$export', buildPatientParameters(`Patient/${ada}`), bulk), 400, 'of the whole system')
  assertRejected(t, await own.send('GET', `/Patient/$export?patient=Patient/${ada}`, undefined, bulk), 400, 'in a URL')
}

async function testFilters (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [ada] = await storeResources(own, buildPatient({ gender: 'female' }), buildPatient({ gender: 'male' }))
  const buildWithStatus = (status: string, more = {}) => buildObservation(`Patient/${ada}`, { status, ...more })
  const coded = { code: { coding: [{ system: 'http://loinc.org', code: '8867-4' }] } }
  const [final, amended, both, , finalCoded] = await storeResources(
    own,
    buildWithStatus('final'),
    buildWithStatus('amended'),
    buildWithStatus('amended', coded),
    buildWithStatus('preliminary'),
    buildWithStatus('final', coded)
  )
  const exportIds = async (...filters: string[]) =>
    toSortedIds(
      (
        await own.runExport(
          `/$export?_type=Patient,Observation&${filters.map(filter => `_typeFilter=${encodeURIComponent(filter)}`).join('&')}`
        )
      ).lines.Observation
    )
  t.strictSame(
    await exportIds('Observation?status=final', 'Observation?status=amended'),
    [final, amended, both, finalCoded].sort()
  )
  t.strictSame(await exportIds('Observation?status=final', 'Observation?code=8867-4'), [final, both, finalCoded].sort())
  t.strictSame(
    await exportIds('Observation?status=final&code=8867-4', 'Observation?status=amended&code=8867-4'),
    [both, finalCoded].sort()
  )
  t.strictSame(
    await exportIds('Observation?status=final,Observation?code=8867-4'),
    [final, both, finalCoded].sort(),
    'joined by a comma'
  )
  t.strictSame(await exportIds('Observation?status=cancelled'), [])
  t.strictSame(
    await exportIds(`Observation?subject=Patient/${ada}&code=8867-4`, `Observation?subject=${fhirBase}/Patient/nobody`),
    [both, finalCoded].sort()
  )
}

async function testFilterValues (t: Test, { join }: ExportWorld): Promise<void> {
  const [own, other] = [await join(), await join()]
  const buildNamedPatient = (family: string) => buildPatient({ name: [{ family }] })
  const [comma] = await storeResources(own, buildNamedPatient('Byron, Ada'), buildNamedPatient('Byron'), buildNamedPatient('Patient?family=Byron'))
  await storeResources(other, buildNamedPatient('Byron'))
  await storeResources(own, buildObservation(`Patient/${comma}`))
  const exportFiltered = async (query: string) =>
    await own.runExport(`/$export?_type=Patient,Observation&_typeFilter=${encodeURIComponent(`Patient?${query}`)}`)
  const { lines } = await exportFiltered(`family=${encodeURIComponent('Byron\\, Ada')}`)
  t.strictSame([toSortedIds(lines.Patient), lines.Observation!.length], [[comma], 1])
  const many = await exportFiltered(`family:exact=${encodeURIComponent('Patient?family=Byron,Byron')}`)
  t.equal(many.lines.Patient!.length, 2, 'a value that looks like a filter is none')
  t.equal((await exportFiltered('_id=nobody&family=Byron')).lines.Patient, undefined)
}

async function testElements (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [ada] = await storeResources(
    own,
    buildPatient({
      birthDate: '1815-12-10',
      _birthDate: { extension: [{ url: 'http://x.example/a', valueString: 'b' }] },
      gender: 'female'
    })
  )
  await storeResources(own, buildObservation(`Patient/${ada}`, { valueInteger: 3, note: [{ text: 'x' }] }))
  const { lines } = await own.runExport('/$export?_type=Patient,Observation&_elements=birthDate,Observation.value')
  t.strictSame(Object.keys(lines.Patient![0]).sort(), ['_birthDate', 'birthDate', 'id', 'meta', 'resourceType'])
  t.strictSame(Object.keys(lines.Observation![0]).sort(), [
    'code',
    'id',
    'meta',
    'resourceType',
    'status',
    'valueInteger'
  ])
  for (const [record] of Object.values(lines)) {
    t.match(record.meta.tag, [{ system: tenantSystem, code: own.tenantId }, { code: 'SUBSETTED' }])
  }
  const one = await own.runExport('/$export?_type=Patient,Observation&_elements=Patient.gender')
  t.strictSame(Object.keys(one.lines.Patient![0]).sort(), ['gender', 'id', 'meta', 'resourceType'])
  t.strictSame(one.lines.Observation![0].note, [{ text: 'x' }], 'what is said of one type leaves the others whole')
}

async function testStoredText (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [ada] = await storeResources(own, buildPatient())
  const sent = `{"resourceType":"Observation","status":"final","code":{"text":"größe 😀 \\u0009x"},"subject":{"reference":"Patient/${ada}"},"valueQuantity":{"value":1.10},"note":[{"text":"see ${fhirBase}/Patient/${ada}"}]}`
  t.equal((await own.send('POST', '/Observation', sent)).status, 201)
  const { texts, lines } = await own.runExport('/$export?_type=Observation')
  t.match(texts.Observation, /"value":1\.10\b/)
  const [record] = lines.Observation!
  t.strictSame(record, JSON.parse((await own.send('GET', `/Observation/${record.id}`)).text))
  t.ok(texts.Observation!.endsWith('}\n'))
}

async function testPatientLevel (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [ada, , controlService] = await storeResources(
    own,
    buildPatient(),
    { resourceType: 'Organization', name: 'Ward' } as { resourceType: string },
    { resourceType: 'Practitioner', name: [{ family: 'x' }] } as { resourceType: string }
  )
  const [ofAda, byAda] = await storeResources(
    own,
    buildObservation(`Patient/${ada}`),
    {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      performer: [{ reference: `Patient/${ada}` }]
    } as { resourceType: string },
    {
      resourceType: 'Observation',
      status: 'final',
      code: { text: 'x' },
      performer: [{ reference: `Practitioner/${controlService}` }]
    } as { resourceType: string }
  )
  const { manifest, lines } = await own.runExport('/Patient/$export')
  t.strictSame(manifest.output.map(({ type, count }: any) => [type, count]), [['Observation', 2], ['Patient', 1]])
  t.strictSame(toSortedIds(lines.Observation), [ofAda, byAda].sort())
  assertRejected(
    t,
    await own.send('GET', '/Patient/$export?_type=Patient,Organization', undefined, bulk),
    400,
    'a type that is in no compartment of a patient'
  )
}

async function testGroupLevel (t: Test, world: ExportWorld): Promise<void> {
  const [own, other] = [await world.join(), await world.join()]
  const [foreign] = await storeResources(other, buildPatient())
  await storeResources(other, buildObservation(`Patient/${foreign}`))
  const [ada, bo, left, out] = await storeResources(own, buildPatient(), buildPatient(), buildPatient(), buildPatient())
  const both = buildObservation(`Patient/${ada}`, { performer: [{ reference: `Patient/${bo}` }] })
  const wanted = await storeResources(
    own,
    both,
    buildObservation(`Patient/${bo}`),
    buildObservation(`Patient/${out}`, { performer: [{ reference: `Patient/${ada}` }] })
  )
  await storeResources(own, buildObservation(`Patient/${out}`), buildObservation(`Patient/${left}`))
  // As another system might have stored it.
  const { id } = await world.direct.store(
    own.tenantId,
    group(buildMember(ada), buildMember(bo), buildMember(left, { inactive: true }), buildMember(foreign))
  )
  const { manifest, lines } = await own.runExport(`/Group/${id}/$export?_type=Patient,Observation,Group`)
  t.strictSame(toSortedIds(lines.Patient), [ada, bo].sort())
  t.strictSame(toSortedIds(lines.Observation), wanted.toSorted())
  t.strictSame(toSortedIds(lines.Group), [id])
  t.equal(manifest.output.length, 3)
  t.strictSame(
    toSortedIds(
      (
        await own.runExport(
          `/Group/${id}/$export?_typeFilter=${encodeURIComponent(`Observation?performer=Patient/${bo}`)}&_type=Observation`
        )
      ).lines.Observation
    ),
    [wanted[0]]
  )
  const [empty] = await storeResources(own, group() as { resourceType: string })
  t.strictSame((await own.runExport(`/Group/${empty}/$export`)).manifest.output, [])
}

async function testUnknownGroup (t: Test, { join }: ExportWorld): Promise<void> {
  const [own, other] = [await join(), await join()]
  const [foreign] = await storeResources(other, group() as { resourceType: string })
  const [deleted] = await storeResources(own, group() as { resourceType: string })
  await own.send('DELETE', `/Group/${deleted}`)
  const responses = await Promise.all(
    ['nobody', foreign, deleted, 'x'.repeat(65)].map(id => own.send('GET', `/Group/${id}/$export`, undefined, bulk))
  )
  for (const response of responses) {
    assertRejected(t, response, { status: 404, code: 'not-found' }, 'no group')
    t.equal(response.text, responses[0]!.text)
  }
}

async function testPost (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [ada] = await storeResources(own, buildPatient({ gender: 'female' }), buildPatient({ gender: 'male' }))
  const body = buildParameters(
    { name: '_type', valueString: 'Patient' },
    { name: '_typeFilter', valueString: 'Patient?gender=female' },
    { name: '_outputFormat', valueString: 'application/fhir+ndjson' },
    { name: '_since', valueInstant: '2020-01-01T00:00:00+01:00' }
  )
  t.strictSame(toSortedIds((await own.runExport('/$export', body)).lines.Patient), [ada])
  t.strictSame(toSortedIds((await own.runExport('/Patient/$export', body)).lines.Patient), [ada])
  for (const body of [
    buildPatient(),
    [],
    buildParameters({ name: '_type' }),
    buildParameters({ valueString: 'x' }),
    buildParameters({ name: '_type', valueString: 'Patient', valueCode: 'x' }),
    buildParameters({ name: '_since', valueInteger: 3 }),
    { resourceType: 'Parameters', parameter: {} },
    buildParameters({ name: 'patient', valueReference: { reference: 'Patient/1' } })
  ]) {
    assertRejected(t, await own.send('POST', '/$export', body, bulk), 400, JSON.stringify(body))
  }
}

const refusedQueries = [
  '_type=Nothing',
  '_type=Patient,',
  '_type=patient',
  '_type=StructureDefinition',
  '_outputFormat=csv',
  '_outputFormat=application/fhir%2Bjson',
  '_since=yesterday',
  '_since=2016-12-31T23:59:60Z',
  '_since=2020-01-01',
  '_since=2020-13-41T00:00:00Z',
  '_since=2020-01-01T00:00:00Z&_since=2020-01-01T00:00:00Z',
  '_typeFilter=Patient',
  '_typeFilter=Patient%3F',
  '_typeFilter=%3Ffamily%3Dx',
  '_typeFilter=Patient%3Fnothing%3Dx',
  '_typeFilter=Patient%3Ffamily%3D',
  '_typeFilter=Observation%3Fsubject:Patient.family%3Dx',
  '_typeFilter=Patient%3F_has:Observation:subject:status%3Dfinal',
  '_typeFilter=Patient%3F_include%3DPatient:organization',
  '_typeFilter=Patient%3F_sort%3Dfamily',
  '_typeFilter=Patient%3F_count%3D1',
  '_typeFilter=Patient%3F_lastUpdated%3Dgt2020',
  '_typeFilter=Observation%3Fstatus%3Dfinal&_type=Patient',
  '_elements=nothing',
  '_elements=Nothing.id',
  '_elements=Patient.name.family',
  '_until=yesterday',
  '_until=2020-01-01T00:00:00Z&_until=2020-01-01T00:00:00Z',
  'organizeOutputBy=Patient',
  'patient=Patient/1',
  'includeAssociatedData=LatestProvenanceResources',
  '_typePostFetchFilterUrl=x',
  '_mdm=true',
  'x=1'
]

async function testRejections (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  for (const prefer of ['', 'return=minimal']) {
    assertRejected(t, await own.send('GET', '/$export', undefined, { prefer }), 400, 'without respond-async')
  }
  assertRejected(
    t,
    await own.send('GET', '/$export', undefined, { ...bulk, accept: 'text/html' }),
    406,
    'a form that an export does not have'
  )
  for (const query of refusedQueries) {
    assertRejected(t, await own.send('GET', `/$export?${query}`, undefined, bulk), 400, query)
  }
  for (const path of ['/$export', '/Patient/$export', '/Group/x/$export']) {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'PATCH']) {
      t.equal((await own.send(method, path, undefined, bulk)).status, 405, `${method} ${path}`)
    }
  }
  for (const path of ['/Observation/$export', '/Patient/x/$export', '/Encounter/x/$export']) {
    t.ok([404, 405].includes((await own.send('GET', path, undefined, bulk)).status), path)
  }
  t.match((await own.sendSimple('GET', '/bulk/jobs')).body.data, { total: 0 }, 'nothing was begun')
}

async function testLenientHandling (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const [ada] = await storeResources(own, buildPatient({ gender: 'female' }), buildPatient({ gender: 'male' }))
  const headers = { prefer: 'respond-async, handling=lenient' }
  const { lines, manifest } = await own.runExport(
    '/$export?_type=Patient,Nothing&x=1&_elements=nothing&includeAssociatedData=x&_typeFilter=Patient%3Fgender%3Dfemale',
    undefined,
    headers
  )
  t.strictSame([toSortedIds(lines.Patient), manifest.output.length], [[ada], 1])
  t.strictSame((await own.runExport('/$export?_type=Nothing', undefined, headers)).manifest.output, [])
  for (const query of ['_typeFilter=Patient%3Fnothing%3Dx', 'patient=Patient/1', 'organizeOutputBy=Patient', '_since=yesterday']) {
    assertRejected(t, await own.send('GET', `/$export?${query}`, undefined, headers), 400, query)
  }
}

async function testScopes (t: Test, { join }: ExportWorld): Promise<void> {
  const owner = await join()
  await storeResources(owner, buildPatient())
  const [reader, writer] = [
    await join({ tenantId: owner.tenantId, scopes: ['read'] }),
    await join({ tenantId: owner.tenantId, scopes: ['write'] })
  ]
  t.equal((await reader.runExport('/$export')).lines.Patient!.length, 1)
  const statusUrl = await reader.begin('/$export?_type=Patient')
  assertRejected(
    t,
    await writer.send('GET', '/$export', undefined, bulk),
    { status: 403, code: 'forbidden' },
    'a key that only writes'
  )
  for (const method of ['GET', 'DELETE']) {
    assertRejected(t, await writer.send(method, statusUrl), { status: 403, code: 'forbidden' }, method)
  }
  t.equal((await reader.send('DELETE', statusUrl)).status, 202)
  t.equal((await reader.sendSimple('POST', '/bulk/export', { resourceTypes: ['patients'] })).status, 202)
  t.equal((await writer.sendSimple('POST', '/bulk/export', {})).status, 403)
}

async function testSimpleExport (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const {
    body: { data }
  } = await own.sendSimple('POST', '/patients', { firstName: 'Ada', lastName: 'Byron', birthDate: '1815-12-10' })
  await storeResources(own, buildObservation(`Patient/${data.id}`), { resourceType: 'Basic', code: { text: 'x' } } as {
    resourceType: string
  })
  const exportFiles = async (body: object) => {
    const begun = await own.sendSimple('POST', '/bulk/export', body)
    t.match(begun, {
      status: 202,
      body: { data: { jobId: /^job-/, status: 'pending', message: /./ }, meta: { status: 202 } }
    })
    for (;;) {
      const { body: { data: job } } = await own.sendSimple('GET', `/bulk/jobs/${begun.body.data.jobId}`)
      if (!['pending', 'processing'].includes(job.status)) {
        t.match(job, { status: 'completed', type: 'export', failedRecords: 0 })
        return Object.fromEntries(
          await Promise.all(
            job.files.map(async ({ resourceType, url }: any) => [
              resourceType,
              parseRecords((await own.sendSimple('GET', new URL(url).pathname.slice(3))).text)
            ])
          )
        )
      }
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  const simple = await exportFiles({ resourceTypes: ['patients', 'Observation'], format: 'simple' })
  t.strictSame(Object.keys(simple).sort(), ['Observation', 'Patient'])
  t.strictSame(simple.Patient, [(await own.sendSimple('GET', `/patients/${data.id}`)).body.data])
  t.strictSame(Object.keys(await exportFiles({})).sort(), ['Basic', 'Observation', 'Patient'])
  t.strictSame(
    Object.keys(await exportFiles({ format: 'simple' })).sort(),
    ['Observation', 'Patient'],
    'what has a simple form'
  )
  t.strictSame((await exportFiles({ resourceTypes: ['Patient', 'patients'] })).Patient[0].resourceType, 'Patient')
  t.strictSame(await exportFiles({ since: '2999-01-01' }), {})
}

async function testErrors (t: Test, { join }: ExportWorld): Promise<void> {
  const own = await join()
  const cases: Array<[object, string[]]> = [
    [{ resourceTypes: ['Patient', 'SECRET'] }, ['resourceTypes[1]']],
    [{ resourceTypes: [] }, ['resourceTypes']],
    [{ resourceTypes: 'Patient' }, ['resourceTypes']],
    [{ resourceTypes: [null] }, ['resourceTypes[0]']],
    [{ resourceTypes: ['StructureDefinition'] }, ['resourceTypes[0]']],
    [{ format: 'SECRET' }, ['format']],
    [{ since: 'SECRET' }, ['since']],
    [{ since: '2020-01-01T00:00:00' }, ['since']],
    [{ since: 3 }, ['since']],
    [{ resourceTypes: ['Basic'], format: 'simple' }, ['resourceTypes[0]']],
    [{ filter: 1, since: '', format: 0 }, ['filter', 'format', 'since']],
    [{ resourceTypes: ['constructor', '__proto_'] }, ['resourceTypes[0]', 'resourceTypes[1]']]
  ]
  for (const [body, fields] of cases) {
    const { status, body: envelope, text } = await own.sendSimple('POST', '/bulk/export', body)
    t.strictSame(
      [status, envelope.code, envelope.issues.flatMap(({ expression }: any) => expression).sort()],
      [422, 'VALIDATION_ERROR', fields],
      JSON.stringify(body)
    )
    t.notMatch(text, /SECRET/)
  }
  t.equal((await own.sendSimple('POST', '/bulk/export', [])).status, 400)
  t.equal((await own.sendSimple('POST', '/bulk/export?x=1', {})).status, 400)
  t.match((await own.sendSimple('GET', '/bulk/jobs')).body.data, { total: 0 }, 'nothing was begun')
}
