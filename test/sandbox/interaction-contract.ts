import type { Test } from 'tap'
import { bundle, entry, requireRejected, Server, type TestResponse } from './server.js'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * How resources are written, read and deleted, alone and in Bundles. A real HAPI behaves like the sandbox, but for
 * where `isSandbox` distinguishes them.
 */
export async function interactionContract (t: Test, url: string, { isSandbox }: { isSandbox: boolean }): Promise<void> {
  const server = new Server(url)
  const id = (name: string) => server.id(name)
  const patient = (name: string, more = {}) => ({ resourceType: 'Patient', id: id(name), ...more })
  const observation = (subject: string, more = {}) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: subject },
    ...more
  })
  const tag = (code: string) => ({ meta: { tag: [{ system: 'urn:test:tag', code }] } })
  const buildIdentifier = (value: string) => ({ identifier: [{ system: 'http://mrn', value: id(value) }] })

  async function put (name: string, more = {}, headers = {}): Promise<TestResponse> {
    return await server.send('PUT', `/Patient/${id(name)}`, patient(name, more), headers)
  }

  function listTags ({ resource }: TestResponse): string[] {
    return resource.meta.tag.map((tag: any) => tag.code).sort()
  }

  t.test(
    'a created resource has an id, a version and a time of the server, whatever the client sends for them',
    async t => {
      const response = await server.send('POST', '/Patient', {
        resourceType: 'Patient',
        id: 'mine',
        meta: { versionId: '7', lastUpdated: '2000-01-01T00:00:00Z' },
        active: true
      })
      t.equal(response.status, 201)
      t.match(response.resource, { resourceType: 'Patient', active: true, meta: { versionId: '1' } })
      t.not(response.resource.id, 'mine')
      if (isSandbox) t.match(response.resource.id, uuid)
      t.ok(Date.now() - Date.parse(response.resource.meta.lastUpdated) < 60_000)
      t.equal(response.headers.get('etag'), 'W/"1"')
      t.equal(response.headers.get('location'), `${url}/Patient/${response.resource.id}/_history/1`)
      t.ok(Date.now() - Date.parse(String(response.headers.get('last-modified'))) < 60_000)
      t.match(response.headers.get('content-type'), /^application\/fhir\+json/)
      const read = await server.send('GET', `/Patient/${response.resource.id}`)
      t.equal(read.status, 200)
      t.same({ ...read.resource, meta: undefined }, { ...response.resource, meta: undefined })
      t.equal(read.headers.get('etag'), 'W/"1"')
    }
  )

  t.test('a number preserves its text in every response', async t => {
    const text = JSON.stringify({
      ...observation(`Patient/${id('number')}`),
      id: id('number'),
      valueQuantity: { value: 0 }
    }).replace('"value":0', '"value":1.10')
    await put('number')
    for (const response of [
      await server.send('PUT', `/Observation/${id('number')}`, text),
      await server.send('GET', `/Observation/${id('number')}`),
      await server.send('GET', `/Observation/${id('number')}/_history`),
      await server.send('GET', `/Observation?_id=${id('number')}`),
      await server.send('GET', `/Observation?_id=${id('number')}&value-quantity=1.1&_elements=value`),
      await server.send('POST', '', {
        resourceType: 'Bundle',
        type: 'batch',
        entry: [{ request: { method: 'GET', url: `Observation/${id('number')}` } }]
      })
    ]) {
      t.match(response.text, /"value":\s*1\.10\b/)
    }
    const bundle = await server.send(
      'POST',
      '',
      `{"resourceType":"Bundle","type":"transaction","entry":[{"resource":${text.replace('1.10', '1.200')},"request":{"method":"PUT","url":"Observation/${id('number')}"}}]}`
    )
    t.equal(bundle.status, 200)
    t.match((await server.send('GET', `/Observation/${id('number')}`)).text, /"value":\s*1\.200\b/)
  })

  t.test('an update creates the next version; every version can be read', async t => {
    t.equal((await put('versions', { active: true })).status, 201)
    const second = await put('versions', { active: false })
    t.equal(second.status, 200)
    t.equal(second.headers.get('etag'), 'W/"2"')
    t.equal((await server.send('GET', `/Patient/${id('versions')}/_history/1`)).resource.active, true)
    t.equal((await server.send('GET', `/Patient/${id('versions')}/_history/2`)).resource.active, false)
    requireRejected(t, await server.send('GET', `/Patient/${id('versions')}/_history/3`), 404, 'a version that is not there')
    requireRejected(t, await server.send('GET', `/Patient/${id('versions')}/_history/x`), 404, 'a version that is none')
  })

  t.test('an update without changes creates no version', async t => {
    await put('same', { active: true, ...tag('a') })
    const again = await put('same', { active: true })
    t.equal(again.status, 200)
    t.equal(again.resource.meta.versionId, '1')
  })

  t.test('tags are added by an update and never removed', async t => {
    await put('tags', tag('a'))
    t.same(listTags(await put('tags', { active: true })), ['a'])
    t.same(listTags(await put('tags', { active: true, ...tag('b') })), ['a', 'b'])
    await server.send('DELETE', `/Patient/${id('tags')}`)
    const back = await put('tags', { active: true, ...tag('c') })
    t.equal(back.status, 201)
    t.same(listTags(back), ['a', 'b', 'c'])
    t.equal(back.resource.meta.versionId, '5')
  })

  t.test('an update on another version than the newest changes nothing', async t => {
    await put('if-match', { active: true })
    await put('if-match', { active: false })
    requireRejected(t, await put('if-match', { gender: 'male' }, { 'if-match': 'W/"1"' }), isSandbox ? 412 : 409, 'stale')
    t.equal((await server.send('GET', `/Patient/${id('if-match')}`)).resource.meta.versionId, '2')
    t.equal((await put('if-match', { gender: 'male' }, { 'if-match': 'W/"2"' })).status, 200)
  })

  t.test('of concurrent updates on one version exactly one is made', async t => {
    await put('race')
    const responses = await Promise.all(
      Array.from({ length: 8 }, (_, i) => put('race', { birthDate: `200${i}` }, { 'if-match': 'W/"1"' }))
    )
    t.equal(responses.filter(({ status }) => status === 200).length, 1)
  })

  t.test('a deleted resource is gone, its history is not, and deleting again is no error', async t => {
    await put('gone', { active: true })
    const deleted = await server.send('DELETE', `/Patient/${id('gone')}`)
    t.equal(deleted.status, 200)
    t.equal(deleted.resource.resourceType, 'OperationOutcome')
    requireRejected(t, await server.send('GET', `/Patient/${id('gone')}`), 410, 'read')
    requireRejected(t, await server.send('GET', `/Patient/${id('gone')}/_history/2`), 410, 'the version of the deletion')
    t.equal((await server.send('GET', `/Patient?_id=${id('gone')}`)).resource.entry, undefined)
    t.equal((await server.send('GET', `/Patient/${id('gone')}/_history/1`)).resource.active, true)
    t.equal((await server.send('DELETE', `/Patient/${id('gone')}`)).status, 200)
    t.equal((await server.send('DELETE', `/Patient/${id('never')}`)).status, 200)
  })

  t.test('a history has every version, the newest first, in pages', async t => {
    await put('history', { active: true })
    await put('history', { active: false })
    await server.send('DELETE', `/Patient/${id('history')}`)
    const { resource } = await server.send('GET', `/Patient/${id('history')}/_history`)
    t.match(resource, { resourceType: 'Bundle', type: 'history', total: 3 })
    t.same(resource.entry.map((entry: any) => entry.request.method).slice(0, 2), ['DELETE', 'PUT'])
    t.same(
      resource.entry.map((entry: any) => entry.response.etag),
      ['W/"3"', 'W/"2"', 'W/"1"']
    )
    t.same(
      resource.entry.map((entry: any) => entry.resource?.active),
      [undefined, false, true]
    )
    const page = await server.send('GET', `/Patient/${id('history')}/_history?_count=2`)
    const next = page.resource.link.find((link: any) => link.relation === 'next').url.slice(url.length)
    t.equal((await server.send('GET', next)).resource.entry[0].response.etag, 'W/"1"')
    requireRejected(t, await server.send('GET', `/Patient/${id('never')}/_history`), 404, 'no history')
  })

  t.test('a read with _elements returns the whole meta', async t => {
    await put('elements', { active: true, deceasedBoolean: false, gender: 'male', ...tag('a') })
    const { resource } = await server.send('GET', `/Patient/${id('elements')}?_elements=meta`)
    t.same(Object.keys(resource).sort(), ['id', 'meta', 'resourceType'])
    const chosen = await server.send('GET', `/Patient/${id('elements')}?_elements=active,deceased`)
    t.same(Object.keys(chosen.resource).sort(), ['active', 'deceasedBoolean', 'id', 'meta', 'resourceType'])
    t.same(
      resource.meta.tag.map((tag: any) => tag.code),
      ['a', 'SUBSETTED']
    )
  })

  t.test('a body that is not the resource of the URL is rejected', async t => {
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
      // An id that a server with numeric ids does not reach, however many records a run of all tests stores.
      ['PUT', '/Patient/999999999999999', { resourceType: 'Patient', id: '999999999999999' }]
    ] as const) { requireRejected(t, await server.send(method, path, body), 400, `${method} ${path}`) }
  })

  t.test('a reference names an existing resource of this server, or the write is rejected', async t => {
    await put('target')
    for (const reference of [
      'Patient/none',
      'http://elsewhere/Patient/1',
      `${url}/Patient/${id('target')}`,
      'urn:uuid:6f2c1d5e-0000-4000-8000-000000000000',
      id('target'),
      'Nope/1'
    ]) {
      requireRejected(t, await server.send('POST', '/Observation', observation(reference)), [400, 422], reference)
    }
    for (const reference of [`Patient/${id('target')}`, `Patient/${id('target')}/_history/1`]) {
      t.equal((await server.send('POST', '/Observation', observation(reference))).status, 201, reference)
    }
    const contained = [{ resourceType: 'Patient', id: 'c', managingOrganization: { reference: 'Organization/none' } }]
    t.equal(
      (await server.send('POST', '/Observation', observation('#c', { contained }))).status,
      201,
      'what is contained is not followed'
    )
  })

  // A DetectedIssue of R4's own examples was rejected because of the web page that it names.
  t.test('a web page that is named as reference by a uri may be anywhere', async t => {
    const reference = 'http://www.tmhp.com/2011/CHEST%20IMAGING%20GUIDELINES%202011.pdf'
    const expression = { language: 'text/fhirpath', expression: 'true', reference }
    for (const resource of [
      { resourceType: 'DetectedIssue', status: 'final', reference },
      {
        resourceType: 'Immunization',
        status: 'completed',
        vaccineCode: { text: 'MMR' },
        patient: { display: 'Ada' },
        occurrenceString: 'once',
        education: [{ reference }]
      },
      { resourceType: 'PlanDefinition', status: 'draft', action: [{ condition: [{ kind: 'start', expression }] }] }
    ]) {
      const { status, resource: stored } = await server.send('POST', `/${resource.resourceType}`, resource)
      t.equal(status, 201, resource.resourceType)
      t.match(stored, resource)
    }
  })

  t.test('a resource that others refer to is not deleted', async t => {
    await put('pinned')
    const referring = await server.send('POST', '/Observation', observation(`Patient/${id('pinned')}`))
    requireRejected(t, await server.send('DELETE', `/Patient/${id('pinned')}`), 409, 'pinned')
    t.equal((await server.send('GET', `/Patient/${id('pinned')}`)).status, 200)
    await server.send('DELETE', `/Observation/${referring.resource.id}`)
    t.equal((await server.send('DELETE', `/Patient/${id('pinned')}`)).status, 200)
  })

  t.test('a search finds the current content of a resource, no longer the previous one', async t => {
    const countFound = async (query: string) =>
      (await server.send('GET', `/Patient?_id=${id('now')}&${query}`)).resource.total
    await put('now', { gender: 'male' })
    t.equal(await countFound('gender=male&_total=accurate'), 1)
    await put('now', { gender: 'female' })
    t.equal(await countFound('gender=male&_total=accurate'), 0)
    t.equal(await countFound('gender=female&_total=accurate'), 1)
  })

  t.test('a conditional create, update or delete acts on the one match', async t => {
    const criteria = `identifier=${encodeURIComponent(`http://mrn|${id('one')}`)}`
    const made = await server.send(
      'POST',
      '/Patient',
      { resourceType: 'Patient', ...buildIdentifier('one') },
      { 'if-none-exist': criteria }
    )
    t.equal(made.status, 201)
    const found = await server.send(
      'POST',
      '/Patient',
      { resourceType: 'Patient', ...buildIdentifier('one') },
      { 'if-none-exist': `Patient?${criteria}` }
    )
    t.equal(found.status, 200)
    t.equal(found.resource.id, made.resource.id)
    const updated = await server.send('PUT', `/Patient?${criteria}`, {
      resourceType: 'Patient',
      active: true,
      ...buildIdentifier('one')
    })
    t.equal(updated.status, 200)
    t.equal(updated.resource.id, made.resource.id)
    t.equal(
      (await server.send('PUT', `/Patient?identifier=${id('two')}`, { resourceType: 'Patient', ...buildIdentifier('two') }))
        .status,
      201,
      'an update without a match creates'
    )
    t.equal((await server.send('DELETE', `/Patient?identifier=${id('two')}`)).status, 200)
    const nothing = await server.send('DELETE', `/Patient?identifier=${id('two')}`)
    t.match(nothing.resource.issue, [{ severity: 'warning', code: 'not-found' }])
  })

  t.test('a conditional request with several matches or without a criterion changes nothing', async t => {
    const criteria = `identifier=${id('twice')}`
    for (let i = 0; i < 2; i++) {
      await server.send('POST', '/Patient', { resourceType: 'Patient', ...buildIdentifier('twice') })
    }
    requireRejected(
      t,
      await server.send('POST', '/Patient', { resourceType: 'Patient' }, { 'if-none-exist': criteria }),
      412,
      'create'
    )
    requireRejected(
      t,
      await server.send('PUT', `/Patient?${criteria}`, { resourceType: 'Patient', active: true }),
      412,
      'update'
    )
    requireRejected(t, await server.send('DELETE', `/Patient?${criteria}`), 412, 'delete')
    requireRejected(t, await server.send('PUT', '/Patient', { resourceType: 'Patient' }), 400, 'update of any')
    requireRejected(t, await server.send('DELETE', '/Patient'), 400, 'delete of all')
    requireRejected(
      t,
      await server.send('POST', '/Patient', { resourceType: 'Patient' }, { 'if-none-exist': 'nonsense=1' }),
      400,
      'an unknown criterion'
    )
    t.equal((await server.send('GET', `/Patient?${criteria}&_total=accurate`)).resource.total, 2)
  })

  const urn = 'urn:uuid:6f2c1d5e-0000-4000-8000-000000000001'

  t.test('the entries of a transaction refer to each other by urn, in any order', async t => {
    const response = await server.send(
      'POST',
      '',
      bundle(
        'transaction',
        entry('GET', `Patient?_id=${id('tx')}`),
        entry('POST', 'Observation', observation(urn)),
        entry('POST', 'Patient', { resourceType: 'Patient' }, { fullUrl: urn }),
        entry('PUT', `Patient/${id('tx')}`, patient('tx', { link: [{ other: { reference: urn }, type: 'seealso' }] }))
      )
    )
    t.equal(response.status, 200)
    t.equal(response.resource.type, 'transaction-response')
    const [searched, observed, created, updated] = response.resource.entry
    t.equal(searched.resource.entry.length, 1, 'reads see what the transaction wrote')
    t.same(
      [observed, created, updated].map(({ response }) => response.status),
      Array(3).fill('201 Created')
    )
    const target = created.response.location.split('/').slice(0, 2).join('/')
    t.equal((await server.send('GET', `/${observed.response.location}`)).resource.subject.reference, target)
    t.equal((await server.send('GET', `/Patient/${id('tx')}`)).resource.link[0].other.reference, target)
  })

  t.test('a transaction that fails anywhere has no effect', async t => {
    await put('stays', { active: true })
    const failing: Array<[object, number | number[]]> = [
      [entry('POST', 'Observation', observation('Patient/none')), 400],
      [
        {
          resource: patient('stays', { active: false }),
          request: { method: 'PUT', url: `Patient/${id('stays')}`, ifMatch: 'W/"9"' }
        },
        [409, 412]
      ],
      [entry('PUT', `Patient/${id('rolled-back')}`, patient('rolled-back', { active: true })), 400]
    ]
    for (const [invalid, status] of failing) {
      requireRejected(
        t,
        await server.send(
          'POST',
          '',
          bundle('transaction', entry('PUT', `Patient/${id('rolled-back')}`, patient('rolled-back')), invalid)
        ),
        status,
        JSON.stringify(invalid)
      )
      requireRejected(t, await server.send('GET', `/Patient/${id('rolled-back')}`), 404, 'nothing is left')
      t.equal((await server.send('GET', `/Patient?_id=${id('rolled-back')}&_total=accurate`)).resource.total, 0)
    }
  })

  t.test('a read that fails does not undo a transaction', async t => {
    const { status, resource } = await server.send(
      'POST',
      '',
      bundle(
        'transaction',
        entry('GET', 'Patient/none'),
        entry('PUT', `Patient/${id('read-failed')}`, patient('read-failed'))
      )
    )
    t.equal(status, 200)
    t.same(
      resource.entry.map(({ response }: any) => response.status),
      ['404 Not Found', '201 Created']
    )
  })

  t.test('a transaction deletes a resource together with what refers to it', async t => {
    await put('both')
    const { resource } = await server.send('POST', '/Observation', observation(`Patient/${id('both')}`))
    const response = await server.send(
      'POST',
      '',
      bundle('transaction', entry('DELETE', `Patient/${id('both')}`), entry('DELETE', `Observation/${resource.id}`))
    )
    t.equal(response.status, 200)
    t.equal((await server.send('GET', `/Patient/${id('both')}`)).status, 410)
  })

  t.test('a transaction creates missing resources, and refers to existing ones', async t => {
    const create = {
      fullUrl: urn,
      resource: { resourceType: 'Patient', ...buildIdentifier('maybe') },
      request: { method: 'POST', url: 'Patient', ifNoneExist: `identifier=${id('maybe')}` }
    }
    const body = bundle('transaction', create, entry('POST', 'Observation', observation(urn)))
    const {
      resource: { entry: first }
    } = await server.send('POST', '', body)
    const {
      resource: { entry: second }
    } = await server.send('POST', '', body)
    t.same([first[0].response.status, second[0].response.status], ['201 Created', '200 OK'])
    t.equal(
      (await server.send('GET', `/${second[1].response.location}`)).resource.subject.reference,
      first[0].response.location.split('/').slice(0, 2).join('/')
    )
  })

  t.test('the entries of a batch fail each for itself', async t => {
    const { status, resource } = await server.send(
      'POST',
      '',
      bundle(
        'batch',
        entry('PUT', `Patient/${id('batch')}`, patient('batch')),
        entry('GET', `Patient/${id('never')}`),
        entry('POST', 'Observation', observation('Patient/none')),
        entry('GET', `Patient?_id=${id('batch')}`)
      )
    )
    t.equal(status, 200)
    t.equal(resource.type, 'batch-response')
    t.same(
      resource.entry.map(({ response }: any) => response.status.slice(0, 3)),
      ['201', '404', '400', '200']
    )
    t.equal(resource.entry[1].response.outcome.resourceType, 'OperationOutcome')
    t.equal(resource.entry[3].resource.entry.length, 1)
  })

  t.test('a Bundle returns the resources it wrote with Prefer: return=representation', async t => {
    const body = bundle('transaction', entry('POST', 'Patient', { resourceType: 'Patient', active: true }))
    t.equal((await server.send('POST', '', body)).resource.entry[0].resource, undefined)
    t.equal(
      (await server.send('POST', '', body, { prefer: 'return=representation' })).resource.entry[0].resource.active,
      true
    )
    t.equal(
      (await server.send('POST', '/Patient', { resourceType: 'Patient' }, { prefer: 'return=minimal' })).text,
      ''
    )
  })

  t.test('a Bundle that is no batch or transaction is rejected', async t => {
    for (const body of [bundle('collection'), bundle('batch-response'), patient('x')]) {
      requireRejected(t, await server.send('POST', '', body), 400, JSON.stringify(body))
    }
  })

  t.test('the CapabilityStatement lists what the server can do', async t => {
    const { status, resource } = await server.send('GET', '/metadata')
    t.equal(status, 200)
    t.match(resource, { resourceType: 'CapabilityStatement', fhirVersion: '4.0.1' })
    const types = resource.rest[0].resource.map(({ type }: any) => type)
    t.equal(types.length, 146)
    if (isSandbox) t.equal(resource.software.name, 'clinigate sandbox')
  })

  t.test('unknown ids and types are not found; HEAD has the version without a body', async t => {
    requireRejected(t, await server.send('GET', `/Patient/${id('never')}`), 404, 'id')
    requireRejected(t, await server.send('GET', '/Nope/1'), 404, 'type')
    requireRejected(t, await server.send('GET', '/patient/1'), 404, 'another case')
    await put('head')
    const head = await server.send('HEAD', `/Patient/${id('head')}`)
    t.equal(head.status, 200)
    t.equal(head.headers.get('etag'), 'W/"1"')
    t.equal(head.text, '')
  })
}
