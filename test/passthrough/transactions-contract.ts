import type { Test } from 'tap'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  parseVersionedId,
  assertRejected,
  buildObservation,
  buildPatchEntry,
  buildPatient,
  storeResources,
  type RawResponse,
  type Fhir,
  type World
} from './fixture.js'

/**
 * What transactions must do, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/http.html#transaction
 */
export async function testTransactions (t: Test, world: World): Promise<void> {
  await t.test('every kind of write is done, and each entry has its response in its position', t => testAllWrites(t, world))
  await t.test('entries refer to each other by urn, in any order and in a cycle', t => testUrnReferences(t, world))
  await t.test('the response shows what was written when Prefer requests it', t => testPreferReturn(t, world))
  await t.test('a reference by criteria leads to the one record that meets them', t => testConditionalReferences(t, world))
  await t.test('conditional entries do what the same requests do alone', t => testConditionalEntries(t, world))
  await t.test('reads see the result of the writes, whatever their position', t => testReads(t, world))
  await t.test('one entry that may not be done stops all', t => testAtomicity(t, world))
  await t.test('a transaction that deletes what another record refers to does nothing', t => testReferencedDelete(t, world))
  await t.test('an invalid Bundle is refused as a whole', t => testInvalidBundles(t, world))
  await t.test('a thousand entries are accepted, and one more is refused', t => testMaxEntries(t, world))
  await t.test('numbers keep their text, and URLs of the gateway become relative', t => testContentPreserved(t, world))
}

const send = ({ send }: Fhir, ...entries: object[]): Promise<RawResponse> =>
  send('POST', '', buildBundle('transaction', ...entries))
const listStatuses = ({ resource }: RawResponse): string[] => resource.entry.map(({ response }: any) => response.status)
const buildMrn = (value: string) => ({ identifier: [{ system: 'http://mrn', value }] })
const buildCriteria = (value: string) => `identifier=http://mrn%7C${value}`
const buildUrn = (digit: number) => `urn:uuid:00000000-0000-4000-8000-00000000000${digit}`
const countRecords = async ({ send }: Fhir, type = 'Patient') => (await send('GET', `/${type}?_summary=count`)).resource.total

async function testAllWrites (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [updated, patched, deleted] = await storeResources(fhir, buildPatient(), buildPatient(), buildPatient())
  const response = await send(fhir,
    buildPatchEntry(`Patient/${patched}`, [{ op: 'add', path: '/gender', value: 'other' }], { ifMatch: 'W/"1"' }),
    buildEntry('DELETE', `Patient/${deleted}`),
    buildEntry('POST', 'Patient', buildPatient()),
    buildEntry('GET', `Patient/${updated}`),
    buildEntry('PUT', `Patient/${updated}`, buildPatient({ active: true }), { ifMatch: 'W/"1"' }))
  t.match(response, {
    status: 200,
    headers: { 'content-type': 'application/fhir+json; charset=utf-8', etag: undefined, location: undefined },
    resource: { resourceType: 'Bundle', type: 'transaction-response' }
  })
  t.strictSame(listStatuses(response), ['200 OK', '204 No Content', '201 Created', '200 OK', '200 OK'])
  const [one, two, three, four, five] = response.resource.entry
  t.match(one.response, {
    location: `${fhirBase}/Patient/${patched}/_history/2`,
    etag: 'W/"2"',
    lastModified: /^\d{4}-/
  })
  t.strictSame(Object.keys(two.response), ['status'])
  t.match(three.response, { location: new RegExp(`^${fhirBase}/Patient/[^/]+/_history/1$`), etag: 'W/"1"' })
  t.match(four.resource, { id: updated, active: true })
  t.match(five.response, { etag: 'W/"2"' })
  t.strictSame(
    [one, two, three, five].map(({ resource }) => resource),
    [undefined, undefined, undefined, undefined],
    'writes are not shown unless that is wanted'
  )
  t.match(await fhir.send('GET', `/Patient/${patched}`), { resource: { gender: 'other', name: [{ family: 'Byron' }] } })
  t.equal((await fhir.send('GET', `/Patient/${deleted}`)).status, 404)
  t.equal((await fhir.send('GET', `/Patient/${parseVersionedId(three.response.location)}`)).status, 200)
  t.match(
    await send(fhir),
    { status: 200, resource: { type: 'transaction-response', entry: undefined } },
    'nothing to do'
  )
  t.match(
    await fhir.send('POST', '/', buildBundle('transaction', buildEntry('GET', 'Patient'))),
    { status: 200 },
    'with a slash at the end'
  )
}

async function testUrnReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const result = await send(
    fhir,
    buildEntry(
      'POST',
      'Observation',
      buildObservation(buildUrn(1), {
        performer: [{ reference: buildUrn(2) }],
        extension: [{ url: 'http://example.org/x', valueReference: { reference: buildUrn(1) } }]
      })
    ),
    buildEntry('POST', 'Patient', buildPatient({ link: [{ other: { reference: buildUrn(3) }, type: 'seealso' }] }), {
      fullUrl: buildUrn(1)
    }),
    buildEntry('POST', 'Practitioner', { resourceType: 'Practitioner' }, { fullUrl: buildUrn(2) }),
    buildEntry('POST', 'Patient', buildPatient({ link: [{ other: { reference: buildUrn(1) }, type: 'seealso' }] }), {
      fullUrl: buildUrn(3)
    })
  )
  t.strictSame(listStatuses(result), Array(4).fill('201 Created'))
  const [about, first, practitioner, second] = result.resource.entry.map(({ response }: any) =>
    parseVersionedId(response.location)
  )
  t.match((await fhir.send('GET', `/Observation/${about}`)).resource, {
    subject: { reference: `Patient/${first}` },
    performer: [{ reference: `Practitioner/${practitioner}` }],
    extension: [{ valueReference: { reference: `Patient/${first}` } }]
  })
  t.match((await fhir.send('GET', `/Patient/${first}`)).resource, {
    link: [{ other: { reference: `Patient/${second}` } }]
  })
  t.match((await fhir.send('GET', `/Patient/${second}`)).resource, {
    link: [{ other: { reference: `Patient/${first}` } }]
  })
  assertRejected(
    t,
    await send(fhir, buildEntry('POST', 'Observation', buildObservation(buildUrn(9)))),
    { status: 422, code: 'business-rule', expression: ['Bundle.entry[0].resource.subject'] },
    'a urn of no entry'
  )
  assertRejected(
    t,
    await send(
      fhir,
      buildEntry('POST', 'Patient', buildPatient(), { fullUrl: buildUrn(1) }),
      buildEntry('POST', 'Patient', buildPatient(), { fullUrl: buildUrn(1) })
    ),
    400,
    'one urn for two entries'
  )
}

async function testPreferReturn (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const sendPreferring = async (prefer: string) =>
    (
      await fhir.send(
        'POST',
        '',
        buildBundle('transaction', buildEntry('POST', 'Patient', buildPatient()), buildEntry('DELETE', 'Patient?identifier=none')),
        { prefer }
      )
    ).resource.entry
  t.match(await sendPreferring('return=representation'), [
    {
      resource: { resourceType: 'Patient', name: [{ family: 'Byron' }], meta: { versionId: '1' } },
      response: { status: '201 Created' }
    },
    { response: { status: '204 No Content' } }
  ])
  for (const prefer of ['return=minimal', 'respond-async']) {
    t.equal((await sendPreferring(prefer))[0].resource, undefined, prefer)
  }
}

async function testConditionalReferences (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [id] = await storeResources(fhir, buildPatient(buildMrn('1')), buildPatient(buildMrn('2')), buildPatient(buildMrn('2')))
  await storeResources(other, buildPatient(buildMrn('1')), buildPatient(buildMrn('3')))
  const response = await send(
    fhir,
    buildEntry(
      'POST',
      'Observation',
      buildObservation(`Patient?${buildCriteria('1')}`, { focus: [{ reference: `Patient?${buildCriteria('1')}` }] })
    )
  )
  t.equal(listStatuses(response)[0], '201 Created')
  t.match((await fhir.send('GET', `/Observation/${parseVersionedId(response.resource.entry[0].response.location)}`)).resource, {
    subject: { reference: `Patient/${id}` },
    focus: [{ reference: `Patient/${id}` }]
  })
  for (const [name, value, status] of [
    ['none', '9', 422],
    ["another organization's", '3', 422],
    ['several', '2', 412]
  ] as const) {
    const refused = await send(
      fhir,
      buildEntry('POST', 'Patient', buildPatient(buildMrn('new'))),
      buildEntry('POST', 'Observation', buildObservation(`Patient?${buildCriteria(value)}`))
    )
    assertRejected(t, refused, status, name)
  }
  for (const reference of [
    'Patient?nothing=1',
    'Patient?',
    'Patient?_tag=urn:clinigate:tenant%7Cx',
    'Patient?organization.name=x'
  ]) { assertRejected(t, await send(fhir, buildEntry('POST', 'Observation', buildObservation(reference))), 400, reference) }
  assertRejected(t, await send(fhir, buildEntry('POST', 'Observation', buildObservation('Nothing?x=1'))), 422, 'no type')
  t.strictSame([await countRecords(fhir), await countRecords(fhir, 'Observation')], [3, 1], 'nothing of what was refused was written')
}

async function testConditionalEntries (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [there, gone] = await storeResources(fhir, buildPatient(buildMrn('there')), buildPatient(buildMrn('gone')))
  const result = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient({ ...buildMrn('there'), active: true }), {
      ifNoneExist: buildCriteria('there'),
      fullUrl: buildUrn(1)
    }),
    buildEntry('POST', 'Patient', buildPatient(buildMrn('new')), { ifNoneExist: buildCriteria('new'), fullUrl: buildUrn(2) }),
    buildEntry('POST', 'Observation', buildObservation(buildUrn(1))),
    buildEntry('POST', 'Observation', buildObservation(buildUrn(2))),
    buildEntry('DELETE', `Patient?${buildCriteria('gone')}`),
    buildEntry('DELETE', `Patient?${buildCriteria('none')}`),
    buildEntry('PUT', `Patient?${buildCriteria('made')}`, buildPatient(buildMrn('made')))
  )
  t.strictSame(listStatuses(result), [
    '200 OK',
    '201 Created',
    '201 Created',
    '201 Created',
    '204 No Content',
    '204 No Content',
    '201 Created'
  ])
  const [first, second, about, another] = result.resource.entry.map(
    ({ response }: any) => response.location && parseVersionedId(response.location)
  )
  t.equal(first, there)
  t.match((await fhir.send('GET', `/Patient/${there}`)).resource, { active: undefined, meta: { versionId: '1' } })
  t.match(
    [
      (await fhir.send('GET', `/Observation/${about}`)).resource.subject,
      (await fhir.send('GET', `/Observation/${another}`)).resource.subject
    ],
    [{ reference: `Patient/${there}` }, { reference: `Patient/${second}` }]
  )
  t.equal((await fhir.send('GET', `/Patient/${gone}`)).status, 404)
  const changed = await send(
    fhir,
    buildEntry('PUT', `Patient?${buildCriteria('made')}`, buildPatient({ ...buildMrn('made'), active: true })),
    buildPatchEntry(`Patient?${buildCriteria('new')}`, [{ op: 'add', path: '/gender', value: 'other' }])
  )
  t.strictSame(listStatuses(changed), ['200 OK', '200 OK'])
  t.match((await fhir.send('GET', `/Patient?${buildCriteria('made')}`)).resource.entry[0].resource, {
    active: true,
    meta: { versionId: '2' }
  })
  t.match((await fhir.send('GET', `/Patient/${second}`)).resource, { gender: 'other' })
}

async function testReads (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, going] = await storeResources(fhir, buildPatient(), buildPatient(buildMrn('going')))
  const response = await send(fhir,
    buildEntry('GET', `Patient?${buildCriteria('new')}`),
    buildEntry('GET', `Patient/${id}`),
    buildEntry('GET', `Patient/${going}`),
    buildEntry('POST', 'Patient', buildPatient(buildMrn('new'))),
    buildEntry('PUT', `Patient/${id}`, buildPatient({ active: true })),
    buildEntry('DELETE', `Patient/${going}`),
    buildEntry('GET', `Patient/${id}/_history/1`),
    buildEntry('GET', 'Patient?_summary=count'))
  t.strictSame(
    listStatuses(response).map(status => status.slice(0, 3)),
    ['200', '200', '404', '201', '200', '204', '200', '200']
  )
  const [found, read, gone, , , , before, count] = response.resource.entry
  t.match(found.resource, { type: 'searchset', total: 1 })
  t.match(read.resource, { active: true })
  t.match(gone.response.outcome, { resourceType: 'OperationOutcome', issue: [{ code: 'not-found' }] })
  t.match(before.resource, { active: undefined })
  t.match(count.resource, { total: 2 })
}

async function testAtomicity (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  const [id, referred] = await storeResources(fhir, buildPatient(), buildPatient(buildMrn('one')))
  const [about] = await storeResources(fhir, buildObservation(`Patient/${referred}`))
  await storeResources(fhir, buildPatient(buildMrn('two')), buildPatient(buildMrn('two')))
  const before = [await countRecords(fhir), await countRecords(fhir, 'Observation')]
  const invalid: ReadonlyArray<readonly [string, number, object]> = [
    ['If-Match on an update', 412, buildEntry('PUT', `Patient/${id}`, buildPatient(), { ifMatch: 'W/"7"' })],
    [
      'If-Match on a patch',
      412,
      buildPatchEntry(`Patient/${id}`, [{ op: 'add', path: '/active', value: false }], { ifMatch: 'W/"7"' })
    ],
    ['If-Match on a delete', 412, buildEntry('DELETE', `Patient/${id}`, undefined, { ifMatch: 'W/"7"' })],
    ['an unknown record updated', 404, buildEntry('PUT', 'Patient/no-such', buildPatient())],
    ['an unknown record deleted', 404, buildEntry('DELETE', 'Patient/no-such')],
    ['an unknown record patched', 404, buildPatchEntry('Patient/no-such', [])],
    ['an unknown record read', 404, buildEntry('GET', 'Patient/no-such')],
    ['a patch that does not apply', 422, buildPatchEntry(`Patient/${id}`, [{ op: 'test', path: '/active', value: true }])],
    ['a reference to nothing', 422, buildEntry('POST', 'Observation', buildObservation('Patient/no-such'))],
    ['criteria that several meet', 412, buildEntry('PUT', `Patient?${buildCriteria('two')}`, buildPatient())],
    // The datastore's error for the whole transaction does not name the conflict.
    ['a create that several meet', 409, buildEntry('POST', 'Patient', buildPatient(), { ifNoneExist: buildCriteria('two') })],
    ['a delete that several meet', 412, buildEntry('DELETE', `Patient?${buildCriteria('two')}`)],
    ['a patch that none meets', 404, buildPatchEntry(`Patient?${buildCriteria('none')}`, [])],
    ['another id in the resource', 400, buildEntry('PUT', `Patient/${id}`, buildPatient({ id: 'other' }))],
    ['one record twice', 400, buildEntry('PUT', `Patient/${referred}`, buildPatient())]
  ]
  for (const [name, status, wrong] of invalid) {
    const valid = [
      buildEntry('POST', 'Patient', buildPatient()),
      buildEntry('PUT', `Patient/${referred}`, buildPatient({ active: true })),
      buildEntry('POST', 'Observation', buildObservation(`Patient/${id}`))
    ]
    const response = await send(fhir, valid[0]!, wrong, ...valid.slice(1))
    assertRejected(t, response, status, name)
    const [path] = response.resource.issue[0].expression ?? []
    t.match(
      path,
      name === 'one record twice' ? /^Bundle\.entry\[2\]$/ : /^Bundle\.entry\[1\](?:\.resource\.subject)?$/,
      name
    )
  }
  t.strictSame([await countRecords(fhir), await countRecords(fhir, 'Observation')], before, 'nothing was made or deleted')
  for (const path of [`/Patient/${id}`, `/Patient/${referred}`, `/Observation/${about}`]) {
    t.match(await fhir.send('GET', path), { status: 200, headers: { etag: 'W/"1"' } }, 'nothing was changed')
  }
}

async function testReferencedDelete (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  const [id] = await storeResources(fhir, buildPatient())
  const [about] = await storeResources(fhir, buildObservation(`Patient/${id}`))
  const response = await send(fhir, buildEntry('POST', 'Patient', buildPatient()), buildEntry('DELETE', `Patient/${id}`))
  assertRejected(t, response, 409, 'refused')
  t.match(response.resource.issue?.[0].expression, ['Bundle.entry[1]'])
  t.equal(await countRecords(fhir), 1, 'nothing was made or deleted')
  t.match(await fhir.send('GET', `/Observation/${about}`), { status: 200, headers: { etag: 'W/"1"' } })
}

async function testInvalidBundles (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const valid = buildEntry('POST', 'Patient', buildPatient())
  const bodies: ReadonlyArray<readonly [string, unknown]> = [
    ['no body', undefined],
    ['no Bundle', buildPatient()],
    ['a list', [valid]],
    ['no type', { resourceType: 'Bundle', entry: [valid] }],
    ['another type', buildBundle('collection', valid)],
    ['a history', buildBundle('history', valid)],
    ['entry is no list', { resourceType: 'Bundle', type: 'transaction', entry: valid }]
  ]
  for (const [name, body] of bodies) assertRejected(t, await fhir.send('POST', '', body), 400, name)
  assertRejected(t, await fhir.send('POST', '?_x=1', buildBundle('transaction')), 400, 'a query')
  const entries: ReadonlyArray<readonly [string, number, unknown]> = [
    ['null', 400, null],
    ['no request', 400, { resource: buildPatient() }],
    ['no url', 400, { request: { method: 'GET' } }],
    ['lower case', 400, buildEntry('post', 'Patient', buildPatient())],
    ['HEAD', 400, buildEntry('HEAD', 'Patient')],
    ['an unknown member', 400, { ...valid, extension: [] }],
    [
      'an unknown member of request',
      400,
      { resource: buildPatient(), request: { method: 'POST', url: 'Patient', extension: [] } }
    ],
    ['another server', 400, buildEntry('GET', 'https://elsewhere.example/fhir/Patient/1')],
    ['no type', 404, buildEntry('POST', 'Nothing', { resourceType: 'Nothing' })],
    ['another type than the URL', 400, buildEntry('POST', 'Observation', buildPatient())],
    ['no resource', 400, buildEntry('POST', 'Patient')],
    ['a create with an id', 405, buildEntry('POST', 'Patient/1', buildPatient())],
    ['an operation', 405, buildEntry('POST', 'Patient/1/$meta-add', { resourceType: 'Parameters' })],
    ['$everything', 405, buildEntry('GET', 'Patient/1/$everything')],
    ['a search by POST', 405, buildEntry('POST', 'Patient/_search')],
    ['a history', 405, buildEntry('GET', 'Patient/1/_history')],
    ['a Bundle', 405, buildEntry('POST', '', buildBundle('batch', valid))],
    ['a step up', 404, buildEntry('GET', '../Patient/1')],
    ['a patch as a list', 400, { resource: [], request: { method: 'PATCH', url: 'Patient/1' } }],
    ['a patch as Parameters', 415, buildEntry('PATCH', 'Patient/1', { resourceType: 'Parameters' })],
    ['ifMatch that is no tag', 400, buildEntry('PUT', 'Patient/1', buildPatient(), { ifMatch: '1' })],
    ['an unknown parameter', 400, buildEntry('GET', 'Patient?nothing=1')],
    ['a misspelt criterion', 400, buildEntry('POST', 'Patient', buildPatient(), { ifNoneExist: 'nothing=1' })]
  ]
  for (const [name, status, wrong] of entries) {
    assertRejected(t, await send(fhir, valid, wrong as object), { status, expression: ['Bundle.entry[1]'] }, name)
  }
  t.equal(await countRecords(fhir), 0, 'nothing was written')
}

async function testMaxEntries (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const entries = Array.from({ length: 1_000 }, (_, i) =>
    buildEntry('POST', 'Patient', { resourceType: 'Patient', name: [{ text: `${i}` }] })
  )
  assertRejected(t, await send(fhir, ...entries, buildEntry('GET', 'Patient')), 413, '1001')
  t.equal(await countRecords(fhir), 0)
  const response = await fhir.send('POST', '', buildBundle('transaction', ...entries), { prefer: 'return=representation' })
  t.strictSame(
    response.resource.entry.map(({ resource }: any) => resource.name[0].text),
    entries.map((_, i) => `${i}`),
    'in their order'
  )
  t.equal(await countRecords(fhir), 1_000)
}

async function testContentPreserved (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const text = JSON.stringify(
    buildBundle(
      'transaction',
      buildEntry(
        'POST',
        `${fhirBase}/Observation`,
        buildObservation(`${fhirBase}/Patient/${id}`, { valueQuantity: { value: 'V' } })
      )
    )
  ).replace('"V"', '1.10')
  const response = await fhir.send('POST', '', text, { prefer: 'return=representation' })
  t.equal(listStatuses(response)[0], '201 Created')
  t.match(response.resource.entry[0].resource.subject, { reference: `Patient/${id}` })
  t.match(response.text, /"value":1\.10[,}]/)
  t.match(
    (await fhir.send('GET', `/Observation/${parseVersionedId(response.resource.entry[0].response.location)}`)).text,
    /"value":\s*1\.10[,}]/
  )
}
