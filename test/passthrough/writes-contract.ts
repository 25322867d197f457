import type { Test } from 'tap'
import {
  fhirBase, assertRejected, findLink, listRecords, buildObservation, patchType, buildPatient, storeResources,
  type World
} from './fixture.js'

/**
 * What single writes of raw FHIR must do, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/R4/http.html#create
 */
export async function testWrites (t: Test, world: World): Promise<void> {
  await t.test('a create returns the record, its version, time and Location', t => testCreate(t, world))
  await t.test('numbers keep their text, and elements of R4 that the gateway does not know are stored', t =>
    testContentPreserved(t, world)
  )
  await t.test('an update replaces the record, and never makes one', t => testUpdate(t, world))
  await t.test('a JSON Patch changes what it names and no more', t => testPatch(t, world))
  await t.test('a delete ends the record, once', t => testDelete(t, world))
  await t.test('a record that others refer to is not deleted', t => testReferencedDelete(t, world))
  await t.test('a change of another version than If-Match names is not made', t => testIfMatch(t, world))
  await t.test('of many changes of one version at once, one is made', t => testConcurrentChanges(t, world))
  await t.test('Prefer sets what the response to a write shows', t => testPreferHeader(t, world))
  await t.test("a reference with the gateway's own URL is stored as a relative one", t => testOwnAddresses(t, world))
  await t.test('a reference that leads to no record of the organization is refused by its path', t =>
    testInvalidReferences(t, world)
  )
  await t.test('a body that is not a resource of the type in the URL is refused, and nothing is written', t =>
    testInvalidBodies(t, world)
  )
}

async function testCreate (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const created = await send(
    'POST',
    '/Patient',
    buildPatient({ id: 'mine', meta: { versionId: '7', lastUpdated: '1999-01-01T00:00:00Z' } })
  )
  const { id, meta: { lastUpdated, versionId } } = created.resource
  t.match(created, {
    status: 201,
    headers: {
      etag: 'W/"1"',
      location: `${fhirBase}/Patient/${id}/_history/1`,
      'last-modified': new Date(lastUpdated).toUTCString(),
      'content-type': 'application/fhir+json; charset=utf-8'
    }
  })
  t.match(created.resource, buildPatient())
  t.not(id, 'mine', 'the server chooses the id')
  t.equal(versionId, '1')
  t.ok(Date.parse(lastUpdated) > Date.parse('2024-01-01'), 'and the time')
  t.equal((await send('POST', '/Patient', buildPatient(), { 'content-type': 'application/json' })).status, 201)
  t.equal(
    (
      await send('POST', '/Patient', buildPatient(), {
        'content-type': 'application/fhir+json; fhirVersion=4.0; charset=UTF-8'
      })
    ).status,
    201
  )
  for (const query of ['?_cascade=delete', '?x=1']) {
    assertRejected(t, await send('POST', `/Patient${query}`, buildPatient()), 400, query)
  }
}

async function testContentPreserved (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const text =
    `{"resourceType":"Observation","status":"final","code":{"text":"weight"},"subject":{"reference":"Patient/${id}"},"valueQuantity":{"value":1.10,"unit":"kg"},` +
    '"component":[{"code":{"text":"a"},"valueQuantity":{"value":100.00}},{"code":{"text":"b"},"valueQuantity":{"value":0.000000100}}],' +
    '"extension":[{"url":"http://example.org/unknown","extension":[{"url":"deep","valueDecimal":2.50}]}],"note":[{"text":"line\\nÄ 😀 \\\\ \\"q\\" </script>"}],"_status":{"id":"s1","extension":[{"url":"http://example.org/why","valueString":"so"}]}}'
  const created = await fhir.send('POST', '/Observation', text)
  t.equal(created.status, 201)
  const path = `/Observation/${created.resource.id}`
  const responses = {
    read: await fhir.send('GET', path),
    created,
    found: await fhir.send('GET', `/Observation?_id=${created.resource.id}`)
  }
  for (const [name, response] of Object.entries(responses)) {
    for (const number of ['1.10', '100.00', '2.50']) t.ok(response.text.includes(`:${number}`), `${name}: ${number}`)
    const {
      resource: { extension, note, _status }
    } = { resource: response.resource.entry?.[0].resource ?? response.resource }
    t.match(
      { extension, note, _status },
      {
        extension: [{ url: 'http://example.org/unknown', extension: [{ url: 'deep' }] }],
        note: [{ text: 'line\nÄ 😀 \\ "q" </script>' }],
        _status: { extension: [{ valueString: 'so' }] }
      },
      name
    )
  }
  const patched = await fhir.send(
    'PATCH',
    path,
    '[{"op":"replace","path":"/component/0/valueQuantity/value","value":7.0}]',
    patchType
  )
  t.match(patched, { status: 200, headers: { etag: 'W/"2"' } })
  for (const number of ['1.10', '7.0', '2.50']) {
    t.ok((await fhir.send('GET', path)).text.includes(`:${number}`), `patched: ${number}`)
  }
}

async function testUpdate (t: Test, { fhir: join }: World): Promise<void> {
  const { send, tenantId } = await join()
  const { id } = (
    await send(
      'POST',
      '/Patient',
      buildPatient({ gender: 'female', meta: { tag: [{ system: 'http://ward', code: '7' }] } })
    )
  ).resource
  const updated = await send('PUT', `/Patient/${id}`, buildPatient({ id, active: true }))
  t.match(updated, {
    status: 200,
    headers: {
      etag: 'W/"2"',
      location: undefined,
      'content-location': `${fhirBase}/Patient/${id}/_history/2`,
      'last-modified': /GMT$/
    },
    resource: { id, active: true, gender: undefined, meta: { versionId: '2' } }
  })
  t.match(await send('GET', `/Patient/${id}`), { resource: { active: true, gender: undefined } })
  t.equal(updated.resource.meta.tag.filter(({ system }: any) => system === 'urn:clinigate:tenant').length, 1)
  t.match(updated.resource.meta.tag.find(({ system }: any) => system === 'urn:clinigate:tenant'), { code: tenantId })
  assertRejected(t, await send('PUT', `/Patient/${id}`, buildPatient({ id: 'other' })), 400, 'another id')
  for (const [path, body] of [
    ['/Patient/chosen-by-me', buildPatient({ id: 'chosen-by-me' })],
    ['/Patient/4711000', buildPatient({ id: '4711000' })],
    [`/Observation/${id}`, buildObservation(`Patient/${id}`, { id })]
  ] as const) {
    assertRejected(t, await send('PUT', path, body), { status: 404, code: 'not-found' }, path)
    t.equal((await send('GET', path)).status, 404, path)
  }
  await send('DELETE', `/Patient/${id}`)
  assertRejected(t, await send('PUT', `/Patient/${id}`, buildPatient({ id })), 404, 'a deleted record does not come back')
}

async function testPatch (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient({ gender: 'female', birthDate: '1990-03' }))).resource
  const patch = (operations: unknown, headers: Readonly<Record<string, string>> = patchType) =>
    send('PATCH', `/Patient/${id}`, operations, headers)
  t.match(
    await patch([
      { op: 'replace', path: '/gender', value: 'other' },
      { op: 'add', path: '/name/0/given/-', value: 'King' },
      { op: 'remove', path: '/birthDate' },
      { op: 'test', path: '/name/0/family', value: 'Byron' }
    ]),
    {
      status: 200,
      headers: { etag: 'W/"2"' },
      resource: {
        id,
        gender: 'other',
        birthDate: undefined,
        name: [{ family: 'Byron', given: ['Ada', 'King'] }],
        meta: { versionId: '2' }
      }
    }
  )
  const refused: ReadonlyArray<readonly [number, unknown]> = [
    [422, [{ op: 'test', path: '/gender', value: 'male' }, { op: 'remove', path: '/gender' }]],
    [422, [{ op: 'remove', path: '/nothing' }]],
    [422, [{ op: 'replace', path: '/id', value: 'other' }]],
    [422, [{ op: 'replace', path: '/resourceType', value: 'Observation' }]],
    [400, [{ op: 'replace', path: '', value: {} }]],
    [400, [{ op: 'invent', path: '/gender' }]],
    [400, { gender: 'male' }]
  ]
  for (const [status, operations] of refused) {
    assertRejected(t, await patch(operations), status, JSON.stringify(operations))
  }
  assertRejected(t, await send('PATCH', '/Patient/no-such', [{ op: 'remove', path: '/gender' }], patchType), 404, 'unknown')
  t.match(
    await send('GET', `/Patient/${id}`),
    { resource: { gender: 'other', meta: { versionId: '2' } } },
    'nothing of what was refused was done'
  )
  await patch([{ op: 'add', path: '/meta/tag/-', value: { system: 'urn:clinigate:tenant', code: 'another' } }])
  t.equal(
    (await send('GET', `/Patient/${id}`)).resource.meta.tag.filter(
      ({ system }: any) => system === 'urn:clinigate:tenant'
    ).length,
    1,
    'no patch moves a record to another organization'
  )
}

async function testDelete (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  for (const query of ['?_cascade=delete', '?_expunge=true', '?x=1']) {
    assertRejected(t, await send('DELETE', `/Patient/${id}${query}`), 400, query)
  }
  t.match(await send('DELETE', `/Patient/${id}`), { status: 204, text: '', headers: { 'content-type': undefined } })
  t.equal((await send('GET', `/Patient/${id}`)).status, 404)
  t.equal((await send('GET', '/Patient')).resource.total, 0)
  assertRejected(t, await send('DELETE', `/Patient/${id}`), 404, 'again')
  assertRejected(t, await send('DELETE', '/Patient/no-such'), 404, 'unknown')
}

async function testReferencedDelete (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const [referrer] = await storeResources(fhir, buildObservation(`Patient/${id}`))
  const response = await fhir.send('DELETE', `/Patient/${id}`)
  assertRejected(t, response, { status: 409, code: 'conflict' }, 'referred to')
  t.match(response.resource.issue, [{ code: 'conflict', diagnostics: `Observation/${referrer}: delete it first.` }])
  await fhir.send('DELETE', `/Observation/${referrer}`)
  t.equal((await fhir.send('DELETE', `/Patient/${id}`)).status, 204)
}

async function testIfMatch (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  const path = `/Patient/${id}`
  const remove = [{ op: 'remove', path: '/gender' }]
  await send('PUT', path, buildPatient({ id, gender: 'female' }))
  const withIfMatch = (tag: string) => ({ 'if-match': tag })
  for (const tag of ['W/"1"', '"1"', 'W/"3"', 'W/"x"', 'W/"99999999999999999999"']) {
    assertRejected(t, await send('PUT', path, buildPatient({ id }), withIfMatch(tag)), 412, `PUT ${tag}`)
    assertRejected(t, await send('PATCH', path, remove, { ...patchType, ...withIfMatch(tag) }), 412, `PATCH ${tag}`)
    assertRejected(t, await send('DELETE', path, undefined, withIfMatch(tag)), 412, `DELETE ${tag}`)
  }
  for (const tag of ['2', 'two', '', 'W/"', 'W/"2", W/"3"']) {
    assertRejected(t, await send('PUT', path, buildPatient({ id }), withIfMatch(tag)), 400, `no entity tag: ${tag}`)
  }
  t.match(await send('GET', path), { headers: { etag: 'W/"2"' }, resource: { gender: 'female' } }, 'nothing was done')
  t.match(await send('PUT', path, buildPatient({ id, gender: 'other' }), withIfMatch('W/"2"')), {
    status: 200,
    headers: { etag: 'W/"3"' }
  })
  t.match(await send('PATCH', path, remove, { ...patchType, ...withIfMatch('"3"') }), {
    status: 200,
    headers: { etag: 'W/"4"' }
  })
  t.match(await send('PUT', path, buildPatient({ id, active: true }), withIfMatch('*')), {
    status: 200,
    headers: { etag: 'W/"5"' }
  })
  t.equal((await send('DELETE', path, undefined, withIfMatch('W/"5"'))).status, 204)
  for (const tag of ['W/"5"', 'W/"6"', '*']) {
    assertRejected(t, await send('PUT', path, buildPatient({ id }), withIfMatch(tag)), 404, `of a deleted record: ${tag}`)
  }
}

async function testConcurrentChanges (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  const responses = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      send('PUT', `/Patient/${id}`, buildPatient({ id, name: [{ text: `change ${i}` }] }), { 'if-match': 'W/"1"' })
    )
  )
  t.strictSame(responses.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412])
  const made = responses.findIndex(({ status }) => status === 200)
  t.match(await send('GET', `/Patient/${id}`), {
    headers: { etag: 'W/"2"' },
    resource: { name: [{ text: `change ${made}` }] }
  })
}

async function testPreferHeader (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  const writes = [
    (headers: Readonly<Record<string, string>>) => send('POST', '/Patient', buildPatient(), headers),
    (headers: Readonly<Record<string, string>>) =>
      send('PUT', `/Patient/${id}`, buildPatient({ id, name: [{ text: JSON.stringify(headers) }] }), headers),
    (headers: Readonly<Record<string, string>>) =>
      send('PATCH', `/Patient/${id}`, [{ op: 'add', path: '/name/0/given', value: [JSON.stringify(headers)] }], {
        ...patchType,
        ...headers
      })
  ]
  for (const [at, write] of writes.entries()) {
    const status = at === 0 ? 201 : 200
    t.match(await write({ prefer: 'return=minimal' }), {
      status,
      text: '',
      headers: {
        etag: /W/,
        'last-modified': /GMT/,
        'content-location': /_history/,
        'content-type': undefined,
        location: at === 0 ? /Patient/ : undefined
      }
    })
    t.match(await write({ prefer: 'return=OperationOutcome' }), {
      status,
      headers: { etag: /W/ },
      resource: { resourceType: 'OperationOutcome', issue: [{ severity: 'information' }] }
    })
    for (const prefer of [
      'return=representation',
      'handling=strict, return=representation',
      'respond-async',
      'return=nonsense'
    ]) { t.match(await write({ prefer }), { status, resource: { resourceType: 'Patient' } }, prefer) }
  }
  t.match(
    await send('GET', `/Patient/${id}`, undefined, { prefer: 'return=minimal' }),
    { status: 200, resource: { id } },
    'a read shows what it read'
  )
}

async function testOwnAddresses (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const { status, resource } = await fhir.send(
    'POST',
    '/Observation',
    buildObservation(`${fhirBase}/Patient/${id}`, { note: [{ text: `${fhirBase}/Patient/${id}` }] })
  )
  t.strictSame(
    [status, resource.subject.reference, resource.note[0].text],
    [201, `Patient/${id}`, `${fhirBase}/Patient/${id}`],
    'in a text it stays'
  )
  t.match(
    await fhir.send(
      'PUT',
      `/Observation/${resource.id}`,
      buildObservation(`${fhirBase}/Patient/${id}`, { id: resource.id, status: 'amended' })
    ),
    { resource: { subject: { reference: `Patient/${id}` } } }
  )
  const found = await fhir.send('GET', `/Observation?subject=${encodeURIComponent(`${fhirBase}/Patient/${id}`)}`)
  t.strictSame(listRecords(found), [`Observation/${resource.id}`])
  t.match(findLink(found, 'self'), /subject=/)
}

async function testInvalidReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, gone] = await storeResources(fhir, buildPatient(), buildPatient())
  await fhir.send('DELETE', `/Patient/${gone}`)
  for (const reference of [
    'Patient/no-such',
    `Patient/${gone}`,
    `https://elsewhere.example/fhir/Patient/${id}`,
    'Patient?name=Byron',
    'urn:uuid:5b4e8f0c-0000-4000-8000-000000000000',
    '#inner',
    `./Patient/${id}`
  ]) {
    const response = await fhir.send('POST', '/Observation', buildObservation(reference))
    assertRejected(t, response, { status: 422, code: 'business-rule', expression: ['Observation.subject'] }, reference)
    t.notOk(response.text.includes(reference), reference)
  }
  t.equal((await fhir.send('GET', '/Observation')).resource.total, 0)
}

async function testInvalidBodies (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const bodies: ReadonlyArray<readonly [string, unknown]> = [
    ['another type', buildObservation('Patient/1')],
    ['no type', { name: [] }],
    ['a list', [buildPatient()]],
    ['null', 'null'],
    ['a text', '"Patient"'],
    ['nothing', undefined],
    ['meta as a text', buildPatient({ meta: 'x' })]
  ]
  for (const [name, body] of bodies) {
    t.match(
      await send('POST', '/Patient', body),
      { status: name.startsWith('meta') ? 422 : 400, resource: { resourceType: 'OperationOutcome' } },
      name
    )
  }
  for (const body of [
    '{"resourceType":"Patient"',
    '{"resourceType":"Patient","active":true,"active":false}',
    '{"resourceType":"Patient",}',
    "{'resourceType':'Patient'}",
    '   '
  ]) {
    assertRejected(t, await send('POST', '/Patient', body), { status: 400, code: 'structure' }, body)
  }
  t.equal((await send('GET', '/Patient')).resource.total, 0)
}
