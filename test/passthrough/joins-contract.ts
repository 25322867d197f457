import type { Test } from 'tap'
import {
  fhirBase,
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
 * What searches over references must do, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/R4/search.html#chaining
 */
export async function testJoins (t: Test, world: World): Promise<void> {
  await t.test('a chain finds what refers to records that meet a condition: none, one or many', t => testChains(t, world))
  await t.test('_has finds what records that meet a condition refer to: none, one or many', t =>
    testReverseChains(t, world)
  )
  await t.test('joins and conditions hold together', t => testCombinedJoins(t, world))
  await t.test('a join over too many records is refused, and never truncated', t => testJoinLimits(t, world))
  await t.test('an invalid join is refused', t => testInvalidJoins(t, world))
  await t.test('records that a match refers to, or that refer to it, are included once', t => testIncludes(t, world))
  await t.test(
    'included records include more with :iterate',
    { skip: world.server === 'sandbox' && 'the sandbox follows no :iterate' },
    t => testIterativeIncludes(t, world)
  )
  await t.test('a page has as many matches as requested, however many records are included', t => testIncludePages(t, world))
  await t.test('an invalid include is refused', t => testInvalidIncludes(t, world))
}

interface Ward { readonly fhir: Fhir, readonly [name: string]: any }

/** Two patients of two practitioners in one organization; the first has two observations, the second one. */
async function createWard ({ fhir: join }: World): Promise<Ward> {
  const fhir = await join()
  const [organization] = await storeResources(fhir, { resourceType: 'Organization', name: 'Ward 7' } as never)
  const [grey, blue] = await storeResources(
    fhir,
    ...['Grey', 'Blue'].map(family => ({ resourceType: 'Practitioner', name: [{ family }] }))
  )
  const buildCaredPatient = (family: string, practitioner: string | undefined) =>
    buildPatient({
      name: [{ family }],
      managingOrganization: { reference: `Organization/${organization}` },
      generalPractitioner: [{ reference: `Practitioner/${practitioner}` }]
    })
  const [ada, eve, unrelated] = await storeResources(
    fhir,
    buildCaredPatient('Byron', grey),
    buildCaredPatient('Noether', blue),
    buildPatient({ name: [{ family: 'Nobody' }] })
  )
  const buildCode = (text: string) => ({ code: { coding: [{ system: 'http://loinc.org', code: text }] } })
  const [weight, height, eves] = await storeResources(
    fhir,
    buildObservation(`Patient/${ada}`, buildCode('weight')),
    buildObservation(`Patient/${ada}`, buildCode('height')),
    buildObservation(`Patient/${eve}`, { ...buildCode('weight'), performer: [{ reference: `Practitioner/${grey}` }] })
  )
  return { fhir, organization, grey, blue, ada, eve, unrelated, weight, height, eves }
}

const assertFinds = async (t: Test, { fhir }: Ward, rows: ReadonlyArray<readonly [string, readonly string[]]>) => {
  for (const [query, expected] of rows) {
    const response = await fhir.send('GET', `/${query}`)
    t.equal(response.status, 200, query)
    t.strictSame(listRecords(response).sort(), expected.toSorted(), query)
    t.match(response.resource, { type: 'searchset', total: expected.length }, query)
    t.equal(
      decodeURIComponent(findLink(response, 'self')!),
      `${fhirBase}/${query}`,
      'the link has the request, not the rewritten search'
    )
  }
}

async function testChains (t: Test, world: World): Promise<void> {
  const all = await createWard(world)
  const { weight, height, eves, ada, eve } = all
  const toReferences = (...ids: string[]) => ids.map(id => `Observation/${id}`)
  await assertFinds(t, all, [
    ['Observation?subject:Patient.family=Byron', toReferences(weight, height)],
    ['Observation?patient.family=Noether', toReferences(eves)],
    ['Observation?subject:Patient.family=Nobody', []],
    ['Observation?subject:Patient.family=Unknown', []],
    ['Observation?subject:Patient.family=Byron,Noether', toReferences(weight, height, eves)],
    [`Observation?subject:Patient._id=${ada}`, toReferences(weight, height)],
    ['Observation?patient.family:exact=byron', []],
    ['Observation?performer:Practitioner.family=Grey', toReferences(eves)],
    ['Patient?general-practitioner:Practitioner.family=Blue', [`Patient/${eve}`]],
    ['Patient?organization.name=Ward', [`Patient/${ada}`, `Patient/${eve}`]]
  ])
}

async function testReverseChains (t: Test, world: World): Promise<void> {
  const all = await createWard(world)
  const { ada, eve, grey, organization } = all
  await assertFinds(t, all, [
    ['Patient?_has:Observation:patient:code=height', [`Patient/${ada}`]],
    ['Patient?_has:Observation:patient:code=weight', [`Patient/${ada}`, `Patient/${eve}`]],
    ['Patient?_has:Observation:subject:code=none', []],
    ['Practitioner?_has:Patient:general-practitioner:family=Byron', [`Practitioner/${grey}`]],
    ['Practitioner?_has:Observation:performer:code=height', []],
    ['Organization?_has:Patient:organization:family=Byron', [`Organization/${organization}`]]
  ])
}

async function testCombinedJoins (t: Test, world: World): Promise<void> {
  const all = await createWard(world)
  const { weight, ada, eve } = all
  await assertFinds(t, all, [
    ['Observation?subject:Patient.family=Byron&code=weight', [`Observation/${weight}`]],
    ['Observation?subject:Patient.family=Byron&performer:Practitioner.family=Grey', []],
    ['Patient?_has:Observation:patient:code=weight&_has:Observation:patient:code=height', [`Patient/${ada}`]],
    ['Patient?_has:Observation:patient:code=weight&general-practitioner:Practitioner.family=Blue', [`Patient/${eve}`]],
    ['Patient?_has:Observation:patient:code=weight&_has:Observation:patient:code=none', []],
    [`Patient?_has:Observation:patient:code=weight&_id=${eve}`, [`Patient/${eve}`]]
  ])
  t.strictSame(
    listRecords(
      await all.fhir.send('GET', '/Observation?subject:Patient.family=Byron&_include=Observation:subject')
    ).filter(one => one.startsWith('+')),
    [`+Patient/${ada}`]
  )
  t.match(await all.fhir.send('GET', '/Observation?subject:Patient.family=Byron&_summary=count'), {
    resource: { total: 2, entry: undefined }
  })
  t.match(await all.fhir.send('GET', '/Observation?subject:Patient.family=Unknown&_summary=count'), {
    resource: { total: 0, entry: undefined }
  })
}

async function testJoinLimits (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const many = await storeResources(
    fhir,
    ...Array.from({ length: 999 }, () => ({ resourceType: 'Patient', name: [{ family: 'Many' }] }))
  )
  const [last] = await storeResources(fhir, { resourceType: 'Patient', name: [{ family: 'Byron' }] } as never)
  const [about] = await storeResources(fhir, buildObservation(`Patient/${last}`))
  t.strictSame(listRecords(await fhir.send('GET', '/Observation?subject:Patient.family=Byron')), [`Observation/${about}`])
  t.equal((await fhir.send('GET', '/Observation?subject:Patient.family=Many')).status, 200, '999 are not too many')
  assertRejected(
    t,
    await fhir.send('GET', '/Observation?subject:Patient.family=Many,Byron'),
    { status: 400, code: 'too-costly' },
    '1000 are'
  )
  const group = (members: readonly string[]) => ({
    resourceType: 'Group',
    type: 'person',
    actual: true,
    member: members.map(id => ({ entity: { reference: `Patient/${id}` } }))
  })
  const groups = await storeResources(
    fhir,
    group(many),
    group([...many, last!]),
    group(many.slice(0, 600)),
    group(many.slice(300, 900))
  )
  const searchMembers = (...ids: ReadonlyArray<string | undefined>) =>
    fhir.send('GET', `/Patient?_has:Group:member:_id=${ids.join(',')}&_summary=count`)
  t.match(await searchMembers(groups[0]), { status: 200, resource: { total: 999 } }, '999 members are not too many')
  t.match(await searchMembers(groups[2]), { status: 200, resource: { total: 600 } })
  assertRejected(t, await searchMembers(groups[1]), { status: 400, code: 'too-costly' }, '1000 members are')
  assertRejected(
    t,
    await searchMembers(groups[2], groups[3]),
    { status: 400, code: 'too-costly' },
    'and 1200 references to 900 of them'
  )
}

async function testInvalidJoins (t: Test, { fhir: join, server }: World): Promise<void> {
  const { send } = await join()
  const queries = [
    'Observation?subject:Patient.organization.name=x',
    'Observation?subject.family:x=1',
    'Observation?code.text=x',
    'Observation?subject:Nothing.name=x',
    'Observation?subject:Patient.code=x',
    'Observation?subject:Patient.=x',
    'Observation?.family=x',
    'Observation?subject:ValueSet.url=x',
    'Patient?_has:Observation:code=x',
    'Patient?_has:Observation:patient:nothing=x',
    'Patient?_has:Nothing:patient:code=x',
    'Patient?_has:Observation:encounter:code=x',
    'Patient?_has:Observation:patient:_has:AuditEvent:entity:type=x',
    'Patient?_has:Observation:patient:encounter.status=x',
    'Patient?_has=x',
    'Observation?subject:Patient._tag=urn:clinigate:tenant%7Cx',
    'Patient?_has:Observation:patient:_tag=x',
    'Observation?subject:Patient.family='
  ]
  for (const query of queries) assertRejected(t, await send('GET', `/${query}`), 400, query)
  // What the datastore itself rejects has a name too.
  for (const [query, name] of [
    ['Observation?subject:Patient.birthdate=ap2024', 'birthdate'],
    ['Observation?date=ap2024', 'date'],
    ...server === 'hapi' ? [['Observation?subject:Patient.family:contains=x', 'family:contains'] as const] : []
  ] as const) {
    const refused = await send('GET', `/${query}`)
    assertRejected(t, refused, 400, query)
    t.match(refused.resource.issue, [{ expression: [name] }], query)
  }
}

async function testIncludes (t: Test, world: World): Promise<void> {
  const { fhir, weight, height, eves, ada, eve, grey, organization } = await createWard(world)
  const rows: ReadonlyArray<readonly [string, readonly string[]]> = [
    [
      'Observation?_include=Observation:subject',
      [`Observation/${weight}`, `Observation/${height}`, `Observation/${eves}`, `+Patient/${ada}`, `+Patient/${eve}`]
    ],
    ['Observation?code=height&_include=Observation:subject:Patient', [`Observation/${height}`, `+Patient/${ada}`]],
    ['Observation?code=height&_include=Observation:subject:Group', [`Observation/${height}`]],
    [
      'Observation?code=weight&_include=Observation:performer&_include=Observation:patient',
      [`Observation/${weight}`, `Observation/${eves}`, `+Patient/${ada}`, `+Patient/${eve}`, `+Practitioner/${grey}`]
    ],
    [
      `Patient?_id=${ada}&_revinclude=Observation:subject`,
      [`Patient/${ada}`, `+Observation/${weight}`, `+Observation/${height}`]
    ],
    [
      `Patient?_id=${ada}&_revinclude=Observation:patient&_include=Patient:organization`,
      [`Patient/${ada}`, `+Observation/${weight}`, `+Observation/${height}`, `+Organization/${organization}`]
    ],
    ['Observation?code=none&_include=Observation:subject', []]
  ]
  for (const [query, expected] of rows) {
    const response = await fhir.send('GET', `/${query}`)
    t.strictSame(listRecords(response).sort(), expected.toSorted(), query)
    t.equal(
      response.resource.total,
      expected.filter(one => !one.startsWith('+')).length,
      `${query}: matches are counted, nothing else`
    )
  }
}

async function testIterativeIncludes (t: Test, world: World): Promise<void> {
  const { fhir, height, ada, organization, grey, weight } = await createWard(world)
  t.strictSame(
    listRecords(
      await fhir.send(
        'GET',
        '/Observation?code=height&_include=Observation:subject&_include:iterate=Patient:organization&_include:iterate=Patient:general-practitioner'
      )
    ).sort(),
    [`+Organization/${organization}`, `+Patient/${ada}`, `+Practitioner/${grey}`, `Observation/${height}`]
  )
  t.strictSame(
    listRecords(
      await fhir.send(
        'GET',
        `/Practitioner?_id=${grey}&_revinclude=Patient:general-practitioner&_revinclude:iterate=Observation:subject`
      )
    ).sort(),
    [`+Observation/${height}`, `+Observation/${weight}`, `+Patient/${ada}`, `Practitioner/${grey}`].sort()
  )
}

async function testIncludePages (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const patients = await storeResources(fhir, ...Array.from({ length: 15 }, () => buildPatient()))
  const observations = await storeResources(
    fhir,
    ...Array.from({ length: 45 }, (_, i) => buildObservation(`Patient/${patients[i % 15]}`))
  )
  const pages = await fetchPages(fhir, '/Observation?_include=Observation:subject&_count=10')
  const entries = pages.map(listRecords)
  t.strictSame(entries.map(page => page.filter(one => !one.startsWith('+')).length), [10, 10, 10, 10, 5])
  t.strictSame(
    entries
      .flat()
      .filter(one => !one.startsWith('+'))
      .sort(),
    observations.map(id => `Observation/${id}`).sort()
  )
  for (const [at, { resource }] of pages.entries()) {
    const subjects = new Set<string>(
      resource.entry
        .filter(({ search }: any) => search.mode === 'match')
        .map((item: any) => `+${item.resource.subject.reference}`)
    )
    t.strictSame(
      entries[at]!.filter(one => one.startsWith('+')).sort(),
      [...subjects].sort(),
      'each page has what its matches refer to, once'
    )
  }
}

async function testInvalidIncludes (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  for (const value of [
    '*',
    'Observation',
    'Observation:*',
    'Observation:code',
    'Observation:nothing',
    'Patient:organization',
    'Observation:subject:Nothing',
    'Observation:subject:ValueSet',
    'Observation:subject:Patient:x',
    'Nothing:subject',
    ''
  ]) {
    assertRejected(t, await send('GET', `/Observation?_include=${value}`), 400, value)
  }
  // An error says what to send instead.
  for (const [query, diagnostics] of [
    ['Patient?_include=DiagnosticReport:Observation', /expected Patient:parameter, since Patient is searched/],
    ['DiagnosticReport?_include=DiagnosticReport:Observation', /expected a reference search parameter: DiagnosticReport:result;/],
    ['Patient?_include=Patient:nothing', /expected .*: Patient:general-practitioner, .*Patient:organization/],
    ['Patient?_revinclude=Observation:Patient', /: .*Observation:subject/],
    ['Patient?_include=Patient:Observation', /Patient has no such reference/],
    ['Observation?_include=*', /\* cannot be used/],
    ['Observation?_include:recurse=Observation:subject', /the only modifier is :iterate/]
  ] as const) {
    assertRejected(t, await send('GET', `/${query}`), { status: 400, diagnostics }, query)
  }
  for (const query of [
    '_include:recurse=Observation:subject',
    '_include:=Observation:subject',
    '_revinclude=Nothing:subject',
    '_revinclude=AuditEvent:nothing',
    Array.from({ length: 4 }, () => '_include:iterate=Patient:organization').join('&'),
    Array.from({ length: 61 }, () => '_include=Observation:subject').join('&')
  ]) {
    assertRejected(t, await send('GET', `/Observation?${query}`), 400, query.slice(0, 60))
  }
}
