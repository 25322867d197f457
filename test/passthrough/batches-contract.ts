import type { Test } from 'tap'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  parseVersionedId,
  assertRejected,
  listRecords,
  findLink,
  buildObservation,
  buildPatchEntry,
  buildPatient,
  storeResources,
  type RawResponse,
  type Fhir,
  type World
} from './fixture.js'

/** What batches must do, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/http.html#transaction */
export async function testBatches (t: Test, world: World): Promise<void> {
  await t.test('each entry gets the response of the same request alone, in its position', t => testEntryOrder(t, world))
  await t.test('the failure of one entry stops no other', t => testEntryFailures(t, world))
  await t.test('the response shows what was written when Prefer requests it, and always what was read', t => testPreferReturn(t, world))
  await t.test('an entry cannot refer to another one', t => testIndependentEntries(t, world))
  await t.test('a search in a batch has further pages', t => testPagination(t, world))
  await t.test('a thousand entries are accepted, and one more is refused', t => testMaxEntries(t, world))
}

const send = ({ send }: Fhir, ...entries: unknown[]): Promise<RawResponse> =>
  send('POST', '', buildBundle('batch', ...(entries as object[])))
const listStatuses = ({ resource }: RawResponse): string[] => resource.entry.map(({ response }: any) => response.status)
const criteria = 'identifier=http://mrn%7C1'

async function testEntryOrder (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, going] = await storeResources(fhir, buildPatient(), buildPatient())
  const response = await send(
    fhir,
    buildEntry('GET', `Patient/${id}`),
    buildEntry('GET', `/Patient/${id}`),
    buildEntry('GET', `${fhirBase}/Patient/${id}/_history/1`),
    buildEntry('GET', `Patient?_id=${id}`),
    buildEntry('POST', 'Patient', buildPatient({ identifier: [{ system: 'http://mrn', value: '1' }] }), {
      ifNoneExist: criteria
    }),
    buildEntry('DELETE', `Patient/${going}`),
    buildPatchEntry(`Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }], { ifMatch: 'W/"1"' })
  )
  t.match(response, {
    status: 200,
    headers: { 'content-type': 'application/fhir+json; charset=utf-8' },
    resource: { resourceType: 'Bundle', type: 'batch-response' }
  })
  t.strictSame(listStatuses(response), ['200 OK', '200 OK', '200 OK', '200 OK', '201 Created', '204 No Content', '200 OK'])
  const [read, , version, search, created, , patched] = response.resource.entry
  t.match(read, {
    resource: { id },
    response: {
      etag: /^W\/"[12]"$/,
      lastModified: /^\d{4}-/,
      location: new RegExp(`^${fhirBase}/Patient/${id}/_history/`)
    }
  })
  t.match(version.resource, { id, meta: { versionId: '1' } })
  t.match(search.resource, { type: 'searchset', total: 1 })
  t.match(created.response, { etag: 'W/"1"', location: new RegExp(`^${fhirBase}/Patient/`) })
  t.match(patched.response, { etag: 'W/"2"', location: `${fhirBase}/Patient/${id}/_history/2` })
  t.match(await fhir.send('GET', `/Patient/${id}`), { resource: { gender: 'other' } })
  t.equal((await fhir.send('GET', `/Patient/${going}`)).status, 404)
  t.match(await send(fhir), { status: 200, resource: { type: 'batch-response', entry: undefined } }, 'nothing to do')
}

async function testEntryFailures (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const wrong: ReadonlyArray<readonly [string, unknown]> = [
    ['404 not-found', buildEntry('GET', 'Patient/no-such')],
    ['404 not-found', buildEntry('GET', 'Nothing/1')],
    ['404 not-found', buildEntry('PUT', 'Patient/no-such', buildPatient())],
    ['400 not-supported', buildEntry('GET', 'Patient?nothing=1')],
    ['400 invalid', buildEntry('GET', 'https://elsewhere.example/Patient/1')],
    ['400 invalid', buildEntry('POST', 'Observation', buildPatient())],
    ['400 invalid', null],
    ['400 invalid', { request: { method: 'GET', url: `Patient/${id}` }, modifierExtension: [] }],
    ['405 not-supported', buildEntry('POST', `Patient/${id}`, buildPatient())],
    ['405 not-supported', buildEntry('GET', 'Patient/$everything')],
    ['405 not-supported', buildEntry('POST', '', buildBundle('batch'))],
    ['412 conflict', buildEntry('PUT', `Patient/${id}`, buildPatient(), { ifMatch: 'W/"7"' })],
    ['415 not-supported', buildEntry('PATCH', `Patient/${id}`, { resourceType: 'Parameters' })],
    ['422 business-rule', buildEntry('POST', 'Observation', buildObservation('Patient/no-such'))],
    ['422 processing', buildPatchEntry(`Patient/${id}`, [{ op: 'test', path: '/active', value: true }])],
    [
      '400 structure',
      buildEntry('PATCH', `Patient/${id}`, {
        resourceType: 'Binary',
        contentType: 'application/json-patch+json',
        data: Buffer.from('[{]').toString('base64')
      })
    ]
  ]
  const valid = buildEntry('POST', 'Patient', buildPatient())
  const response = await send(fhir, valid, ...wrong.map(([, one]) => one), valid)
  t.equal(response.status, 200)
  t.strictSame(
    response.resource.entry
      .slice(1, -1)
      .map(({ response: { status, outcome } }: any) => `${status.slice(0, 3)} ${outcome.issue[0].code}`),
    wrong.map(([expected]) => expected)
  )
  t.strictSame([listStatuses(response)[0], listStatuses(response).at(-1)], ['201 Created', '201 Created'])
  t.ok(
    response.resource.entry.every(
      ({ resource, response: { outcome } }: any) =>
        resource === undefined && (outcome === undefined || outcome.resourceType === 'OperationOutcome')
    )
  )
  t.equal((await fhir.send('GET', '/Patient?_summary=count')).resource.total, 3)
}

async function testPreferReturn (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const listResources = async (headers: Readonly<Record<string, string>>) =>
    (
      await fhir.send(
        'POST',
        '',
        buildBundle(
          'batch',
          buildEntry('POST', 'Patient', buildPatient()),
          buildEntry('GET', `Patient/${id}`),
          buildEntry('DELETE', 'Patient?identifier=none')
        ),
        headers
      )
    ).resource.entry.map(({ resource }: any) => resource?.resourceType)
  t.strictSame(await listResources({}), [undefined, 'Patient', undefined])
  t.strictSame(await listResources({ prefer: 'return=minimal' }), [undefined, 'Patient', undefined])
  t.strictSame(await listResources({ prefer: 'return=representation' }), ['Patient', 'Patient', undefined])
}

async function testIndependentEntries (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  await storeResources(fhir, buildPatient({ identifier: [{ system: 'http://mrn', value: '1' }] }))
  const fullUrl = 'urn:uuid:00000000-0000-4000-8000-000000000001'
  const response = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient(), { fullUrl }),
    buildEntry('POST', 'Observation', buildObservation(fullUrl)),
    buildEntry('POST', 'Observation', buildObservation(`Patient?${criteria}`))
  )
  t.strictSame(listStatuses(response).map(status => status.slice(0, 3)), ['201', '422', '422'])
}

async function testPagination (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const ids = await storeResources(fhir, ...Array.from({ length: 5 }, () => buildPatient()))
  const { resource } = (await send(fhir, buildEntry('GET', 'Patient?_count=3'))).resource.entry[0]
  const next = findLink({ resource } as RawResponse, 'next')!
  const rest = await fhir.send('GET', next)
  const inBatch = (await send(fhir, buildEntry('GET', next))).resource.entry[0]
  t.strictSame([...listRecords({ resource } as RawResponse), ...listRecords(rest)].sort(), ids.map(id => `Patient/${id}`).sort())
  t.strictSame(listRecords(inBatch), listRecords(rest))
}

async function testMaxEntries (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const response = await send(
    fhir,
    ...Array.from({ length: 1_000 }, (_, i) => buildEntry('GET', i % 2 === 0 ? `Patient/${id}` : 'Patient/no-such'))
  )
  t.strictSame(
    listStatuses(response).map(status => status.slice(0, 3)),
    Array.from({ length: 1_000 }, (_, i) => (i % 2 === 0 ? '200' : '404'))
  )
  assertRejected(t, await send(fhir, ...Array.from({ length: 1_001 }, () => buildEntry('GET', `Patient/${id}`))), 413, '1001')
  t.match(parseVersionedId(response.resource.entry[0].response.location), id)
}
