import type { Test } from 'tap'
import {
  bundle,
  entry,
  fhirBase,
  idIn,
  isRefused,
  observation,
  patchEntry,
  patient,
  stored,
  type Answer,
  type Fhir,
  type World
} from './fixture.js'

/**
 * What transactions must do, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/http.html#transaction
 */
export async function transactionsContract (t: Test, world: World): Promise<void> {
  await t.test('every kind of write is done, and each entry answered in its place', t => allKinds(t, world))
  await t.test('entries refer to each other by urn, in any order and in a circle', t => urns(t, world))
  await t.test('the answer shows what was written when that is wanted', t => shown(t, world))
  await t.test('a reference by criteria leads to the one record that meets them', t => criteriaReferences(t, world))
  await t.test('conditional entries do what the same requests do alone', t => conditionals(t, world))
  await t.test('reads see what the writes left, wherever they stand', t => reads(t, world))
  await t.test('one entry that may not be done stops all', t => allOrNone(t, world))
  await t.test('a transaction that deletes what another record refers to does nothing', t => referredTo(t, world))
  await t.test('a Bundle that is not understood is refused whole', t => badBundles(t, world))
  await t.test('a thousand entries are taken, and one more is refused', t => sizes(t, world))
  await t.test('numbers keep their text, and addresses of the gateway become relative', t => keptContent(t, world))
}

const send = ({ send }: Fhir, ...entries: object[]): Promise<Answer> =>
  send('POST', '', bundle('transaction', ...entries))
const statuses = ({ resource }: Answer): string[] => resource.entry.map(({ response }: any) => response.status)
const mrn = (value: string) => ({ identifier: [{ system: 'http://mrn', value }] })
const criteria = (value: string) => `identifier=http://mrn%7C${value}`
const urn = (digit: number) => `urn:uuid:00000000-0000-4000-8000-00000000000${digit}`
const total = async ({ send }: Fhir, type = 'Patient') => (await send('GET', `/${type}?_summary=count`)).resource.total

async function allKinds (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [updated, patched, deleted] = await stored(fhir, patient(), patient(), patient())
  const answer = await send(fhir,
    patchEntry(`Patient/${patched}`, [{ op: 'add', path: '/gender', value: 'other' }], { ifMatch: 'W/"1"' }),
    entry('DELETE', `Patient/${deleted}`),
    entry('POST', 'Patient', patient()),
    entry('GET', `Patient/${updated}`),
    entry('PUT', `Patient/${updated}`, patient({ active: true }), { ifMatch: 'W/"1"' }))
  t.match(answer, {
    status: 200,
    headers: { 'content-type': 'application/fhir+json; charset=utf-8', etag: undefined, location: undefined },
    resource: { resourceType: 'Bundle', type: 'transaction-response' }
  })
  t.strictSame(statuses(answer), ['200 OK', '204 No Content', '201 Created', '200 OK', '200 OK'])
  const [one, two, three, four, five] = answer.resource.entry
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
  t.equal((await fhir.send('GET', `/Patient/${idIn(three.response.location)}`)).status, 200)
  t.match(
    await send(fhir),
    { status: 200, resource: { type: 'transaction-response', entry: undefined } },
    'nothing to do'
  )
  t.match(
    await fhir.send('POST', '/', bundle('transaction', entry('GET', 'Patient'))),
    { status: 200 },
    'with a slash at the end'
  )
}

async function urns (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const answer = await send(
    fhir,
    entry(
      'POST',
      'Observation',
      observation(urn(1), {
        performer: [{ reference: urn(2) }],
        extension: [{ url: 'http://example.org/x', valueReference: { reference: urn(1) } }]
      })
    ),
    entry('POST', 'Patient', patient({ link: [{ other: { reference: urn(3) }, type: 'seealso' }] }), {
      fullUrl: urn(1)
    }),
    entry('POST', 'Practitioner', { resourceType: 'Practitioner' }, { fullUrl: urn(2) }),
    entry('POST', 'Patient', patient({ link: [{ other: { reference: urn(1) }, type: 'seealso' }] }), {
      fullUrl: urn(3)
    })
  )
  t.strictSame(statuses(answer), Array(4).fill('201 Created'))
  const [about, first, practitioner, second] = answer.resource.entry.map(({ response }: any) => idIn(response.location))
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
  isRefused(
    t,
    await send(fhir, entry('POST', 'Observation', observation(urn(9)))),
    { status: 422, code: 'business-rule', expression: ['Bundle.entry[0].resource.subject'] },
    'a urn of no entry'
  )
  isRefused(
    t,
    await send(
      fhir,
      entry('POST', 'Patient', patient(), { fullUrl: urn(1) }),
      entry('POST', 'Patient', patient(), { fullUrl: urn(1) })
    ),
    400,
    'one urn for two entries'
  )
}

async function shown (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const wanted = async (prefer: string) =>
    (
      await fhir.send(
        'POST',
        '',
        bundle('transaction', entry('POST', 'Patient', patient()), entry('DELETE', 'Patient?identifier=none')),
        { prefer }
      )
    ).resource.entry
  t.match(await wanted('return=representation'), [
    {
      resource: { resourceType: 'Patient', name: [{ family: 'Byron' }], meta: { versionId: '1' } },
      response: { status: '201 Created' }
    },
    { response: { status: '204 No Content' } }
  ])
  for (const prefer of ['return=minimal', 'respond-async']) {
    t.equal((await wanted(prefer))[0].resource, undefined, prefer)
  }
}

async function criteriaReferences (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [id] = await stored(fhir, patient(mrn('1')), patient(mrn('2')), patient(mrn('2')))
  await stored(other, patient(mrn('1')), patient(mrn('3')))
  const answer = await send(
    fhir,
    entry(
      'POST',
      'Observation',
      observation(`Patient?${criteria('1')}`, { focus: [{ reference: `Patient?${criteria('1')}` }] })
    )
  )
  t.equal(statuses(answer)[0], '201 Created')
  t.match((await fhir.send('GET', `/Observation/${idIn(answer.resource.entry[0].response.location)}`)).resource, {
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
      entry('POST', 'Patient', patient(mrn('new'))),
      entry('POST', 'Observation', observation(`Patient?${criteria(value)}`))
    )
    isRefused(t, refused, status, name)
  }
  for (const reference of [
    'Patient?nothing=1',
    'Patient?',
    'Patient?_tag=urn:clinigate:tenant%7Cx',
    'Patient?organization.name=x'
  ]) { isRefused(t, await send(fhir, entry('POST', 'Observation', observation(reference))), 400, reference) }
  isRefused(t, await send(fhir, entry('POST', 'Observation', observation('Nothing?x=1'))), 422, 'no type')
  t.strictSame([await total(fhir), await total(fhir, 'Observation')], [3, 1], 'nothing of what was refused was written')
}

async function conditionals (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [there, gone] = await stored(fhir, patient(mrn('there')), patient(mrn('gone')))
  const answer = await send(
    fhir,
    entry('POST', 'Patient', patient({ ...mrn('there'), active: true }), {
      ifNoneExist: criteria('there'),
      fullUrl: urn(1)
    }),
    entry('POST', 'Patient', patient(mrn('new')), { ifNoneExist: criteria('new'), fullUrl: urn(2) }),
    entry('POST', 'Observation', observation(urn(1))),
    entry('POST', 'Observation', observation(urn(2))),
    entry('DELETE', `Patient?${criteria('gone')}`),
    entry('DELETE', `Patient?${criteria('none')}`),
    entry('PUT', `Patient?${criteria('made')}`, patient(mrn('made')))
  )
  t.strictSame(statuses(answer), [
    '200 OK',
    '201 Created',
    '201 Created',
    '201 Created',
    '204 No Content',
    '204 No Content',
    '201 Created'
  ])
  const [first, second, about, another] = answer.resource.entry.map(
    ({ response }: any) => response.location && idIn(response.location)
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
    entry('PUT', `Patient?${criteria('made')}`, patient({ ...mrn('made'), active: true })),
    patchEntry(`Patient?${criteria('new')}`, [{ op: 'add', path: '/gender', value: 'other' }])
  )
  t.strictSame(statuses(changed), ['200 OK', '200 OK'])
  t.match((await fhir.send('GET', `/Patient?${criteria('made')}`)).resource.entry[0].resource, {
    active: true,
    meta: { versionId: '2' }
  })
  t.match((await fhir.send('GET', `/Patient/${second}`)).resource, { gender: 'other' })
}

async function reads (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, going] = await stored(fhir, patient(), patient(mrn('going')))
  const answer = await send(fhir,
    entry('GET', `Patient?${criteria('new')}`),
    entry('GET', `Patient/${id}`),
    entry('GET', `Patient/${going}`),
    entry('POST', 'Patient', patient(mrn('new'))),
    entry('PUT', `Patient/${id}`, patient({ active: true })),
    entry('DELETE', `Patient/${going}`),
    entry('GET', `Patient/${id}/_history/1`),
    entry('GET', 'Patient?_summary=count'))
  t.strictSame(
    statuses(answer).map(status => status.slice(0, 3)),
    ['200', '200', '404', '201', '200', '204', '200', '200']
  )
  const [found, read, gone, , , , before, count] = answer.resource.entry
  t.match(found.resource, { type: 'searchset', total: 1 })
  t.match(read.resource, { active: true })
  t.match(gone.response.outcome, { resourceType: 'OperationOutcome', issue: [{ code: 'not-found' }] })
  t.match(before.resource, { active: undefined })
  t.match(count.resource, { total: 2 })
}

async function allOrNone (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  const [id, referred] = await stored(fhir, patient(), patient(mrn('one')))
  const [about] = await stored(fhir, observation(`Patient/${referred}`))
  await stored(fhir, patient(mrn('two')), patient(mrn('two')))
  const before = [await total(fhir), await total(fhir, 'Observation')]
  const bad: ReadonlyArray<readonly [string, number, object]> = [
    ['If-Match on an update', 412, entry('PUT', `Patient/${id}`, patient(), { ifMatch: 'W/"7"' })],
    [
      'If-Match on a patch',
      412,
      patchEntry(`Patient/${id}`, [{ op: 'add', path: '/active', value: false }], { ifMatch: 'W/"7"' })
    ],
    ['If-Match on a delete', 412, entry('DELETE', `Patient/${id}`, undefined, { ifMatch: 'W/"7"' })],
    ['an unknown record updated', 404, entry('PUT', 'Patient/no-such', patient())],
    ['an unknown record deleted', 404, entry('DELETE', 'Patient/no-such')],
    ['an unknown record patched', 404, patchEntry('Patient/no-such', [])],
    ['an unknown record read', 404, entry('GET', 'Patient/no-such')],
    ['a patch that does not apply', 422, patchEntry(`Patient/${id}`, [{ op: 'test', path: '/active', value: true }])],
    ['a reference to nothing', 422, entry('POST', 'Observation', observation('Patient/no-such'))],
    ['criteria that several meet', 412, entry('PUT', `Patient?${criteria('two')}`, patient())],
    // The datastore's refusal of the whole does not say which conflict it was.
    ['a create that several meet', 409, entry('POST', 'Patient', patient(), { ifNoneExist: criteria('two') })],
    ['a delete that several meet', 412, entry('DELETE', `Patient?${criteria('two')}`)],
    ['a patch that none meets', 404, patchEntry(`Patient?${criteria('none')}`, [])],
    ['another id in the resource', 400, entry('PUT', `Patient/${id}`, patient({ id: 'other' }))],
    ['one record twice', 400, entry('PUT', `Patient/${referred}`, patient())]
  ]
  for (const [name, status, wrong] of bad) {
    const good = [
      entry('POST', 'Patient', patient()),
      entry('PUT', `Patient/${referred}`, patient({ active: true })),
      entry('POST', 'Observation', observation(`Patient/${id}`))
    ]
    const answer = await send(fhir, good[0]!, wrong, ...good.slice(1))
    isRefused(t, answer, status, name)
    const [place] = answer.resource.issue[0].expression ?? []
    t.match(
      place,
      name === 'one record twice' ? /^Bundle\.entry\[2\]$/ : /^Bundle\.entry\[1\](?:\.resource\.subject)?$/,
      name
    )
  }
  t.strictSame([await total(fhir), await total(fhir, 'Observation')], before, 'nothing was made or deleted')
  for (const path of [`/Patient/${id}`, `/Patient/${referred}`, `/Observation/${about}`]) {
    t.match(await fhir.send('GET', path), { status: 200, headers: { etag: 'W/"1"' } }, 'nothing was changed')
  }
}

async function referredTo (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  const [id] = await stored(fhir, patient())
  const [about] = await stored(fhir, observation(`Patient/${id}`))
  const answer = await send(fhir, entry('POST', 'Patient', patient()), entry('DELETE', `Patient/${id}`))
  isRefused(t, answer, 409, 'refused')
  t.match(answer.resource.issue?.[0].expression, ['Bundle.entry[1]'])
  t.equal(await total(fhir), 1, 'nothing was made or deleted')
  t.match(await fhir.send('GET', `/Observation/${about}`), { status: 200, headers: { etag: 'W/"1"' } })
}

async function badBundles (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const good = entry('POST', 'Patient', patient())
  const bodies: ReadonlyArray<readonly [string, unknown]> = [
    ['no body', undefined],
    ['no Bundle', patient()],
    ['a list', [good]],
    ['no type', { resourceType: 'Bundle', entry: [good] }],
    ['another type', bundle('collection', good)],
    ['a history', bundle('history', good)],
    ['entry is no list', { resourceType: 'Bundle', type: 'transaction', entry: good }]
  ]
  for (const [name, body] of bodies) isRefused(t, await fhir.send('POST', '', body), 400, name)
  isRefused(t, await fhir.send('POST', '?_x=1', bundle('transaction')), 400, 'a query')
  const entries: ReadonlyArray<readonly [string, number, unknown]> = [
    ['null', 400, null],
    ['no request', 400, { resource: patient() }],
    ['no url', 400, { request: { method: 'GET' } }],
    ['lower case', 400, entry('post', 'Patient', patient())],
    ['HEAD', 400, entry('HEAD', 'Patient')],
    ['an unknown member', 400, { ...good, extension: [] }],
    [
      'an unknown member of request',
      400,
      { resource: patient(), request: { method: 'POST', url: 'Patient', extension: [] } }
    ],
    ['another server', 400, entry('GET', 'https://elsewhere.example/fhir/Patient/1')],
    ['no type', 404, entry('POST', 'Nothing', { resourceType: 'Nothing' })],
    ['another type than the URL', 400, entry('POST', 'Observation', patient())],
    ['no resource', 400, entry('POST', 'Patient')],
    ['a create with an id', 405, entry('POST', 'Patient/1', patient())],
    ['an operation', 405, entry('POST', 'Patient/1/$meta-add', { resourceType: 'Parameters' })],
    ['$everything', 405, entry('GET', 'Patient/1/$everything')],
    ['a search by POST', 405, entry('POST', 'Patient/_search')],
    ['a history', 405, entry('GET', 'Patient/1/_history')],
    ['a Bundle', 405, entry('POST', '', bundle('batch', good))],
    ['a step up', 404, entry('GET', '../Patient/1')],
    ['a patch as a list', 400, { resource: [], request: { method: 'PATCH', url: 'Patient/1' } }],
    ['a patch as Parameters', 415, entry('PATCH', 'Patient/1', { resourceType: 'Parameters' })],
    ['ifMatch that is no tag', 400, entry('PUT', 'Patient/1', patient(), { ifMatch: '1' })],
    ['an unknown parameter', 400, entry('GET', 'Patient?nothing=1')],
    ['a misspelt criterion', 400, entry('POST', 'Patient', patient(), { ifNoneExist: 'nothing=1' })]
  ]
  for (const [name, status, wrong] of entries) {
    isRefused(t, await send(fhir, good, wrong as object), { status, expression: ['Bundle.entry[1]'] }, name)
  }
  t.equal(await total(fhir), 0, 'nothing was written')
}

async function sizes (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const entries = Array.from({ length: 1_000 }, (_, i) =>
    entry('POST', 'Patient', { resourceType: 'Patient', name: [{ text: `${i}` }] })
  )
  isRefused(t, await send(fhir, ...entries, entry('GET', 'Patient')), 413, '1001')
  t.equal(await total(fhir), 0)
  const answer = await fhir.send('POST', '', bundle('transaction', ...entries), { prefer: 'return=representation' })
  t.strictSame(
    answer.resource.entry.map(({ resource }: any) => resource.name[0].text),
    entries.map((_, i) => `${i}`),
    'in their order'
  )
  t.equal(await total(fhir), 1_000)
}

async function keptContent (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const text = JSON.stringify(
    bundle(
      'transaction',
      entry(
        'POST',
        `${fhirBase}/Observation`,
        observation(`${fhirBase}/Patient/${id}`, { valueQuantity: { value: 'V' } })
      )
    )
  ).replace('"V"', '1.10')
  const answer = await fhir.send('POST', '', text, { prefer: 'return=representation' })
  t.equal(statuses(answer)[0], '201 Created')
  t.match(answer.resource.entry[0].resource.subject, { reference: `Patient/${id}` })
  t.match(answer.text, /"value":1\.10[,}]/)
  t.match(
    (await fhir.send('GET', `/Observation/${idIn(answer.resource.entry[0].response.location)}`)).text,
    /"value":\s*1\.10[,}]/
  )
}
