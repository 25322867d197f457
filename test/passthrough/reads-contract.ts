import type { Test } from 'tap'
import {
  fhirBase, assertRejected, findLink, listRecords, buildObservation, fetchPages, buildPatient, storeResources,
  type World
} from './fixture.js'

/**
 * What reads of raw FHIR must do, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/http.html#read
 */
export async function testReads (t: Test, world: World): Promise<void> {
  await t.test('a record is read as it was stored, with its version and time', t => testRead(t, world))
  await t.test('HEAD responds as GET without the body', t => testHead(t, world))
  await t.test('a client that has the version already gets 304 and no body', t => testNotModified(t, world))
  await t.test('each version is read, and no other', t => testVersionRead(t, world))
  await t.test(
    'the history shows every version, newest first, and is gone once the record is deleted',
    t => testHistory(t, world)
  )
  await t.test('a history is read page by page', t => testHistoryPages(t, world))
  await t.test('elements of a record are read by name', t => testElements(t, world))
  await t.test(
    'a summary of a record is read',
    { skip: world.server === 'sandbox' && 'a summary of the sandbox is the whole record' },
    t => testSummary(t, world)
  )
  await t.test(
    'all about a patient comes at once, page by page',
    { skip: world.server === 'sandbox' && 'the sandbox has no $everything' },
    t => testEverything(t, world)
  )
  await t.test(
    'what a server without $everything cannot do is refused',
    { skip: world.server === 'hapi' && 'HAPI has $everything' },
    async t => {
      const fhir = await world.fhir()
      const [id] = await storeResources(fhir, buildPatient())
      assertRejected(t, await fhir.send('GET', `/Patient/${id}/$everything`), 501, '$everything')
    }
  )
}

async function testRead (t: Test, { fhir: join }: World): Promise<void> {
  const { send, tenantId } = await join()
  const created = await send(
    'POST',
    '/Patient',
    buildPatient({
      meta: {
        tag: [{ system: 'http://ward', code: '7' }],
        profile: ['http://hl7.org/fhir/StructureDefinition/Patient']
      }
    })
  )
  const { id, meta } = created.resource
  const read = await send('GET', `/Patient/${id}`)
  t.match(read, {
    status: 200,
    headers: {
      'content-type': 'application/fhir+json; charset=utf-8',
      etag: 'W/"1"',
      'last-modified': new Date(meta.lastUpdated).toUTCString(),
      'cache-control': 'no-store',
      'content-location': `${fhirBase}/Patient/${id}/_history/1`
    }
  })
  // HAPI keeps the beginning of the request's id there.
  t.strictSame(withoutSource(read.resource), withoutSource(created.resource))
  t.match(read.resource, {
    ...buildPatient(),
    id,
    meta: {
      versionId: '1',
      lastUpdated: /^\d{4}-\d\d-\d\dT/,
      profile: ['http://hl7.org/fhir/StructureDefinition/Patient']
    }
  })
  t.strictSame(
    new Set(read.resource.meta.tag.map(({ system, code }: any) => `${system}|${code}`)),
    new Set(['http://ward|7', `urn:clinigate:tenant|${tenantId}`])
  )
  for (const query of [
    '?_format=json',
    '?_format=application/fhir%2Bjson',
    '?_format=application/fhir+json',
    '?_pretty=true'
  ]) { t.equal((await send('GET', `/Patient/${id}${query}`)).status, 200, query) }
  for (const path of ['/Patient/no-such', `/Observation/${id}`]) {
    assertRejected(t, await send('GET', path), { status: 404, code: 'not-found' }, path)
  }
  for (const query of ['?x=1', '?_count=1', '?_elements=name&_elements=id']) {
    assertRejected(t, await send('GET', `/Patient/${id}${query}`), 400, query)
  }
  await send('DELETE', `/Patient/${id}`)
  assertRejected(t, await send('GET', `/Patient/${id}`), { status: 404, code: 'not-found' }, 'deleted')
}

const withoutSource = ({ meta: { source, ...meta }, ...resource }: any) => ({ ...resource, meta })

async function testHead (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  for (const path of [
    `/Patient/${id}`,
    `/Patient/${id}/_history/1`,
    `/Patient/${id}/_history`,
    '/Patient?family=Byron',
    '/Patient/no-such',
    '/Nothing'
  ]) {
    const [got, head] = [await send('GET', path), await send('HEAD', path)]
    t.strictSame(
      [head.status, head.text, head.headers.etag, head.headers['content-type']],
      [got.status, '', got.headers.etag, got.headers['content-type']],
      path
    )
    t.equal(head.headers['content-length'], got.headers['content-length'], path)
  }
}

async function testNotModified (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id, meta: { lastUpdated } } = (await send('POST', '/Patient', buildPatient())).resource
  const toHttpDate = (more: number) => new Date(Date.parse(lastUpdated) + more * 1_000).toUTCString()
  const known: ReadonlyArray<Record<string, string>> = [
    { 'if-none-match': 'W/"1"' },
    { 'if-none-match': '"1"' },
    { 'if-none-match': 'W/"7", W/"1"' },
    { 'if-none-match': '*' },
    { 'if-modified-since': toHttpDate(0) },
    { 'if-modified-since': toHttpDate(60) },
    { 'if-none-match': 'W/"1"', 'if-modified-since': toHttpDate(-60) }
  ]
  for (const headers of known) {
    for (const [method, path] of [
      ['GET', `/Patient/${id}`],
      ['HEAD', `/Patient/${id}`],
      ['GET', `/Patient/${id}/_history/1`]
    ] as const) {
      t.match(
        await send(method, path, undefined, headers),
        { status: 304, text: '', headers: { etag: 'W/"1"', 'last-modified': toHttpDate(0), 'content-type': undefined } },
        `${method} ${JSON.stringify(headers)}`
      )
    }
  }
  const unknown: ReadonlyArray<Record<string, string>> = [
    { 'if-none-match': 'W/"2"' },
    { 'if-modified-since': toHttpDate(-60) },
    { 'if-modified-since': 'yesterday' },
    { 'if-none-match': 'W/"2"', 'if-modified-since': toHttpDate(60) }
  ]
  for (const headers of unknown) {
    t.match(
      await send('GET', `/Patient/${id}`, undefined, headers),
      { status: 200, resource: { id } },
      JSON.stringify(headers)
    )
  }
  t.match(
    await send('GET', `/Patient/${id}`, undefined, { 'if-none-match': 'no tag' }),
    { status: 200, resource: { id } },
    'no entity tag'
  )
  assertRejected(
    t,
    await send('GET', '/Patient/no-such', undefined, { 'if-none-match': '*' }),
    404,
    'what is not there is never unchanged'
  )
}

async function testVersionRead (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient({ gender: 'female' }))).resource
  await send('PUT', `/Patient/${id}`, buildPatient({ id, gender: 'other' }))
  for (const [version, gender] of [['1', 'female'], ['2', 'other']] as const) {
    t.match(await send('GET', `/Patient/${id}/_history/${version}`), {
      status: 200,
      headers: { etag: `W/"${version}"`, 'last-modified': /GMT$/ },
      resource: { id, gender, meta: { versionId: version } }
    })
  }
  for (const version of ['3', '0', 'x', '99999999999999999999', `${'9'.repeat(80)}`]) {
    assertRejected(t, await send('GET', `/Patient/${id}/_history/${version}`), 404, version.slice(0, 30))
  }
  assertRejected(t, await send('GET', `/Patient/${id}/_history/1?_elements=id`), 400, 'a version takes no parameters')
}

async function testHistory (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient({ active: true }))).resource
  await send('PUT', `/Patient/${id}`, buildPatient({ id, active: false }))
  await send('PATCH', `/Patient/${id}`, [{ op: 'remove', path: '/active' }], {
    'content-type': 'application/json-patch+json'
  })
  const all = await send('GET', `/Patient/${id}/_history`)
  t.match(all, { status: 200, resource: { resourceType: 'Bundle', type: 'history', total: 3 } })
  t.strictSame(
    all.resource.entry.map(({ resource }: any) => [resource.meta.versionId, resource.active]),
    [
      ['3', undefined],
      ['2', false],
      ['1', true]
    ]
  )
  t.strictSame(all.resource.entry.map(({ request }: any) => request.method), ['PUT', 'PUT', 'POST'])
  t.ok(all.resource.entry.every(({ fullUrl }: any) => fullUrl.startsWith(`${fhirBase}/Patient/${id}`)))
  t.equal(findLink(all, 'self'), `${fhirBase}/Patient/${id}/_history`)
  t.notMatch(all.text, /127\.0\.0\.1/)
  for (const query of ['?_count=0', '?_since=yesterday', '?_at=2020', '?x=1', '?_cursor=x&_count=1']) {
    assertRejected(t, await send('GET', `/Patient/${id}/_history${query}`), 400, query)
  }
  assertRejected(t, await send('GET', '/Patient/no-such/_history'), 404, 'unknown')
  await send('DELETE', `/Patient/${id}`)
  assertRejected(t, await send('GET', `/Patient/${id}/_history`), 404, 'deleted')
}

async function testHistoryPages (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const { id } = (await fhir.send('POST', '/Patient', buildPatient())).resource
  for (let i = 2; i <= 7; i++) {
    await fhir.send('PUT', `/Patient/${id}`, buildPatient({ id, name: [{ text: `version ${i}` }] }))
  }
  const pages = await fetchPages(fhir, `/Patient/${id}/_history?_count=3`)
  t.strictSame(
    pages.map(({ resource }) => resource.entry.map((item: any) => item.resource.meta.versionId)),
    [['7', '6', '5'], ['4', '3', '2'], ['1']]
  )
  const cursor = new URL(findLink(pages[0]!, 'next')!).searchParams.get('_cursor')!
  const second = `/Patient/${id}/_history?_cursor=${cursor}`
  for (const count of [3, 1000]) {
    t.equal((await fhir.send('GET', `${second}&_count=${count}`)).resource.entry.length, 3, `_count=${count}`)
  }
  for (const more of ['_count=2', '_count=0', '_since=2020-01-01T00:00:00Z']) {
    assertRejected(t, await fhir.send('GET', `${second}&${more}`), 400, `a cursor with ${more}`)
  }
  const [other] = await storeResources(fhir, buildPatient())
  assertRejected(
    t,
    await fhir.send('GET', `/Patient/${other}/_history?_cursor=${cursor}`),
    { status: 400, code: 'expired' },
    'a cursor of another record'
  )
  assertRejected(
    t,
    await fhir.send('GET', `/Patient?_cursor=${cursor}`),
    { status: 400, code: 'expired' },
    'a cursor of another interaction'
  )
}

async function testElements (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient({ gender: 'female', birthDate: '1990' }))).resource
  const read = await send('GET', `/Patient/${id}?_elements=gender`)
  t.match(read, {
    status: 200,
    headers: { etag: 'W/"1"' },
    resource: { resourceType: 'Patient', id, gender: 'female', meta: { versionId: '1' } }
  })
  t.strictSame([read.resource.birthDate, read.resource.name], [undefined, undefined])
  for (const query of ['_elements=', '_elements=name,', '_elements=name.family', '_summary=all']) {
    assertRejected(t, await send('GET', `/Patient/${id}?${query}`), 400, query)
  }
}

async function testSummary (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Ada</div>' }
  const { id } = (await send('POST', '/Patient', buildPatient({ text, gender: 'female', photo: [{ title: 'Ada' }] })))
    .resource
  const listShown = async (summary: string) =>
    Object.keys((await send('GET', `/Patient/${id}?_summary=${summary}`)).resource)
      .filter(name => !['resourceType', 'id', 'meta'].includes(name))
      .sort()
  t.strictSame(await listShown('true'), ['gender', 'name'])
  t.strictSame(await listShown('text'), ['text'])
  t.strictSame(await listShown('data'), ['gender', 'name', 'photo'])
  t.strictSame(await listShown('false'), ['gender', 'name', 'photo', 'text'])
}

async function testEverything (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, other] = await storeResources(fhir, buildPatient(), buildPatient())
  const about = await storeResources(
    fhir,
    ...Array.from({ length: 5 }, () => buildObservation(`Patient/${id}`)),
    buildObservation(`Patient/${other}`)
  )
  const all = await fhir.send('GET', `/Patient/${id}/$everything`)
  t.match(all, { status: 200, resource: { type: 'searchset', total: undefined } })
  const records = [`Patient/${id}`, ...about.slice(0, 5).map(one => `Observation/${one}`)].sort()
  t.strictSame(listRecords(all).map(one => one.replace('+', '')).sort(), records)
  t.notMatch(all.text, /127\.0\.0\.1/)
  const pages = await fetchPages(fhir, `/Patient/${id}/$everything?_count=2`)
  t.ok(pages.length > 1)
  t.strictSame(pages.flatMap(listRecords).map(one => one.replace('+', '')).sort(), records)
  const cursor = new URL(findLink(pages[0]!, 'next')!).searchParams.get('_cursor')!
  const second = `/Patient/${id}/$everything?_cursor=${cursor}`
  t.strictSame(listRecords(await fhir.send('GET', `${second}&_count=1000`)), listRecords(pages[1]!))
  assertRejected(t, await fhir.send('GET', `${second}&_count=1`), 400, 'a cursor with a smaller page')
  t.strictSame(listRecords(await fhir.send('GET', `/Patient/${id}/$everything?_type=Patient`)), [`Patient/${id}`])
  t.strictSame(
    listRecords(
      await fhir.send('POST', `/Patient/${id}/$everything`, {
        resourceType: 'Parameters',
        parameter: [
          { name: '_type', valueCode: 'Patient' },
          { name: '_count', valueInteger: 5 }
        ]
      })
    ),
    [`Patient/${id}`],
    'by POST'
  )
  t.strictSame(
    listRecords(await fhir.send('POST', `/Patient/${id}/$everything`)).sort(),
    listRecords(all).sort(),
    'by POST, without a body'
  )
  assertRejected(t, await fhir.send('GET', '/Patient/no-such/$everything'), 404, 'unknown')
  assertRejected(t, await fhir.send('GET', `/Patient/${id}/$everything?x=1`), 400, 'an unknown parameter')
  assertRejected(t, await fhir.send('GET', '/Patient/$everything'), 405, 'of all patients')
}
