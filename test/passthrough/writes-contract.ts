import type { Test } from 'tap'
import { fhirBase, isRefused, linkTo, listed, observation, patchType, patient, stored, type World } from './fixture.js'

/**
 * What single writes of raw FHIR must do, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/R4/http.html#create
 */
export async function writesContract (t: Test, world: World): Promise<void> {
  await t.test('a create answers with the record, its version, time and place', t => creates(t, world))
  await t.test('numbers keep their text, and what R4 has but the gateway does not know is kept', t =>
    keptContent(t, world)
  )
  await t.test('an update replaces the record, and never makes one', t => updates(t, world))
  await t.test('a JSON Patch changes what it names and no more', t => patches(t, world))
  await t.test('a delete ends the record, once', t => deletes(t, world))
  await t.test('a record that others refer to is not deleted', t => referredTo(t, world))
  await t.test('a change of another version than If-Match names is not made', t => demandedVersions(t, world))
  await t.test('of many changes of one version at once, one is made', t => racingChanges(t, world))
  await t.test('Prefer says what the answer to a write shows', t => preferences(t, world))
  await t.test('a reference to the gateway\'s own address is stored as a relative one', t => ownAddresses(t, world))
  await t.test('a reference that leads to no record of the organization is refused by its path', t =>
    badReferences(t, world)
  )
  await t.test('a body that is no resource of the type in the URL is refused, and nothing is written', t =>
    badBodies(t, world)
  )
}

async function creates (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const created = await send(
    'POST',
    '/Patient',
    patient({ id: 'mine', meta: { versionId: '7', lastUpdated: '1999-01-01T00:00:00Z' } })
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
  t.match(created.resource, patient())
  t.not(id, 'mine', 'the server chooses the id')
  t.equal(versionId, '1')
  t.ok(Date.parse(lastUpdated) > Date.parse('2024-01-01'), 'and the time')
  t.equal((await send('POST', '/Patient', patient(), { 'content-type': 'application/json' })).status, 201)
  t.equal(
    (
      await send('POST', '/Patient', patient(), {
        'content-type': 'application/fhir+json; fhirVersion=4.0; charset=UTF-8'
      })
    ).status,
    201
  )
  for (const query of ['?_cascade=delete', '?x=1']) {
    isRefused(t, await send('POST', `/Patient${query}`, patient()), 400, query)
  }
}

async function keptContent (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const text =
    `{"resourceType":"Observation","status":"final","code":{"text":"weight"},"subject":{"reference":"Patient/${id}"},"valueQuantity":{"value":1.10,"unit":"kg"},` +
    '"component":[{"code":{"text":"a"},"valueQuantity":{"value":100.00}},{"code":{"text":"b"},"valueQuantity":{"value":0.000000100}}],' +
    '"extension":[{"url":"http://example.org/unknown","extension":[{"url":"deep","valueDecimal":2.50}]}],"note":[{"text":"line\\nÄ 😀 \\\\ \\"q\\" </script>"}],"_status":{"id":"s1","extension":[{"url":"http://example.org/why","valueString":"so"}]}}'
  const created = await fhir.send('POST', '/Observation', text)
  t.equal(created.status, 201)
  const path = `/Observation/${created.resource.id}`
  const shown = {
    read: await fhir.send('GET', path),
    created,
    found: await fhir.send('GET', `/Observation?_id=${created.resource.id}`)
  }
  for (const [name, answer] of Object.entries(shown)) {
    for (const number of ['1.10', '100.00', '2.50']) t.ok(answer.text.includes(`:${number}`), `${name}: ${number}`)
    const {
      resource: { extension, note, _status }
    } = { resource: answer.resource.entry?.[0].resource ?? answer.resource }
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

async function updates (t: Test, { fhir: join }: World): Promise<void> {
  const { send, tenantId } = await join()
  const { id } = (
    await send(
      'POST',
      '/Patient',
      patient({ gender: 'female', meta: { tag: [{ system: 'http://ward', code: '7' }] } })
    )
  ).resource
  const updated = await send('PUT', `/Patient/${id}`, patient({ id, active: true }))
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
  isRefused(t, await send('PUT', `/Patient/${id}`, patient({ id: 'other' })), 400, 'another id')
  for (const [path, body] of [
    ['/Patient/chosen-by-me', patient({ id: 'chosen-by-me' })],
    ['/Patient/4711000', patient({ id: '4711000' })],
    [`/Observation/${id}`, observation(`Patient/${id}`, { id })]
  ] as const) {
    isRefused(t, await send('PUT', path, body), { status: 404, code: 'not-found' }, path)
    t.equal((await send('GET', path)).status, 404, path)
  }
  await send('DELETE', `/Patient/${id}`)
  isRefused(t, await send('PUT', `/Patient/${id}`, patient({ id })), 404, 'a deleted record does not come back')
}

async function patches (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', patient({ gender: 'female', birthDate: '1990-03' }))).resource
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
  for (const [status, operations] of refused) isRefused(t, await patch(operations), status, JSON.stringify(operations))
  isRefused(t, await send('PATCH', '/Patient/no-such', [{ op: 'remove', path: '/gender' }], patchType), 404, 'unknown')
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

async function deletes (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', patient())).resource
  for (const query of ['?_cascade=delete', '?_expunge=true', '?x=1']) {
    isRefused(t, await send('DELETE', `/Patient/${id}${query}`), 400, query)
  }
  t.match(await send('DELETE', `/Patient/${id}`), { status: 204, text: '', headers: { 'content-type': undefined } })
  t.equal((await send('GET', `/Patient/${id}`)).status, 404)
  t.equal((await send('GET', '/Patient')).resource.total, 0)
  isRefused(t, await send('DELETE', `/Patient/${id}`), 404, 'again')
  isRefused(t, await send('DELETE', '/Patient/no-such'), 404, 'unknown')
}

async function referredTo (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const [referrer] = await stored(fhir, observation(`Patient/${id}`))
  const answer = await fhir.send('DELETE', `/Patient/${id}`)
  isRefused(t, answer, { status: 409, code: 'conflict' }, 'referred to')
  t.match(answer.resource.issue, [{ code: 'conflict', diagnostics: `Observation/${referrer}: delete it first.` }])
  await fhir.send('DELETE', `/Observation/${referrer}`)
  t.equal((await fhir.send('DELETE', `/Patient/${id}`)).status, 204)
}

async function demandedVersions (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', patient())).resource
  const path = `/Patient/${id}`
  const remove = [{ op: 'remove', path: '/gender' }]
  await send('PUT', path, patient({ id, gender: 'female' }))
  const demanding = (tag: string) => ({ 'if-match': tag })
  for (const tag of ['W/"1"', '"1"', 'W/"3"', 'W/"x"', 'W/"99999999999999999999"']) {
    isRefused(t, await send('PUT', path, patient({ id }), demanding(tag)), 412, `PUT ${tag}`)
    isRefused(t, await send('PATCH', path, remove, { ...patchType, ...demanding(tag) }), 412, `PATCH ${tag}`)
    isRefused(t, await send('DELETE', path, undefined, demanding(tag)), 412, `DELETE ${tag}`)
  }
  for (const tag of ['2', 'two', '', 'W/"', 'W/"2", W/"3"']) {
    isRefused(t, await send('PUT', path, patient({ id }), demanding(tag)), 400, `no entity tag: ${tag}`)
  }
  t.match(await send('GET', path), { headers: { etag: 'W/"2"' }, resource: { gender: 'female' } }, 'nothing was done')
  t.match(await send('PUT', path, patient({ id, gender: 'other' }), demanding('W/"2"')), {
    status: 200,
    headers: { etag: 'W/"3"' }
  })
  t.match(await send('PATCH', path, remove, { ...patchType, ...demanding('"3"') }), {
    status: 200,
    headers: { etag: 'W/"4"' }
  })
  t.match(await send('PUT', path, patient({ id, active: true }), demanding('*')), {
    status: 200,
    headers: { etag: 'W/"5"' }
  })
  t.equal((await send('DELETE', path, undefined, demanding('W/"5"'))).status, 204)
  for (const tag of ['W/"5"', 'W/"6"', '*']) {
    isRefused(t, await send('PUT', path, patient({ id }), demanding(tag)), 404, `of a deleted record: ${tag}`)
  }
}

async function racingChanges (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', patient())).resource
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      send('PUT', `/Patient/${id}`, patient({ id, name: [{ text: `change ${i}` }] }), { 'if-match': 'W/"1"' })
    )
  )
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412])
  const made = answers.findIndex(({ status }) => status === 200)
  t.match(await send('GET', `/Patient/${id}`), {
    headers: { etag: 'W/"2"' },
    resource: { name: [{ text: `change ${made}` }] }
  })
}

async function preferences (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', patient())).resource
  const writes = [
    (headers: Readonly<Record<string, string>>) => send('POST', '/Patient', patient(), headers),
    (headers: Readonly<Record<string, string>>) =>
      send('PUT', `/Patient/${id}`, patient({ id, name: [{ text: JSON.stringify(headers) }] }), headers),
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

async function ownAddresses (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const { status, resource } = await fhir.send(
    'POST',
    '/Observation',
    observation(`${fhirBase}/Patient/${id}`, { note: [{ text: `${fhirBase}/Patient/${id}` }] })
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
      observation(`${fhirBase}/Patient/${id}`, { id: resource.id, status: 'amended' })
    ),
    { resource: { subject: { reference: `Patient/${id}` } } }
  )
  const found = await fhir.send('GET', `/Observation?subject=${encodeURIComponent(`${fhirBase}/Patient/${id}`)}`)
  t.strictSame(listed(found), [`Observation/${resource.id}`])
  t.match(linkTo(found, 'self'), /subject=/)
}

async function badReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, gone] = await stored(fhir, patient(), patient())
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
    const answer = await fhir.send('POST', '/Observation', observation(reference))
    isRefused(t, answer, { status: 422, code: 'business-rule', expression: ['Observation.subject'] }, reference)
    t.notOk(answer.text.includes(reference), reference)
  }
  t.equal((await fhir.send('GET', '/Observation')).resource.total, 0)
}

async function badBodies (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const bodies: ReadonlyArray<readonly [string, unknown]> = [
    ['another type', observation('Patient/1')],
    ['no type', { name: [] }],
    ['a list', [patient()]],
    ['null', 'null'],
    ['a text', '"Patient"'],
    ['nothing', undefined],
    ['meta as a text', patient({ meta: 'x' })]
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
    isRefused(t, await send('POST', '/Patient', body), { status: 400, code: 'structure' }, body)
  }
  t.equal((await send('GET', '/Patient')).resource.total, 0)
}
