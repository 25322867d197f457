import Database from 'better-sqlite3'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSandbox } from '../../src/sandbox/sandbox.js'
import { sender, serverUnderTest, type Answer } from './server-under-test.js'

const server = await serverUnderTest(t)
const { send, run, url } = server
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const id = (name: string) => `${run}-${name}`
const patient = (name: string, more = {}) => ({ resourceType: 'Patient', id: id(name), ...more })
const observation = (subject: string, more = {}) => ({ resourceType: 'Observation', status: 'final', code: { text: 'x' }, subject: { reference: subject }, ...more })
const tag = (code: string) => ({ meta: { tag: [{ system: 'urn:test:tag', code }] } })
const identified = (value: string) => ({ identifier: [{ system: 'http://mrn', value: id(value) }] })

async function put (name: string, more = {}, headers = {}): Promise<Answer> {
  return await send('PUT', `/Patient/${id(name)}`, patient(name, more), headers)
}

function tags ({ resource }: Answer): string[] {
  return resource.meta.tag.map((tag: any) => tag.code).sort()
}

function isRefused (t: Test, answer: Answer, status: number | readonly number[], message: string): void {
  t.ok([status].flat().includes(answer.status), `${message}: ${answer.status}`)
  t.equal(answer.resource?.resourceType, 'OperationOutcome', message)
}

t.test('a created resource has an id, a version and a time of the server, whatever the client says of them', async t => {
  const answer = await send('POST', '/Patient', { resourceType: 'Patient', id: 'mine', meta: { versionId: '7', lastUpdated: '2000-01-01T00:00:00Z' }, active: true })
  t.equal(answer.status, 201)
  t.match(answer.resource, { resourceType: 'Patient', active: true, meta: { versionId: '1' } })
  t.not(answer.resource.id, 'mine')
  if (server.isSandbox) t.match(answer.resource.id, uuid)
  t.ok(Date.now() - Date.parse(answer.resource.meta.lastUpdated) < 60_000)
  t.equal(answer.headers.get('etag'), 'W/"1"')
  t.equal(answer.headers.get('location'), `${url}/Patient/${answer.resource.id}/_history/1`)
  t.ok(Date.now() - Date.parse(String(answer.headers.get('last-modified'))) < 60_000)
  t.match(answer.headers.get('content-type'), /^application\/fhir\+json/)
  const read = await send('GET', `/Patient/${answer.resource.id}`)
  t.equal(read.status, 200)
  t.same({ ...read.resource, meta: undefined }, { ...answer.resource, meta: undefined })
  t.equal(read.headers.get('etag'), 'W/"1"')
})

t.test('a number keeps its text in every answer', async t => {
  const text = JSON.stringify({ ...observation(`Patient/${id('number')}`), id: id('number'), valueQuantity: { value: 0 } }).replace('"value":0', '"value":1.10')
  await put('number')
  for (const answer of [
    await send('PUT', `/Observation/${id('number')}`, text),
    await send('GET', `/Observation/${id('number')}`),
    await send('GET', `/Observation/${id('number')}/_history`),
    await send('GET', `/Observation?_id=${id('number')}`),
    await send('GET', `/Observation?_id=${id('number')}&value-quantity=1.1&_elements=value`),
    await send('POST', '', { resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET', url: `Observation/${id('number')}` } }] })
  ]) t.match(answer.text, /"value":\s*1\.10\b/)
  const bundle = await send('POST', '', `{"resourceType":"Bundle","type":"transaction","entry":[{"resource":${text.replace('1.10', '1.200')},"request":{"method":"PUT","url":"Observation/${id('number')}"}}]}`)
  t.equal(bundle.status, 200)
  t.match((await send('GET', `/Observation/${id('number')}`)).text, /"value":\s*1\.200\b/)
})

t.test('an update makes the next version; every version can be read', async t => {
  t.equal((await put('versions', { active: true })).status, 201)
  const second = await put('versions', { active: false })
  t.equal(second.status, 200)
  t.equal(second.headers.get('etag'), 'W/"2"')
  t.equal((await send('GET', `/Patient/${id('versions')}/_history/1`)).resource.active, true)
  t.equal((await send('GET', `/Patient/${id('versions')}/_history/2`)).resource.active, false)
  isRefused(t, await send('GET', `/Patient/${id('versions')}/_history/3`), 404, 'a version that is not there')
  isRefused(t, await send('GET', `/Patient/${id('versions')}/_history/x`), 404, 'a version that is none')
})

t.test('an update that changes nothing makes no version', async t => {
  await put('same', { active: true, ...tag('a') })
  const again = await put('same', { active: true })
  t.equal(again.status, 200)
  t.equal(again.resource.meta.versionId, '1')
})

t.test('tags are added by an update and never taken away', async t => {
  await put('tags', tag('a'))
  t.same(tags(await put('tags', { active: true })), ['a'])
  t.same(tags(await put('tags', { active: true, ...tag('b') })), ['a', 'b'])
  await send('DELETE', `/Patient/${id('tags')}`)
  const back = await put('tags', { active: true, ...tag('c') })
  t.equal(back.status, 201)
  t.same(tags(back), ['a', 'b', 'c'])
  t.equal(back.resource.meta.versionId, '5')
})

t.test('an update on another version than the newest changes nothing', async t => {
  await put('if-match', { active: true })
  await put('if-match', { active: false })
  isRefused(t, await put('if-match', { gender: 'male' }, { 'if-match': 'W/"1"' }), server.isSandbox ? 412 : 409, 'stale')
  t.equal((await send('GET', `/Patient/${id('if-match')}`)).resource.meta.versionId, '2')
  t.equal((await put('if-match', { gender: 'male' }, { 'if-match': 'W/"2"' })).status, 200)
})

t.test('of updates on one version at the same time exactly one is made', async t => {
  await put('race')
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => put('race', { birthDate: `200${i}` }, { 'if-match': 'W/"1"' })))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
})

t.test('a deleted resource is gone, its history is not, and deleting again is no mistake', async t => {
  await put('gone', { active: true })
  const deleted = await send('DELETE', `/Patient/${id('gone')}`)
  t.equal(deleted.status, 200)
  t.equal(deleted.resource.resourceType, 'OperationOutcome')
  isRefused(t, await send('GET', `/Patient/${id('gone')}`), 410, 'read')
  isRefused(t, await send('GET', `/Patient/${id('gone')}/_history/2`), 410, 'the version of the deletion')
  t.equal((await send('GET', `/Patient?_id=${id('gone')}`)).resource.entry, undefined)
  t.equal((await send('GET', `/Patient/${id('gone')}/_history/1`)).resource.active, true)
  t.equal((await send('DELETE', `/Patient/${id('gone')}`)).status, 200)
  t.equal((await send('DELETE', `/Patient/${id('never')}`)).status, 200)
})

t.test('a history tells every version, the newest first, in pages', async t => {
  await put('history', { active: true })
  await put('history', { active: false })
  await send('DELETE', `/Patient/${id('history')}`)
  const { resource } = await send('GET', `/Patient/${id('history')}/_history`)
  t.match(resource, { resourceType: 'Bundle', type: 'history', total: 3 })
  t.same(resource.entry.map((entry: any) => entry.request.method).slice(0, 2), ['DELETE', 'PUT'])
  t.same(resource.entry.map((entry: any) => entry.response.etag), ['W/"3"', 'W/"2"', 'W/"1"'])
  t.same(resource.entry.map((entry: any) => entry.resource?.active), [undefined, false, true])
  const page = await send('GET', `/Patient/${id('history')}/_history?_count=2`)
  const next = page.resource.link.find((link: any) => link.relation === 'next').url.slice(url.length)
  t.equal((await send('GET', next)).resource.entry[0].response.etag, 'W/"1"')
  isRefused(t, await send('GET', `/Patient/${id('never')}/_history`), 404, 'no history')
})

t.test('a read of chosen elements keeps the whole meta', async t => {
  await put('elements', { active: true, deceasedBoolean: false, gender: 'male', ...tag('a') })
  const { resource } = await send('GET', `/Patient/${id('elements')}?_elements=meta`)
  t.same(Object.keys(resource).sort(), ['id', 'meta', 'resourceType'])
  const chosen = await send('GET', `/Patient/${id('elements')}?_elements=active,deceased`)
  t.same(Object.keys(chosen.resource).sort(), ['active', 'deceasedBoolean', 'id', 'meta', 'resourceType'])
  t.same(resource.meta.tag.map((tag: any) => tag.code), ['a', 'SUBSETTED'])
})

t.test('a body that is not the resource of the URL is refused', async t => {
  for (const [method, path, body] of [
    ['POST', '/Observation', patient('x')],
    ['POST', '/Patient', ''],
    ['POST', '/Patient', '[]'],
    ['POST', '/Patient', '{"resourceType'],
    ['POST', '/Patient', `{"resourceType":"Patient","contained":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
    ['PUT', `/Patient/${id('x')}`, { resourceType: 'Patient' }],
    ['PUT', `/Patient/${id('x')}`, patient('y')],
    ['PUT', `/Patient/${id('x')}`, { resourceType: 'Observation', id: id('x') }],
    ['PUT', '/Patient/a_b', { resourceType: 'Patient', id: 'a_b' }],
    ['PUT', '/Patient/12345', { resourceType: 'Patient', id: '12345' }]
  ] as const) isRefused(t, await send(method, path, body), 400, `${method} ${path}`)
})

t.test('a reference leads to a resource of this server, or the write is refused', async t => {
  await put('target')
  for (const reference of ['Patient/none', 'http://elsewhere/Patient/1', `${url}/Patient/${id('target')}`, 'urn:uuid:6f2c1d5e-0000-4000-8000-000000000000', id('target'), 'Nope/1']) {
    isRefused(t, await send('POST', '/Observation', observation(reference)), [400, 422], reference)
  }
  for (const reference of [`Patient/${id('target')}`, `Patient/${id('target')}/_history/1`]) {
    t.equal((await send('POST', '/Observation', observation(reference))).status, 201, reference)
  }
  const contained = [{ resourceType: 'Patient', id: 'c', managingOrganization: { reference: 'Organization/none' } }]
  t.equal((await send('POST', '/Observation', observation('#c', { contained }))).status, 201, 'what is contained is not followed')
})

t.test('what another resource refers to is not deleted', async t => {
  await put('pinned')
  const referring = await send('POST', '/Observation', observation(`Patient/${id('pinned')}`))
  isRefused(t, await send('DELETE', `/Patient/${id('pinned')}`), 409, 'pinned')
  t.equal((await send('GET', `/Patient/${id('pinned')}`)).status, 200)
  await send('DELETE', `/Observation/${referring.resource.id}`)
  t.equal((await send('DELETE', `/Patient/${id('pinned')}`)).status, 200)
})

t.test('a search finds what a resource says now, no longer what it said', async t => {
  const found = async (query: string) => (await send('GET', `/Patient?_id=${id('now')}&${query}`)).resource.total
  await put('now', { gender: 'male' })
  t.equal(await found('gender=male&_total=accurate'), 1)
  await put('now', { gender: 'female' })
  t.equal(await found('gender=male&_total=accurate'), 0)
  t.equal(await found('gender=female&_total=accurate'), 1)
})

t.test('a conditional create, update or delete acts on the one match', async t => {
  const criteria = `identifier=${encodeURIComponent(`http://mrn|${id('one')}`)}`
  const made = await send('POST', '/Patient', { resourceType: 'Patient', ...identified('one') }, { 'if-none-exist': criteria })
  t.equal(made.status, 201)
  const found = await send('POST', '/Patient', { resourceType: 'Patient', ...identified('one') }, { 'if-none-exist': `Patient?${criteria}` })
  t.equal(found.status, 200)
  t.equal(found.resource.id, made.resource.id)
  const updated = await send('PUT', `/Patient?${criteria}`, { resourceType: 'Patient', active: true, ...identified('one') })
  t.equal(updated.status, 200)
  t.equal(updated.resource.id, made.resource.id)
  t.equal((await send('PUT', `/Patient?identifier=${id('two')}`, { resourceType: 'Patient', ...identified('two') })).status, 201, 'an update without a match creates')
  t.equal((await send('DELETE', `/Patient?identifier=${id('two')}`)).status, 200)
  const nothing = await send('DELETE', `/Patient?identifier=${id('two')}`)
  t.match(nothing.resource.issue, [{ severity: 'warning', code: 'not-found' }])
})

t.test('a conditional request with several matches or without a criterion changes nothing', async t => {
  const criteria = `identifier=${id('twice')}`
  for (let i = 0; i < 2; i++) await send('POST', '/Patient', { resourceType: 'Patient', ...identified('twice') })
  isRefused(t, await send('POST', '/Patient', { resourceType: 'Patient' }, { 'if-none-exist': criteria }), 412, 'create')
  isRefused(t, await send('PUT', `/Patient?${criteria}`, { resourceType: 'Patient', active: true }), 412, 'update')
  isRefused(t, await send('DELETE', `/Patient?${criteria}`), 412, 'delete')
  isRefused(t, await send('PUT', '/Patient', { resourceType: 'Patient' }), 400, 'update of any')
  isRefused(t, await send('DELETE', '/Patient'), 400, 'delete of all')
  isRefused(t, await send('POST', '/Patient', { resourceType: 'Patient' }, { 'if-none-exist': 'nonsense=1' }), 400, 'an unknown criterion')
  t.equal((await send('GET', `/Patient?${criteria}&_total=accurate`)).resource.total, 2)
})

const entry = (method: string, url: string, resource?: object, more: object = {}) => ({ ...(resource && { resource }), ...more, request: { method, url } })
const bundle = (type: string, ...entry: object[]) => ({ resourceType: 'Bundle', type, entry })
const urn = 'urn:uuid:6f2c1d5e-0000-4000-8000-000000000001'

t.test('the entries of a transaction refer to each other by urn, in any order', async t => {
  const answer = await send('POST', '', bundle('transaction',
    entry('GET', `Patient?_id=${id('tx')}`),
    entry('POST', 'Observation', observation(urn)),
    entry('POST', 'Patient', { resourceType: 'Patient' }, { fullUrl: urn }),
    entry('PUT', `Patient/${id('tx')}`, patient('tx', { link: [{ other: { reference: urn }, type: 'seealso' }] }))
  ))
  t.equal(answer.status, 200)
  t.equal(answer.resource.type, 'transaction-response')
  const [searched, observed, created, updated] = answer.resource.entry
  t.equal(searched.resource.entry.length, 1, 'reads see what the transaction wrote')
  t.same([observed, created, updated].map(({ response }) => response.status), Array(3).fill('201 Created'))
  const target = created.response.location.split('/').slice(0, 2).join('/')
  t.equal((await send('GET', `/${observed.response.location}`)).resource.subject.reference, target)
  t.equal((await send('GET', `/Patient/${id('tx')}`)).resource.link[0].other.reference, target)
})

t.test('a transaction that fails anywhere leaves nothing behind', async t => {
  await put('stays', { active: true })
  const failing: Array<[object, number | number[]]> = [
    [entry('POST', 'Observation', observation('Patient/none')), 400],
    [{ resource: patient('stays', { active: false }), request: { method: 'PUT', url: `Patient/${id('stays')}`, ifMatch: 'W/"9"' } }, [409, 412]],
    [entry('PUT', `Patient/${id('rolled-back')}`, patient('rolled-back', { active: true })), 400]
  ]
  for (const [bad, status] of failing) {
    isRefused(t, await send('POST', '', bundle('transaction', entry('PUT', `Patient/${id('rolled-back')}`, patient('rolled-back')), bad)), status, JSON.stringify(bad))
    isRefused(t, await send('GET', `/Patient/${id('rolled-back')}`), 404, 'nothing is left')
    t.equal((await send('GET', `/Patient?_id=${id('rolled-back')}&_total=accurate`)).resource.total, 0)
  }
})

t.test('a read that fails does not undo a transaction', async t => {
  const { status, resource } = await send('POST', '', bundle('transaction', entry('GET', 'Patient/none'), entry('PUT', `Patient/${id('read-failed')}`, patient('read-failed'))))
  t.equal(status, 200)
  t.same(resource.entry.map(({ response }: any) => response.status), ['404 Not Found', '201 Created'])
})

t.test('a transaction deletes a resource together with what refers to it', async t => {
  await put('both')
  const { resource } = await send('POST', '/Observation', observation(`Patient/${id('both')}`))
  const answer = await send('POST', '', bundle('transaction', entry('DELETE', `Patient/${id('both')}`), entry('DELETE', `Observation/${resource.id}`)))
  t.equal(answer.status, 200)
  t.equal((await send('GET', `/Patient/${id('both')}`)).status, 410)
})

t.test('a transaction creates what is not there yet, and refers to what is', async t => {
  const create = { fullUrl: urn, resource: { resourceType: 'Patient', ...identified('maybe') }, request: { method: 'POST', url: 'Patient', ifNoneExist: `identifier=${id('maybe')}` } }
  const body = bundle('transaction', create, entry('POST', 'Observation', observation(urn)))
  const { resource: { entry: first } } = await send('POST', '', body)
  const { resource: { entry: second } } = await send('POST', '', body)
  t.same([first[0].response.status, second[0].response.status], ['201 Created', '200 OK'])
  t.equal((await send('GET', `/${second[1].response.location}`)).resource.subject.reference, first[0].response.location.split('/').slice(0, 2).join('/'))
})

t.test('the entries of a batch fail each for itself', async t => {
  const { status, resource } = await send('POST', '', bundle('batch',
    entry('PUT', `Patient/${id('batch')}`, patient('batch')),
    entry('GET', `Patient/${id('never')}`),
    entry('POST', 'Observation', observation('Patient/none')),
    entry('GET', `Patient?_id=${id('batch')}`)
  ))
  t.equal(status, 200)
  t.equal(resource.type, 'batch-response')
  t.same(resource.entry.map(({ response }: any) => response.status.slice(0, 3)), ['201', '404', '400', '200'])
  t.equal(resource.entry[1].response.outcome.resourceType, 'OperationOutcome')
  t.equal(resource.entry[3].resource.entry.length, 1)
})

t.test('a Bundle shows what it wrote when it is asked to', async t => {
  const body = bundle('transaction', entry('POST', 'Patient', { resourceType: 'Patient', active: true }))
  t.equal((await send('POST', '', body)).resource.entry[0].resource, undefined)
  t.equal((await send('POST', '', body, { prefer: 'return=representation' })).resource.entry[0].resource.active, true)
  t.equal((await send('POST', '/Patient', { resourceType: 'Patient' }, { prefer: 'return=minimal' })).text, '')
})

t.test('a Bundle that is no batch or transaction is refused', async t => {
  for (const body of [bundle('collection'), bundle('batch-response'), patient('x')]) isRefused(t, await send('POST', '', body), 400, JSON.stringify(body))
})

t.test('what the server can do is stated', async t => {
  const { status, resource } = await send('GET', '/metadata')
  t.equal(status, 200)
  t.match(resource, { resourceType: 'CapabilityStatement', fhirVersion: '4.0.1' })
  const types = resource.rest[0].resource.map(({ type }: any) => type)
  t.equal(types.length, 146)
  if (server.isSandbox) t.equal(resource.software.name, 'clinigate sandbox')
})

t.test('unknown ids and types are not found; HEAD tells the version without a body', async t => {
  isRefused(t, await send('GET', `/Patient/${id('never')}`), 404, 'id')
  isRefused(t, await send('GET', '/Nope/1'), 404, 'type')
  isRefused(t, await send('GET', '/patient/1'), 404, 'another case')
  await put('head')
  const head = await send('HEAD', `/Patient/${id('head')}`)
  t.equal(head.status, 200)
  t.equal(head.headers.get('etag'), 'W/"1"')
  t.equal(head.text, '')
})

t.test('the sandbox alone', { skip: !server.isSandbox }, async t => {
  t.test('a delete on another version than the newest deletes nothing', async t => {
    await put('kept', { active: true })
    isRefused(t, await send('DELETE', `/Patient/${id('kept')}`, undefined, { 'if-match': 'W/"2"' }), 412, 'stale')
    t.equal((await send('DELETE', `/Patient/${id('kept')}`, undefined, { 'if-match': 'W/"1"' })).status, 200)
    isRefused(t, await put('kept', { active: true }, { 'if-match': 'W/"2"' }), 412, 'a deleted resource has no version to update')
  })

  t.test('what it does not offer it refuses', async t => {
    isRefused(t, await send('POST', '/Patient/_search', '{}'), 415, 'a search that is no form')
    isRefused(t, await send('POST', '/Patient', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }), 415, 'a form that is no search')
    isRefused(t, await send('POST', '/Patient', '<Patient/>', { 'content-type': 'application/fhir+xml' }), 415, 'XML')
    isRefused(t, await send('POST', '/Patient', `"${'x'.repeat(17 * 1024 * 1024)}"`), 413, 'more than 16 MiB')
    isRefused(t, await send('POST', '/Patient/1', {}), 405, 'a method')
    isRefused(t, await send('GET', '/Patient/1/$everything'), 404, 'an operation')
    isRefused(t, await send('GET', '?_id=1'), 404, 'a search of all types')
    for (const meta of ['x', { tag: 'x' }, { tag: [null] }]) isRefused(t, await send('POST', '/Patient', { resourceType: 'Patient', meta }), 400, 'a meta that is none')
    isRefused(t, await put('if-match', {}, { 'if-match': '3' }), 412, 'an If-Match that is no ETag')
    isRefused(t, await send('POST', '/Patient', { resourceType: 'Patient' }, { 'if-none-exist': '_sort=name' }), 400, 'a condition that selects nothing')
    isRefused(t, await send('POST', '', bundle('transaction', entry('constructor', 'Patient'))), 405, 'a method of a Bundle that is none')
    isRefused(t, await send('POST', '', bundle('transaction', {})), 400, 'an entry without request')
    isRefused(t, await send('POST', '', bundle('transaction', entry('POST', '', bundle('batch')))), 404, 'a Bundle in a Bundle')
    isRefused(t, await send('GET', '/Patient/%E0%A4'), 400, 'a broken encoding')
    isRefused(t, await send('POST', '', bundle('transaction', entry('GET', 'Patient/%E0%A4'))), 400, 'a broken encoding in a Bundle')
    const elsewhere = await fetch(url.replace('/fhir', '/other'))
    t.equal(elsewhere.status, 404)
  })

  t.test('no answer repeats what was sent', async t => {
    for (const answer of [await send('GET', '/Patient?secret=1'), await send('GET', '/secret/1'), await send('GET', '/secret/%E0%A4'), await send('POST', '/Patient', '{"secret'), await send('POST', '/Patient', '{}', { 'content-type': 'text/secret' })]) {
      t.ok(answer.status >= 400)
      t.notMatch(answer.text, 'secret')
    }
  })

  t.test('resources outlive a restart, in a file of the same version only', async t => {
    const file = join(t.testdir(), 'sandbox.db')
    const first = await startSandbox({ file })
    await sender(first.url)('PUT', '/Patient/p', { resourceType: 'Patient', id: 'p', gender: 'male' })
    await first.close()
    const second = await startSandbox({ file })
    t.equal((await sender(second.url)('GET', '/Patient?gender=male')).resource.total, 1)
    await second.close()
    const db = new Database(file)
    db.pragma('user_version = 99')
    db.close()
    await t.rejects(startSandbox({ file }), /version 99/)
  })

  t.test('two run side by side and share nothing; times and ids are those given', async t => {
    const now = () => new Date('2026-01-02T03:04:05.678Z')
    const other = await startSandbox({ file: ':memory:', now, newId: () => 'given' })
    t.teardown(() => other.close())
    const made = await sender(other.url)('POST', '/Patient', { resourceType: 'Patient' })
    t.match(made.resource, { id: 'given', meta: { lastUpdated: '2026-01-02T03:04:05.678Z' } })
    isRefused(t, await send('GET', '/Patient/given'), 404, 'the other one')
    await t.rejects(startSandbox({ file: ':memory:', port: Number(new URL(other.url).port) }), { code: 'EADDRINUSE' })
  })
})
