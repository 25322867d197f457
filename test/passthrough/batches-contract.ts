import type { Test } from 'tap'
import {
  bundle,
  entry,
  fhirBase,
  idIn,
  isRefused,
  listed,
  linkTo,
  observation,
  patchEntry,
  patient,
  stored,
  type Answer,
  type Fhir,
  type World
} from './fixture.js'

/** What batches must do, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/http.html#transaction */
export async function batchesContract (t: Test, world: World): Promise<void> {
  await t.test('each entry is answered in its place as the same request alone', t => inPlace(t, world))
  await t.test('what goes wrong with one entry stops no other', t => failures(t, world))
  await t.test('the answer shows what was written when that is wanted, and always what was read', t => shown(t, world))
  await t.test('an entry refers to no other one', t => independent(t, world))
  await t.test('a search in a batch can be walked on', t => walks(t, world))
  await t.test('a thousand entries are taken, and one more is refused', t => sizes(t, world))
}

const send = ({ send }: Fhir, ...entries: unknown[]): Promise<Answer> =>
  send('POST', '', bundle('batch', ...(entries as object[])))
const statuses = ({ resource }: Answer): string[] => resource.entry.map(({ response }: any) => response.status)
const criteria = 'identifier=http://mrn%7C1'

async function inPlace (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id, going] = await stored(fhir, patient(), patient())
  const answer = await send(
    fhir,
    entry('GET', `Patient/${id}`),
    entry('GET', `/Patient/${id}`),
    entry('GET', `${fhirBase}/Patient/${id}/_history/1`),
    entry('GET', `Patient?_id=${id}`),
    entry('POST', 'Patient', patient({ identifier: [{ system: 'http://mrn', value: '1' }] }), {
      ifNoneExist: criteria
    }),
    entry('DELETE', `Patient/${going}`),
    patchEntry(`Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }], { ifMatch: 'W/"1"' })
  )
  t.match(answer, {
    status: 200,
    headers: { 'content-type': 'application/fhir+json; charset=utf-8' },
    resource: { resourceType: 'Bundle', type: 'batch-response' }
  })
  t.strictSame(statuses(answer), ['200 OK', '200 OK', '200 OK', '200 OK', '201 Created', '204 No Content', '200 OK'])
  const [read, , version, search, created, , patched] = answer.resource.entry
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

async function failures (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const wrong: ReadonlyArray<readonly [string, unknown]> = [
    ['404 not-found', entry('GET', 'Patient/no-such')],
    ['404 not-found', entry('GET', 'Nothing/1')],
    ['404 not-found', entry('PUT', 'Patient/no-such', patient())],
    ['400 not-supported', entry('GET', 'Patient?nothing=1')],
    ['400 invalid', entry('GET', 'https://elsewhere.example/Patient/1')],
    ['400 invalid', entry('POST', 'Observation', patient())],
    ['400 invalid', null],
    ['400 invalid', { request: { method: 'GET', url: `Patient/${id}` }, modifierExtension: [] }],
    ['405 not-supported', entry('POST', `Patient/${id}`, patient())],
    ['405 not-supported', entry('GET', 'Patient/$everything')],
    ['405 not-supported', entry('POST', '', bundle('batch'))],
    ['412 conflict', entry('PUT', `Patient/${id}`, patient(), { ifMatch: 'W/"7"' })],
    ['415 not-supported', entry('PATCH', `Patient/${id}`, { resourceType: 'Parameters' })],
    ['422 business-rule', entry('POST', 'Observation', observation('Patient/no-such'))],
    ['422 processing', patchEntry(`Patient/${id}`, [{ op: 'test', path: '/active', value: true }])],
    [
      '400 structure',
      entry('PATCH', `Patient/${id}`, {
        resourceType: 'Binary',
        contentType: 'application/json-patch+json',
        data: Buffer.from('[{]').toString('base64')
      })
    ]
  ]
  const good = entry('POST', 'Patient', patient())
  const answer = await send(fhir, good, ...wrong.map(([, one]) => one), good)
  t.equal(answer.status, 200)
  t.strictSame(
    answer.resource.entry
      .slice(1, -1)
      .map(({ response: { status, outcome } }: any) => `${status.slice(0, 3)} ${outcome.issue[0].code}`),
    wrong.map(([expected]) => expected)
  )
  t.strictSame([statuses(answer)[0], statuses(answer).at(-1)], ['201 Created', '201 Created'])
  t.ok(
    answer.resource.entry.every(
      ({ resource, response: { outcome } }: any) =>
        resource === undefined && (outcome === undefined || outcome.resourceType === 'OperationOutcome')
    )
  )
  t.equal((await fhir.send('GET', '/Patient?_summary=count')).resource.total, 3)
}

async function shown (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const resources = async (headers: Readonly<Record<string, string>>) =>
    (
      await fhir.send(
        'POST',
        '',
        bundle(
          'batch',
          entry('POST', 'Patient', patient()),
          entry('GET', `Patient/${id}`),
          entry('DELETE', 'Patient?identifier=none')
        ),
        headers
      )
    ).resource.entry.map(({ resource }: any) => resource?.resourceType)
  t.strictSame(await resources({}), [undefined, 'Patient', undefined])
  t.strictSame(await resources({ prefer: 'return=minimal' }), [undefined, 'Patient', undefined])
  t.strictSame(await resources({ prefer: 'return=representation' }), ['Patient', 'Patient', undefined])
}

async function independent (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  await stored(fhir, patient({ identifier: [{ system: 'http://mrn', value: '1' }] }))
  const fullUrl = 'urn:uuid:00000000-0000-4000-8000-000000000001'
  const answer = await send(
    fhir,
    entry('POST', 'Patient', patient(), { fullUrl }),
    entry('POST', 'Observation', observation(fullUrl)),
    entry('POST', 'Observation', observation(`Patient?${criteria}`))
  )
  t.strictSame(statuses(answer).map(status => status.slice(0, 3)), ['201', '422', '422'])
}

async function walks (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const ids = await stored(fhir, ...Array.from({ length: 5 }, () => patient()))
  const { resource } = (await send(fhir, entry('GET', 'Patient?_count=3'))).resource.entry[0]
  const next = linkTo({ resource } as Answer, 'next')!
  const rest = await fhir.send('GET', next)
  const inBatch = (await send(fhir, entry('GET', next))).resource.entry[0]
  t.strictSame([...listed({ resource } as Answer), ...listed(rest)].sort(), ids.map(id => `Patient/${id}`).sort())
  t.strictSame(listed(inBatch), listed(rest))
}

async function sizes (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const answer = await send(
    fhir,
    ...Array.from({ length: 1_000 }, (_, i) => entry('GET', i % 2 === 0 ? `Patient/${id}` : 'Patient/no-such'))
  )
  t.strictSame(
    statuses(answer).map(status => status.slice(0, 3)),
    Array.from({ length: 1_000 }, (_, i) => (i % 2 === 0 ? '200' : '404'))
  )
  isRefused(t, await send(fhir, ...Array.from({ length: 1_001 }, () => entry('GET', `Patient/${id}`))), 413, '1001')
  t.match(idIn(answer.resource.entry[0].response.location), id)
}
