import type { Test } from 'tap'
import {
  fhirBase,
  formType,
  assertRejected,
  findLink,
  listRecords,
  buildObservation,
  fetchPages,
  buildPatient,
  storeResources,
  type RawResponse,
  type World
} from './fixture.js'

/**
 * What searches of raw FHIR must do, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/search.html
 */
export async function testSearches (t: Test, world: World): Promise<void> {
  await t.test('a search finds the records that meet all its conditions, and its self link says how it was understood', t => testSearch(t, world))
  await t.test('a search by POST is the same search, with the parameters of its URL', t => testSearchByPost(t, world))
  await t.test('an unknown parameter is refused, or ignored where Prefer allows that', t =>
    testUnknownParameters(t, world)
  )
  await t.test('the next links reach every record once, and pages have the requested size', t =>
    testPagination(t, world)
  )
  await t.test('a cursor is sent alone, or with a page size that clients add to each link, and is valid for its own search', t => testCursors(t, world))
  await t.test('the number of matches is returned without any of them', t => testCounts(t, world))
  await t.test('a page is never larger than a thousand, and a count is a whole number', t => testCountLimits(t, world))
  await t.test('records are sorted, and their elements selected', t => testResultParameters(t, world))
  await t.test(
    'summaries of matches are shown',
    { skip: world.server === 'sandbox' && 'the sandbox has no summaries but the count' },
    t => testSummary(t, world)
  )
  await t.test('a record is found at once after its change, though the same search was made before', t =>
    testFreshResults(t, world)
  )
  await t.test('a long search works as a short one', t => testLongSearches(t, world))
}

async function testSearch (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, eve] = await storeResources(
    fhir,
    buildPatient({ gender: 'female', birthDate: '1990-03-14', identifier: [{ system: 'http://mrn', value: 'a|1' }] }),
    buildPatient({ name: [{ family: 'O, Brien' }], gender: 'other', active: false })
  )
  const found = await fhir.send('GET', '/Patient?family=byr&gender=female')
  t.match(found, {
    status: 200,
    headers: { 'content-type': 'application/fhir+json; charset=utf-8', etag: undefined },
    resource: {
      resourceType: 'Bundle',
      type: 'searchset',
      total: 1,
      entry: [{ fullUrl: `${fhirBase}/Patient/${ada}`, search: { mode: 'match' }, resource: { id: ada } }]
    }
  })
  t.equal(findLink(found, 'self'), `${fhirBase}/Patient?family=byr&gender=female`)
  t.strictSame(
    [found.resource.id, found.resource.meta, findLink(found, 'next')],
    [undefined, undefined, undefined],
    "nothing of the datastore's own Bundle"
  )
  t.notMatch(found.text, /127\.0\.0\.1/)
  const queries: ReadonlyArray<readonly [string, ReadonlyArray<string | undefined>]> = [
    ['', [ada, eve]],
    ['family:exact=Byron', [ada]],
    ['family=none', []],
    ['family=byr,o%5C, brien', [ada, eve]],
    ['gender=female&gender=other', []],
    ['gender=female,other', [ada, eve]],
    ['gender:not=female', [eve]],
    ['birthdate=1990-03', [ada]],
    ['birthdate=gt1991', []],
    ['birthdate:missing=true', [eve]],
    ['identifier=http://mrn%7Ca%5C%7C1', [ada]],
    [`_id=${ada},${eve}`, [ada, eve]],
    ['active=false', [eve]],
    ['_lastUpdated=gt2020-01-01', [ada, eve]],
    ['_lastUpdated=lt2020-01-01', []]
  ]
  for (const [query, expected] of queries) {
    t.strictSame(
      listRecords(await fhir.send('GET', `/Patient?${query}`)).sort(),
      expected.map(id => `Patient/${id}`).sort(),
      query
    )
  }
  t.strictSame((await fhir.send('GET', '/Patient?family=none')).resource.entry, undefined, 'no empty list')
}

async function testSearchByPost (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await storeResources(
    fhir,
    buildPatient({ gender: 'female' }),
    buildPatient({ gender: 'male' }),
    buildPatient({ name: [{ family: 'Else' }], gender: 'female' })
  )
  const postSearch = (path: string, form: string | undefined, headers: Readonly<Record<string, string>> = formType) =>
    fhir.send('POST', path, form, headers)
  for (const [path, form] of [
    ['/Patient/_search', 'family=Byron&gender=female'],
    ['/Patient/_search?family=Byron', 'gender=female'],
    ['/Patient/_search?family=Byron&gender=female', ''],
    ['/Patient/_search?gender=female', '&family=B%79ron&']
  ] as const) {
    const response = await postSearch(path, form)
    t.strictSame([response.status, listRecords(response)], [200, [`Patient/${ada}`]], `${path} ${form}`)
    t.match(findLink(response, 'self'), /family=Byron/)
    t.match(findLink(response, 'self'), /gender=female/)
  }
  t.equal((await fhir.send('POST', '/Patient/_search?family=Byron')).resource.total, 2, 'without any body')
  t.equal(
    (
      await postSearch('/Patient/_search', 'family=Byron', {
        'content-type': 'Application/X-WWW-Form-URLencoded; charset=UTF-8'
      })
    ).resource.total,
    2
  )
  assertRejected(t, await postSearch('/Patient/_search?_count=1', '_count=2'), 400, 'which of the two counts?')
  assertRejected(t, await postSearch('/Patient/_search', 'familie=Byron'), 400, 'a misspelt parameter')
}

async function testUnknownParameters (t: Test, { fhir: join }: World): Promise<void> {
  const { send, tenantId } = await join()
  await send('POST', '/Patient', buildPatient())
  const notUnderstood = [
    'familie=Byron',
    'name.family=x',
    '_text=x',
    '_content=x',
    '_list=1',
    '_filter=name+eq+x',
    '_query=x',
    '_contained=true',
    '_offset=1',
    '_getpages=1',
    'ct=1',
    '__proto__=1',
    'constructor=1',
    'code=x'
  ]
  for (const query of notUnderstood) {
    assertRejected(t, await send('GET', `/Patient?${query}`), 400, query)
    assertRejected(
      t,
      await send('GET', `/Patient?${query}`, undefined, { prefer: 'handling=strict' }),
      400,
      `strict ${query}`
    )
  }
  assertRejected(t, await send('GET', '/Patient?familie=x'), { status: 400, code: 'not-supported' }, 'the code')
  t.match((await send('GET', '/Patient?familie=x')).text, /did you mean family\?/)
  for (const query of ['familie=Byron', 'code=x&family=Byron']) {
    const lenient = await send('GET', `/Patient?${query}`, undefined, { prefer: 'handling=lenient' })
    t.match(lenient, { status: 200, resource: { total: 1 } }, query)
    t.equal(
      findLink(lenient, 'self'),
      `${fhirBase}/Patient${query.includes('&') ? '?family=Byron' : ''}`,
      'the link says what was searched'
    )
  }
  const neverLeftOut = [
    `_tag=urn:clinigate:tenant%7C${tenantId}`,
    '_tag=x',
    '_tag:not=http://a%7Cb',
    'birthdate:not=1990',
    'family:text=x',
    'gender:contains=x',
    'active:missing=1',
    'identifier=%7C',
    'identifier=x,',
    '_security=%7C',
    '_source=%23',
    '%EF%BB%BFfamily=Nobody',
    'family=',
    'family=%00',
    '_include=*',
    '_include=Patient:*',
    '_revinclude=*',
    '_has:Observation=1',
    '_count=-1',
    '_total=some',
    '_elements=*',
    '_summary=all',
    'birthdate=yesterday',
    'organization=https://elsewhere.example/Organization/1'
  ]
  assertRejected(
    t,
    await send('POST', '/Patient/_search', Buffer.from('\ufefffamily=Nobody'), {
      ...formType,
      prefer: 'handling=lenient'
    }),
    400,
    'a byte order mark before a form'
  )
  for (const query of neverLeftOut) {
    assertRejected(t, await send('GET', `/Patient?${query}`, undefined, { prefer: 'handling=lenient' }), 400, query)
  }
}

const records = 47

async function testPagination (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const ids = await storeResources(
    fhir,
    ...Array.from({ length: records }, (_, i) =>
      buildPatient({ name: [{ family: 'Byron', given: [`Ada${String(i).padStart(2, '0')}`] }] })
    )
  )
  const expected = ids.map(id => `Patient/${id}`)
  for (const [query, size] of [
    ['', 20],
    ['?_count=10', 10],
    ['?_count=46', 46],
    ['?_count=47', 47],
    ['?_count=100', 100],
    ['?family=Byron&_count=7&_sort=-given', 7],
    ['?_count=23&_elements=name&_total=accurate', 23]
  ] as const) {
    const pages = await fetchPages(fhir, `/Patient${query}`)
    const lengths = Array.from({ length: Math.ceil(records / size) }, (_, i) => Math.min(size, records - i * size))
    t.strictSame(
      pages.map(page => listRecords(page).length),
      lengths,
      query
    )
    const seen = pages.flatMap(listRecords)
    t.strictSame(
      query.includes('_sort') ? seen : seen.toSorted(),
      query.includes('_sort') ? expected.toReversed() : expected.toSorted(),
      `${query}: nothing lost or doubled`
    )
    // A server need not count unless _total is sent.
    const totals = query.includes('_total') ? [records] : [records, undefined]
    t.ok(
      pages.every(({ resource }) => totals.includes(resource.total)),
      `${query}: each page says how many there are`
    )
    t.ok(pages.slice(0, -1).every(page => findLink(page, 'next')!.startsWith(`${fhirBase}/Patient?_cursor=`)))
    t.ok(
      pages.every(({ text }) => !/127\.0\.0\.1|_getpages|_offset|clinigate:tenant%7C/.test(text)),
      'no page shows how the datastore pages'
    )
  }
}

async function testCursors (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  await storeResources(fhir, ...Array.from({ length: 5 }, () => buildPatient()))
  const cursor = new URL(findLink(await fhir.send('GET', '/Patient?_count=2&family=Byron'), 'next')!).searchParams.get(
    '_cursor'
  )!
  const [sameTenant, otherTenant] = [await join({ tenantId: fhir.tenantId }), await join()]
  for (const who of [fhir, sameTenant]) {
    t.strictSame(listRecords(await who.send('GET', `/Patient?_cursor=${cursor}`)).length, 2)
  }
  t.equal(listRecords(await fhir.send('POST', '/Patient/_search', `_cursor=${cursor}`, formType)).length, 2)
  // Medplum's client writes _count=1000 into each next link that has none.
  for (const count of [2, 3, 1000]) {
    t.equal(listRecords(await fhir.send('GET', `/Patient?_cursor=${cursor}&_count=${count}`)).length, 2, `_count=${count}`)
  }
  const others = ['family=Byron', '_summary=count', '_elements=id', '_include=Patient:organization']
  for (const more of ['_count=1', '_count=0', '_count=x', ...others]) {
    assertRejected(t, await fhir.send('GET', `/Patient?_cursor=${cursor}&${more}`), 400, `with ${more}`)
    assertRejected(t, await fhir.send('GET', `/Patient?${more}&_cursor=${cursor}`), 400, `after ${more}`)
  }
  const forged = [
    '',
    'x',
    cursor.slice(1),
    `${cursor}A`,
    `${cursor.slice(0, 40)}${cursor[40] === 'A' ? 'B' : 'A'}${cursor.slice(41)}`,
    'https://elsewhere.example/'
  ]
  for (const text of forged) {
    assertRejected(
      t,
      await fhir.send('GET', `/Patient?_cursor=${encodeURIComponent(text)}`),
      400,
      `forged ${text.slice(0, 20)}`
    )
  }
  assertRejected(
    t,
    await otherTenant.send('GET', `/Patient?_cursor=${cursor}`),
    { status: 400, code: 'expired' },
    'of another organization'
  )
  assertRejected(
    t,
    await fhir.send('GET', `/Practitioner?_cursor=${cursor}`),
    { status: 400, code: 'expired' },
    'of another type'
  )
}

async function testCounts (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const other = await join()
  await storeResources(fhir, buildPatient(), buildPatient({ gender: 'female' }))
  await storeResources(other, buildPatient())
  for (const [query, total] of [
    ['_count=0', 2],
    ['_summary=count', 2],
    ['_summary=count&_count=10', 2],
    ['_summary=count&gender=female', 1],
    ['_count=0&_total=accurate', 2],
    ['_summary=count&family=none', 0]
  ] as const) {
    const response = await fhir.send('GET', `/Patient?${query}`)
    t.match(response, { status: 200, resource: { type: 'searchset', total } }, query)
    t.strictSame([response.resource.entry, findLink(response, 'next')], [undefined, undefined], query)
  }
}

async function testCountLimits (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  await send('POST', '/Patient', buildPatient())
  for (const count of ['1001', '1000', '999999999']) {
    t.match(await send('GET', `/Patient?_count=${count}`), { status: 200, resource: { entry: [{}] } }, count)
  }
  for (const count of ['-1', '1.5', 'x', '', '1e2', '0x10', '9999999999']) {
    assertRejected(t, await send('GET', `/Patient?_count=${count}`), 400, count)
  }
}

async function testResultParameters (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const ids = await storeResources(
    fhir,
    ...['Clara', 'Ada', 'Bea'].map((givenName, i) =>
      buildPatient({ name: [{ family: 'Byron', given: [givenName] }], birthDate: `199${i}-01-01`, gender: 'female' })
    )
  )
  const order = async (sort: string) =>
    listRecords(await fhir.send('GET', `/Patient?_sort=${sort}`)).map(record => ids.indexOf(record.slice('Patient/'.length)))
  t.strictSame(
    [await order('given'), await order('-given'), await order('family,-birthdate')],
    [
      [1, 2, 0],
      [0, 2, 1],
      [2, 1, 0]
    ]
  )
  assertRejected(t, await fhir.send('GET', '/Patient?_sort=organization.name'), 400, 'no chains in _sort')
  assertRejected(t, await fhir.send('GET', '/Patient?_sort=familie'), 400, 'a misspelt key')
  for (const { resource } of (await fhir.send('GET', '/Patient?_elements=birthDate')).resource.entry) {
    t.match(resource, { resourceType: 'Patient', id: /./, birthDate: /199/, meta: { versionId: '1' } })
    t.strictSame([resource.name, resource.gender], [undefined, undefined])
  }
}

async function testSummary (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Ada</div>' }
  await storeResources(fhir, buildPatient({ text, photo: [{ title: 'Ada' }] }))
  const listShown = async (summary: string) =>
    Object.keys((await fhir.send('GET', `/Patient?_summary=${summary}`)).resource.entry[0].resource)
      .filter(name => !['resourceType', 'id', 'meta'].includes(name))
      .sort()
  t.strictSame(
    [await listShown('true'), await listShown('text'), await listShown('data'), await listShown('false')],
    [['name'], ['text'], ['name', 'photo'], ['name', 'photo', 'text']]
  )
}

async function testFreshResults (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const search = async () => listRecords(await fhir.send('GET', '/Patient?family=Fresh')).sort()
  const made: string[] = []
  for (let i = 0; i < 3; i++) {
    t.strictSame(await search(), made.toSorted())
    made.push(...(await storeResources(fhir, buildPatient({ name: [{ family: 'Fresh' }] }))).map(id => `Patient/${id}`))
  }
  await fhir.send('PUT', `/${made[0]}`, buildPatient())
  t.strictSame(await search(), made.slice(1).sort())
  await fhir.send('DELETE', `/${made[1]}`)
  t.strictSame(await search(), made.slice(2))
}

async function testLongSearches (t: Test, { fhir: join, server }: World): Promise<void> {
  const fhir = await join()
  const [id, other] = await storeResources(fhir, buildPatient(), buildPatient())
  const about = await storeResources(fhir, buildObservation(`Patient/${id}`), buildObservation(`Patient/${other}`))
  const buildUnknownIds = (length: number) => Array.from({ length }, (_, i) => `Patient/none-${String(i).padStart(20, '0')}`)
  const buildConditions = (length: number) =>
    `subject=${[...buildUnknownIds(length), `Patient/${id}`, `Patient/${other}`].join(',')}`
  const both = about.map(record => `Observation/${record}`).sort()
  for (const length of [100, 300]) {
    t.strictSame(listRecords(await fhir.send('POST', '/Observation/_search', buildConditions(length), formType)).sort(), both)
    t.strictSame(listRecords(await fhir.send('GET', `/Observation?${buildConditions(length)}`)).sort(), both)
  }
  const searchByOne = (length: number) =>
    fhir.send('POST', '/Observation/_search', `${buildConditions(length)}&_count=1`, formType)
  const listAllPages = async (first: RawResponse) => [first, ...await fetchPages(fhir, findLink(first, 'next')!)].flatMap(listRecords).sort()
  t.strictSame(await listAllPages(await searchByOne(100)), both, 'page by page')
  // A server whose links hold the whole search lets it be too long for a second page; that is said on the first.
  if (server === 'hapi') t.strictSame(await listAllPages(await searchByOne(300)), both, 'page by page, longer than any URL')
  else assertRejected(t, await searchByOne(300), { status: 400, code: 'too-costly' }, 'too long for a cursor')
}
