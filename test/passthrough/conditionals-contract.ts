import type { Test } from 'tap'
import {
  fhirBase, assertRejected, patchType, buildPatient, type RawResponse, type Fhir, type World
} from './fixture.js'

/**
 * What writes by criteria must do, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/R4/http.html#ccreate
 */
export async function testConditionals (t: Test, world: World): Promise<void> {
  await t.test('a conditional create makes one record, and returns it to later ones', t => testConditionalCreate(t, world))
  await t.test('of many equal conditional creates at once one makes a record', t => testConcurrentCreates(t, world))
  await t.test('a conditional update changes the one record, or makes one', t => testConditionalUpdate(t, world))
  await t.test('of many conditional updates at once each is done or refused, and none is lost', t =>
    testConcurrentUpdates(t, world)
  )
  await t.test('a conditional patch changes the one record, and makes none', t => testConditionalPatch(t, world))
  await t.test('a conditional delete deletes the one record; that there is none is no failure', t => testConditionalDelete(t, world))
  await t.test('criteria that several records meet are a failed precondition, and nothing is done', t =>
    testMultipleMatches(t, world)
  )
  await t.test('criteria of one organization mean its own records alone', t => testOwnRecords(t, world))
  await t.test('missing criteria, or criteria with an unknown part, are refused whatever Prefer says', t =>
    testInvalidCriteria(t, world)
  )
}

const buildMrn = (value: string) => ({ identifier: [{ system: 'http://mrn', value }] })
const buildCriteria = (value: string) => `identifier=http://mrn%7C${value}`
const countRecords = async ({ send }: Fhir, query = '_summary=count') =>
  (await send('GET', `/Patient?${query}`)).resource.total

async function testConditionalCreate (t: Test, { fhir: join, server }: World): Promise<void> {
  const fhir = await join()
  const create = (condition: string, more: object = {}) =>
    fhir.send('POST', '/Patient', buildPatient({ ...buildMrn('1'), ...more }), { 'if-none-exist': condition })
  const first = await create(buildCriteria('1'))
  t.match(first, {
    status: 201,
    headers: { etag: 'W/"1"', location: `${fhirBase}/Patient/${first.resource.id}/_history/1` }
  })
  for (const condition of [
    buildCriteria('1'),
    `Patient?${buildCriteria('1')}`,
    `?${buildCriteria('1')}`,
    `${buildCriteria('1')}&family=byron`
  ]) {
    t.match(
      await create(condition, { gender: 'female' }),
      {
        status: 200,
        headers: {
          etag: 'W/"1"',
          location: undefined,
          'content-location': `${fhirBase}/Patient/${first.resource.id}/_history/1`
        },
        resource: { id: first.resource.id, gender: undefined }
      },
      condition
    )
  }
  t.equal((await create(buildCriteria('2'), buildMrn('2'))).status, 201)
  // The sandbox takes it.
  if (server === 'hapi') {
    assertRejected(
      t,
      await create(buildCriteria('3')),
      { status: 422, diagnostics: /its own criteria/ },
      'a record that does not meet its own criteria'
    )
  }
  t.equal(await countRecords(fhir), 2)
  await fhir.send('DELETE', `/Patient/${first.resource.id}`)
  t.equal((await create(buildCriteria('1'))).status, 201, 'a deleted record is none')
}

async function testConcurrentCreates (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const responses = await Promise.all(
    Array.from({ length: 6 }, () =>
      fhir.send('POST', '/Patient', buildPatient(buildMrn('1')), { 'if-none-exist': buildCriteria('1') })
    )
  )
  t.strictSame(responses.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 201])
  t.equal(new Set(responses.map(({ resource }) => resource.id)).size, 1)
  t.equal(await countRecords(fhir), 1)
}

async function testConditionalUpdate (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const update = (resource: object, headers: Readonly<Record<string, string>> = {}) =>
    fhir.send('PUT', `/Patient?${buildCriteria('1')}`, resource, headers)
  assertRejected(t, await update(buildPatient(buildMrn('1')), { 'if-match': 'W/"1"' }), 412, 'no version is there')
  assertRejected(
    t,
    await update(buildPatient({ ...buildMrn('1'), id: 'chosen' })),
    { status: 404, diagnostics: /Leave out the id/ },
    'no record gets a client\'s id'
  )
  t.equal(await countRecords(fhir), 0)
  const made = await update(buildPatient(buildMrn('1')))
  const { id } = made.resource
  t.match(made, { status: 201, headers: { etag: 'W/"1"', location: `${fhirBase}/Patient/${id}/_history/1` } })
  t.match(await update(buildPatient({ ...buildMrn('1'), active: true })), {
    status: 200,
    headers: { etag: 'W/"2"', location: undefined },
    resource: { id, active: true }
  })
  t.match(await update(buildPatient({ ...buildMrn('1'), id, active: false })), { status: 200, resource: { id, active: false } })
  assertRejected(t, await update(buildPatient({ ...buildMrn('1'), id: 'other' })), 400, 'another id')
  assertRejected(t, await update(buildPatient(buildMrn('1')), { 'if-match': 'W/"2"' }), 412, 'an old version')
  t.match(await update(buildPatient({ ...buildMrn('1'), gender: 'other' }), { 'if-match': 'W/"3"' }), {
    status: 200,
    headers: { etag: 'W/"4"' }
  })
  t.equal(await countRecords(fhir), 1)
}

async function testConcurrentUpdates (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const families = Array.from({ length: 6 }, (_, i) => `Byron-${i}`)
  const responses = await Promise.all(
    families.map(family => fhir.send('PUT', `/Patient?${buildCriteria('1')}`, buildPatient({ ...buildMrn('1'), name: [{ family }] })))
  )
  const outcomes = responses.map(({ status, resource }, i) =>
    status === 409 ? status : [status, resource.name?.[0].family === families[i]]
  )
  t.equal(outcomes.filter(outcome => Array.isArray(outcome) && outcome[0] === 201).length, 1, 'one made the record')
  for (const outcome of outcomes) {
    t.ok(outcome === 409 || (Array.isArray(outcome) && outcome[1]), 'each that was done shows what it sent')
  }
  t.equal(await countRecords(fhir), 1)
  const { meta: { versionId } } = (await fhir.send('GET', `/Patient?${buildCriteria('1')}`)).resource.entry[0].resource
  t.equal(Number(versionId), outcomes.filter(Array.isArray).length, 'each that was done is a version')
}

async function testConditionalPatch (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const patch = (headers: Readonly<Record<string, string>> = {}) =>
    fhir.send('PATCH', `/Patient?${buildCriteria('1')}`, [{ op: 'add', path: '/gender', value: 'female' }], {
      ...patchType,
      ...headers
    })
  assertRejected(t, await patch(), { status: 404, code: 'not-found' }, 'none')
  const { id } = (await fhir.send('POST', '/Patient', buildPatient(buildMrn('1')))).resource
  assertRejected(t, await patch({ 'if-match': 'W/"2"' }), 412, 'another version')
  t.match(await patch({ 'if-match': 'W/"1"' }), {
    status: 200,
    headers: { etag: 'W/"2"' },
    resource: { id, gender: 'female' }
  })
  t.equal(await countRecords(fhir), 1)
}

async function testConditionalDelete (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const { id } = (await fhir.send('POST', '/Patient', buildPatient(buildMrn('1')))).resource
  await fhir.send('POST', '/Patient', buildPatient(buildMrn('2')))
  for (const status of [204, 404]) {
    t.match(await fhir.send('DELETE', `/Patient?${buildCriteria('1')}`), { status: 204, text: '' })
    t.equal((await fhir.send('GET', `/Patient/${id}`)).status, 404, `after ${status}`)
    t.equal(await countRecords(fhir), 1)
  }
}

/** All writes by criteria of this value. */
const buildWrites = ({ send }: Fhir, value: string): ReadonlyArray<readonly [string, () => Promise<RawResponse>]> => [
  [
    'create',
    () => send('POST', '/Patient', buildPatient({ ...buildMrn(value), active: true }), { 'if-none-exist': buildCriteria(value) })
  ],
  ['update', () => send('PUT', `/Patient?${buildCriteria(value)}`, buildPatient({ ...buildMrn(value), active: true }))],
  [
    'patch',
    () => send('PATCH', `/Patient?${buildCriteria(value)}`, [{ op: 'add', path: '/active', value: true }], patchType)
  ],
  ['delete', () => send('DELETE', `/Patient?${buildCriteria(value)}`)]
]

async function testMultipleMatches (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  for (let i = 0; i < 2; i++) await fhir.send('POST', '/Patient', buildPatient(buildMrn('1')))
  for (const [name, write] of buildWrites(fhir, '1')) {
    assertRejected(t, await write(), { status: 412, code: 'multiple-matches' }, name)
  }
  t.strictSame([await countRecords(fhir), await countRecords(fhir, '_summary=count&active=true')], [2, 0])
}

async function testOwnRecords (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  for (let i = 0; i < 2; i++) await other.send('POST', '/Patient', buildPatient(buildMrn('1')))
  const statuses: Record<string, number> = {}
  for (const [name, write] of buildWrites(fhir, '1')) {
    statuses[name] = (await write()).status
    await fhir.send('DELETE', `/Patient?${buildCriteria('1')}`)
  }
  t.strictSame(
    statuses,
    { create: 201, update: 201, patch: 404, delete: 204 },
    'as if there were no other organization'
  )
  t.strictSame([await countRecords(fhir), await countRecords(other), await countRecords(other, '_summary=count&active=true')], [0, 2, 0])
}

async function testInvalidCriteria (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  await fhir.send('POST', '/Patient', buildPatient(buildMrn('1')))
  const prefer = { prefer: 'handling=lenient' }
  const refused = [
    '',
    '_count=1',
    '_sort=name',
    'nothing=1',
    `${buildCriteria('1')}&nothing=1`,
    `${buildCriteria('1')}&_include=Patient:organization`,
    'organization.name=x',
    '_has:Observation:patient:code=x',
    'identifier=',
    'identifier=%7C',
    'identifier=%20%7C',
    'identifier=x,%7C',
    '_id=%7C',
    '_source=%23',
    '_tag=urn:clinigate:tenant%7Cx',
    `${buildCriteria('1')}&_elements=id`
  ]
  for (const query of refused) {
    assertRejected(
      t,
      await fhir.send('POST', '/Patient', buildPatient(), { ...prefer, 'if-none-exist': query }),
      400,
      `create ${query}`
    )
    assertRejected(t, await fhir.send('PUT', `/Patient?${query}`, buildPatient(), prefer), 400, `update ${query}`)
    assertRejected(
      t,
      await fhir.send('PATCH', `/Patient?${query}`, [{ op: 'add', path: '/active', value: true }], {
        ...patchType,
        ...prefer
      }),
      400,
      `patch ${query}`
    )
    assertRejected(t, await fhir.send('DELETE', `/Patient?${query}`, undefined, prefer), 400, `delete ${query}`)
  }
  t.strictSame([await countRecords(fhir), await countRecords(fhir, '_summary=count&active=true')], [1, 0])
}
