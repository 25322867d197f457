import type { Test } from 'tap'
import { createGatewayClient, type ClientResponse, type Client } from '../harness/client.js'
import type { TestGateway } from '../harness/gateway.js'
import { mappings } from '../../src/mappings/registry.js'

/** The guarantees of searches page by page, on every FHIR server. */
export async function testPaging (t: Test, gateway: TestGateway): Promise<void> {
  await t.test('every record is on one page, and each page has the total', t =>
    testPages(t, gateway)
  )
  await t.test('a record is found at once, and gone at once, though the same search was made before', t =>
    testFreshResults(t, gateway)
  )
  await t.test('a count above 100 is 100, with a warning', t => testLargeCounts(t, gateway))
  await t.test('a person is found by the parts of the name together, in any order, page by page', t =>
    testFullNames(t, gateway))
  await t.test('sort=date sorts every resource by its time', t => testDateSort(t, gateway))
  await t.test('plain text is found exactly, with totals, page by page, and by its current value after a change', t =>
    testTextFilter(t, gateway))
  await t.test('filters that R4 has no parameter for are exact, with totals, page by page', t =>
    testFilterChecks(t, gateway))
  await t.test('a cursor is valid for its own search alone', t => testBoundCursors(t, gateway))
  await t.test('an unknown part of a query is rejected, and never ignored', t => testStrictQueries(t, gateway))
}

async function createPatients (client: Client, count: number, lastName = 'Byron'): Promise<string[]> {
  const responses = await Promise.all(
    Array.from({ length: count }, (_, i) => client.send('POST', 'patients', { firstName: `Ada${i}`, lastName }))
  )
  return responses.map(({ data }) => data.id as string).sort()
}

/** The ids of a page; throws the gateway's error in place of a page, which alone explains a failed run. */
function listIds ({ status, data, text }: ClientResponse): string[] {
  if (status !== 200) throw new Error(`a search was answered ${status} ${text}`)
  return data.data.map(({ id }: { id: string }) => id)
}

async function testPages (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  t.strictSame((await client.send('GET', 'patients')).data, { data: [], total: 0, hasMore: false })
  const ids = await createPatients(client, 23)
  for (const [query, size] of [
    ['', 20],
    ['count=1', 1],
    ['count=7&sort=-firstName', 7],
    ['count=22', 22],
    ['count=23', 23],
    ['count=100&lastName=byr', 100]
  ] as const) {
    const seen: string[] = []
    let cursor = ''
    do {
      const page = await client.send('GET', `patients?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`)
      const left = ids.length - seen.length
      t.strictSame(
        { ...page.data, data: listIds(page).length, cursor: typeof page.data.cursor },
        { data: Math.min(size, left), total: 23, cursor: left > size ? 'string' : 'undefined', hasMore: left > size },
        `${query} from ${seen.length}`
      )
      seen.push(...listIds(page))
      cursor = page.data.cursor ?? ''
    } while (cursor !== '' && seen.length <= ids.length)
    t.strictSame(seen.sort(), ids, `${query}: nothing lost or doubled`)
  }
}

async function testFreshResults (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  const search = async () => listIds(await client.send('GET', 'patients?lastName=Fresh&sort=firstName'))
  const ids: string[] = []
  for (let i = 0; i < 5; i++) {
    t.strictSame((await search()).sort(), ids.toSorted())
    ids.push(...await createPatients(client, 1, 'Fresh'))
  }
  await client.send('PATCH', `patients/${ids[0]}`, { lastName: 'Stale' })
  t.strictSame((await search()).sort(), ids.slice(1).sort())
  await client.send('DELETE', `patients/${ids[1]}`)
  t.strictSame((await search()).sort(), ids.slice(2).sort())
}

async function testLargeCounts (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  await createPatients(client, 101)
  for (const count of ['101', '1000', '99999999999999999999']) {
    const { status, data, body: { meta } } = await client.send('GET', `patients?count=${count}`)
    t.strictSame([status, data.data.length, data.total, data.hasMore], [200, 100, 101, true], count)
    t.match(meta.warnings, [{ severity: 'warning', expression: ['count'], diagnostics: /at most 100/ }])
    const rest = await client.send('GET', `patients?count=${count}&cursor=${data.cursor}`)
    t.strictSame([rest.status, rest.data.data.length], [200, 1])
  }
  t.equal((await client.send('GET', 'patients?count=100')).body.meta.warnings, undefined)
}

async function testFullNames (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  const names = [
    { firstName: 'Amara', lastName: 'Okafor' },
    { firstName: 'Amara Chidi', lastName: 'Okafor' },
    { firstName: 'Mary Ann', lastName: 'van der Berg' },
    { firstName: 'Ann', lastName: 'Okafor' }
  ]
  for (const path of ['patients', 'practitioners', 'persons']) {
    const ids: string[] = []
    for (const name of names) ids.push((await client.send('POST', path, name)).data.id)
    const [amara, chidi, maryAnn, ann] = ids as [string, string, string, string]
    for (const [name, found] of [
      ['Amara Okafor', [amara, chidi]],
      ['okafor AMARA', [amara, chidi]],
      ['Ama  Oka', [amara, chidi]],
      ['Okafor Amara Chidi', [chidi]],
      ['Mary Ann van der Berg', [maryAnn]],
      ['van der Berg Mary Ann', [maryAnn]],
      ['Mary Ann', [maryAnn]],
      ['Okafor', [amara, chidi, ann]],
      ['Mary Okafor', []],
      ['Amara Amara van', []]
    ] as const) {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const query = new URLSearchParams({ name, count: '1', sort: '-name', ...cursor !== undefined && { cursor } })
        const { data } = await client.send('GET', `${path}?${query}`)
        t.equal(data.total, found.length, `${path}: total of ${name}`)
        seen.push(...data.data.map(({ id }: { id: string }) => id))
        cursor = data.cursor
      } while (cursor !== undefined && seen.length < 9)
      t.strictSame(seen.toSorted(), found.toSorted(), `${path}: ${name}`)
    }
  }
  const { data: { id } } = await client.send('POST', 'patients', { firstName: 'Ada', middleName: 'King', lastName: 'Noel' })
  t.strictSame(listIds(await client.send('GET', 'patients?name=Noel+King+Ada')), [id])
}

async function testDateSort (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  for (const { path } of mappings) {
    for (const sort of ['date', '-date']) {
      t.equal((await client.send('GET', `${path}?sort=${sort}`)).status, 200, `${path}?sort=${sort}`)
    }
  }
  const patientId = (await createPatients(client, 1))[0]!
  const times = ['2024-02-01T00:00:00Z', '2022-02-01T00:00:00Z', '2023-02-01T00:00:00Z']
  for (const start of times) await client.send('POST', 'encounters', { patientId, status: 'finished', period: { start } })
  const starts = async (sort: string): Promise<string[]> =>
    (await client.send('GET', `encounters?sort=${sort}`)).data.data.map(({ period }: any) => period.start)
  t.strictSame(await starts('date'), times.toSorted())
  t.strictSame(await starts('-date'), times.toSorted().reverse())
}

/** The ids on all pages of a search; each page has to have the same total. */
async function fetchAllIds (
  t: Test,
  client: Client,
  path: string,
  query: Readonly<Record<string, string>>
): Promise<string[]> {
  const seen: string[] = []
  const totals = new Set<number>()
  let next: Readonly<Record<string, string>> | undefined = query
  while (next !== undefined) {
    const { status, data, text } = await client.send('GET', `${path}?${new URLSearchParams(next)}`)
    if (status !== 200) throw new Error(text)
    seen.push(...data.data.map(({ id }: { id: string }) => id))
    totals.add(data.total)
    next = data.hasMore ? { cursor: data.cursor } : undefined
  }
  t.strictSame([...totals], [seen.length], new URLSearchParams(query).toString())
  return seen.toSorted()
}

async function testTextFilter (t: Test, gateway: TestGateway): Promise<void> {
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const make = async (who: Client, type: unknown): Promise<string> =>
    (await who.send('POST', 'organizations', { name: 'Clinic', type })).data.id
  const ids = [await make(client, ['prov']), await make(client, 'prov'), await make(client, ['a, b', 'prov'])]
  const coded = await make(client, { system: 'https://example.org/types', code: 'prov' })
  await make(client, ['provider'])
  await make(other, ['prov'])
  t.strictSame(await fetchAllIds(t, client, 'organizations', { type: 'prov', count: '1' }), [...ids, coded].toSorted())
  t.strictSame(await fetchAllIds(t, client, 'organizations', { type: 'a\\, b' }), [ids[2]])
  const { data } = await client.send('GET', `organizations/${ids[0]}`)
  t.strictSame(data.type, ['prov'], 'as it was sent')
  const { secret } = await gateway.createKey({ tenantId: client.tenantId })
  const fetchRawType = async () => (await gateway.inject({
    url: `/v1/fhir/Organization/${ids[0]}`,
    headers: { 'x-api-key': secret }
  })).json().type
  t.strictSame(await fetchRawType(), [{ text: 'prov', coding: [{ system: 'urn:clinigate:text', code: 'prov' }] }])
  await client.send('PATCH', `organizations/${ids[0]}`, { type: ['pay'] })
  t.strictSame(await fetchRawType(), [{ text: 'pay', coding: [{ system: 'urn:clinigate:text', code: 'pay' }] }])
  t.strictSame(await fetchAllIds(t, client, 'organizations', { type: 'pay' }), [ids[0]])
  t.strictSame(await fetchAllIds(t, client, 'organizations', { type: 'prov' }), [...ids.slice(1), coded].toSorted())
  await client.send('PATCH', `organizations/${ids[0]}`, { type: [{ system: 'https://example.org/types', code: 'x' }] })
  t.strictSame(await fetchRawType(), [{ coding: [{ system: 'https://example.org/types', code: 'x' }] }], 'a code needs no other')
}

async function testFilterChecks (t: Test, gateway: TestGateway): Promise<void> {
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const make = async (who: Client, path: string, body: object): Promise<string> => {
    const { status, data, text } = await who.send('POST', path, body)
    if (status !== 201) throw new Error(text)
    return data.id
  }
  const patientId = (await createPatients(client, 1))[0]!
  const charge = (status: string) => make(client, 'charge-items', { patientId, code: 'visit', status })
  const billable: string[] = []
  for (const status of ['billable', 'billed', 'billable', 'planned', 'billable']) {
    const id = await charge(status)
    if (status === 'billable') billable.push(id)
  }
  const theirs = (await createPatients(other, 1))[0]!
  await make(other, 'charge-items', { patientId: theirs, code: 'visit', status: 'billable' })
  const pages: Array<Record<string, string>> =
    [{}, { count: '1' }, { count: '2', sort: '-updatedSince' }, { count: '3', patientId }]
  for (const more of pages) {
    t.strictSame(await fetchAllIds(t, client, 'charge-items', { status: 'billable', ...more }), billable.toSorted())
  }
  t.equal((await fetchAllIds(t, client, 'charge-items', { status: 'billable,billed', code: 'visit', count: '3' })).length, 4)
  await client.send('PATCH', `charge-items/${billable[0]}`, { status: 'billed' })
  t.strictSame(await fetchAllIds(t, client, 'charge-items', { status: 'billable' }), billable.slice(1).toSorted())
  const { data: { cursor } } = await client.send('GET', 'charge-items?status=billable&count=1')
  for (const [who, query] of [
    [client, 'status=billed&'],
    [client, 'status=billable&code=visit&'],
    [other, ''],
    [other, 'status=billable&']
  ] as const) {
    t.match((await who.send('GET', `charge-items?${query}cursor=${cursor}`)).body, { code: 'INVALID_CURSOR' })
  }
  t.match((await client.send('GET', 'charge-items?sort=status')).body, { code: 'BAD_REQUEST' })
  t.match((await client.send('GET', 'charge-items?status=x')).body, { code: 'BAD_REQUEST', message: /billable/ })

  const doctor = await make(client, 'practitioners', {
    lastName: 'Hopper',
    qualifications: [{ name: 'Cardiology' }, { name: { system: 'https://example.org', code: 'card' } }]
  })
  for (const specialty of ['Cardiology', 'card', 'https://example.org|card']) {
    t.strictSame(await fetchAllIds(t, client, 'practitioners', { specialty }), [doctor], specialty)
  }
  const plan = await make(client, 'care-plans', { patientId, status: 'active', intent: 'plan', authorId: doctor })
  for (const authorId of [doctor, `Practitioner/${doctor}`]) {
    t.strictSame(await fetchAllIds(t, client, 'care-plans', { authorId }), [plan])
  }
  t.strictSame(await fetchAllIds(t, client, 'care-plans', { authorId: `Patient/${doctor}` }), [])
  const known = await make(client, 'medication-knowledge', { code: 'ASA', manufacturer: 'Bäyer AG' })
  t.strictSame(await fetchAllIds(t, client, 'medication-knowledge', { manufacturer: 'bay' }), [known])
  const study = await make(client, 'imaging-studies', { patientId, status: 'available', modality: ['CT'] })
  t.strictSame(await fetchAllIds(t, client, 'imaging-studies', { modality: 'CT' }), [study])
  const person = await make(client, 'persons', { lastName: 'Noel', active: false })
  t.strictSame(await fetchAllIds(t, client, 'persons', { active: 'false' }), [person])
}

async function testBoundCursors (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  const [sameTenant, otherMode, otherTenant] = [
    await createGatewayClient(gateway, { tenantId: client.tenantId }),
    await createGatewayClient(gateway, { tenantId: client.tenantId, mode: 'live' }),
    await createGatewayClient(gateway)
  ]
  await createPatients(client, 5)
  const query = 'lastName=Byron&count=2'
  const { cursor } = (await client.send('GET', `patients?${query}`)).data as { cursor: string }
  for (const [who, path] of [
    [client, `patients?${query}&cursor=${cursor}`],
    [client, `patients?cursor=${cursor}`],
    [sameTenant, `patients?count=2&lastName=Byron&cursor=${cursor}`]
  ] as const) {
    t.equal(listIds(await who.send('GET', path)).length, 2)
  }
  const flipped = cursor.slice(0, 40) + (cursor[40] === 'A' ? 'B' : 'A') + cursor.slice(41)
  const misuses: Array<[Client, string]> = [
    ...[
      '',
      'x',
      cursor.slice(1),
      `${cursor}A`,
      `${cursor}=`,
      flipped,
      'A'.repeat(cursor.length),
      'https://example.org/fhir?_getpages=1',
      '../Patient'
    ].map(forged => [client, `patients?cursor=${encodeURIComponent(forged)}`] as [Client, string]),
    [otherTenant, `patients?cursor=${cursor}`],
    [otherMode, `patients?cursor=${cursor}`],
    [client, `practitioners?cursor=${cursor}`],
    [client, `patients?lastName=Other&count=2&cursor=${cursor}`],
    [client, `patients?${query}&sort=lastName&cursor=${cursor}`],
    [client, `patients?lastName=Byron&count=3&cursor=${cursor}`]
  ]
  const responses = await Promise.all(misuses.map(([who, path]) => who.send('GET', path)))
  for (const [i, { body }] of responses.entries()) {
    t.match(
      body,
      { data: null, code: 'INVALID_CURSOR', issues: [], meta: { status: 400 } },
      misuses[i]![1].slice(0, 60)
    )
  }
  t.equal(new Set(responses.map(({ body }) => body.message)).size, 1, 'one text for all')
}

async function testStrictQueries (t: Test, gateway: TestGateway): Promise<void> {
  const client = await createGatewayClient(gateway)
  await createPatients(client, 1)
  const refused: Array<[query: string, code: string, message: RegExp]> = [
    ['lastname=Byron', 'UNKNOWN_FILTER', /lastName/],
    ['birthdat=1990', 'UNKNOWN_FILTER', /birthDate/],
    ['_count=5', 'UNKNOWN_FILTER', /count/],
    ['family=Byron', 'UNKNOWN_FILTER', /_?family/],
    ['_tag=urn:clinigate:tenant%7Cx', 'UNKNOWN_FILTER', /./],
    ['__proto__=1', 'UNKNOWN_FILTER', /./],
    ['constructor=1', 'UNKNOWN_FILTER', /./],
    ['name:exact=x', 'BAD_REQUEST', /name/],
    ['gender:text=x', 'BAD_REQUEST', /gender/],
    ['generalPractitionerId.name=x', 'UNKNOWN_FILTER', /./],
    ['lastName=', 'BAD_REQUEST', /lastName/],
    ['lastName=a&lastName=b', 'BAD_REQUEST', /lastName/],
    ['birthDate=yesterday', 'BAD_REQUEST', /birthDate/],
    ['active=maybe', 'BAD_REQUEST', /active/],
    ['generalPractitionerId=Group/1', 'BAD_REQUEST', /generalPractitionerId/],
    ['generalPractitionerId=a%2Fb%2Fc', 'BAD_REQUEST', /generalPractitionerId/],
    ['updatedSince=now', 'BAD_REQUEST', /updatedSince/],
    ['updatedSince=2016-12-31T23:59:60Z', 'BAD_REQUEST', /updatedSince: servers cannot search by a leap second/],
    ['count=0', 'BAD_REQUEST', /count/],
    ['count=many', 'BAD_REQUEST', /count/],
    ['name=%20', 'BAD_REQUEST', /name/],
    [`name=${'a%20'.repeat(21)}`, 'BAD_REQUEST', /at most 20 words/],
    ['count=1e1', 'BAD_REQUEST', /count/],
    ['count=-1', 'BAD_REQUEST', /count/],
    ['sort=photo', 'BAD_REQUEST', /sort/],
    ['sort=', 'BAD_REQUEST', /sort/],
    ['sort=--name', 'BAD_REQUEST', /sort/],
    ['lastName=%ff', 'BAD_REQUEST', /UTF-8/],
    ['lastName=%00', 'BAD_REQUEST', /./],
    [`lastName=${'x'.repeat(2001)}`, 'BAD_REQUEST', /lastName/]
  ]
  for (const [query, code, message] of refused) {
    const { status, body } = await client.send('GET', `patients?${query}`)
    t.match({ status, body }, { status: 400, body: { data: null, code, message } }, query.slice(0, 40))
  }
  for (const [method, path] of [
    ['POST', 'patients?active=true'],
    ['GET', 'patients/1?x=1'],
    ['PATCH', 'patients/1?count=1'],
    ['DELETE', 'patients/1?cascade=true']
  ] as const) {
    t.match(
      (await client.send(method, path, method === 'GET' || method === 'DELETE' ? undefined : {})).body,
      { code: 'BAD_REQUEST', meta: { status: 400 } },
      `${method} ${path}`
    )
  }
  t.equal((await client.send('GET', 'patients')).data.total, 1)
}
