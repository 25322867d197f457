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

/** Where references inside a Bundle lead: http://hl7.org/fhir/R4/bundle.html#references and http.html#trules */
export async function testBundleReferences (t: Test, world: World): Promise<void> {
  await t.test("an Observation of another system's transaction is never filed for a stored patient of the same id", t =>
    testMisfiling(t, world)
  )
  await t.test('a conditional reference leads to what the same transaction creates, changes or leaves', t =>
    testConditionalReferences(t, world)
  )
  await t.test('a transaction that deletes what another entry refers to does nothing', t => testDeletedTargets(t, world))
  await t.test('two creates under the same criteria make one record', t => testSameCriteria(t, world))
  await t.test('placeholders are replaced in uris and narratives, and in no string', t => testPlaceholders(t, world))
  await t.test('a record that refers to itself is stored, and a reference to a type that R4 forbids is refused', t =>
    testSelfReferences(t, world)
  )
  await t.test('a fullUrl in criteria stands for its record', t => testCriteria(t, world))
  await t.test('an entry of a batch cannot refer to another', t => testBatchReferences(t, world))
  await t.test('a stored Bundle may have fullUrls of any form', t => testStoredBundles(t, world))
  await t.test('each cause has a text of its own', t => testMessages(t, world))
}

const ehr = 'http://ehr.example.com/fhir'
const buildUrn = (digit: number) => `urn:uuid:00000000-0000-4000-8000-0000000000a${digit}`
const send = ({ send }: Fhir, ...entries: object[]): Promise<RawResponse> =>
  send('POST', '', buildBundle('transaction', ...entries))
const getCreatedId = ({ resource }: RawResponse, at: number): string =>
  parseVersionedId(resource.entry[at].response.location)
const read = async ({ send }: Fhir, path: string) => (await send('GET', `/${path}`)).resource
const countRecords = async ({ send }: Fhir, type: string) => (await send('GET', `/${type}?_summary=count`)).resource.total
const buildMrn = (value: string) => ({ identifier: [{ system: 'http://mrn', value }] })

/** Whether R4 resolves a reference within the Bundle, written from its text and not from the code. */
function isResolvedInside (reference: string, fullUrl: string, from: string | undefined): boolean {
  const plain = reference.split('/_history/')[0]!
  const base =
    from !== undefined && /^https?:.*\/[A-Z][A-Za-z]+\/[^/]+$/.test(from)
      ? from.split('/').slice(0, -2).join('/')
      : undefined
  if (!fullUrl.includes(':')) return false
  if (plain === fullUrl) return !plain.startsWith(fhirBase) || base === undefined
  if (plain.includes(':')) return false
  return base === undefined ? fullUrl.endsWith(`/${plain}`) : `${base}/${plain}` === fullUrl
}

async function testMisfiling (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const relative = `Patient/${id}`
  const fullUrls = [
    `${ehr}/${relative}`,
    buildUrn(1),
    'urn:oid:1.2.3.4',
    'resource:0',
    relative,
    `${fhirBase}/${relative}`,
    `https://other.example.org/${relative}`
  ]
  const froms = [undefined, `${ehr}/Observation/7`, 'https://third.example.org/r4/Observation/7', buildUrn(2)]
  let filed = 0
  for (const fullUrl of fullUrls) {
    for (const from of froms) {
      for (const reference of new Set([fullUrl, relative, `${ehr}/${relative}`, `${fullUrl}/_history/1`])) {
        const response = await send(fhir,
          buildEntry('POST', 'Patient', buildPatient({ id, gender: 'other' }), { fullUrl }),
          buildEntry('POST', 'Observation', buildObservation(reference), from === undefined ? {} : { fullUrl: from }))
        const name = `${reference} to ${fullUrl} from ${from}`
        if (isResolvedInside(reference, fullUrl, from)) {
          filed++
          if (!t.equal(response.status, 200, `${name}: ${response.text}`)) continue
          t.match(
            await read(fhir, `Observation/${getCreatedId(response, 1)}`),
            { subject: { reference: `Patient/${getCreatedId(response, 0)}` } },
            name
          )
        } else {
          assertRejected(
            t,
            response,
            { status: 422, code: 'business-rule', expression: ['Bundle.entry[1].resource.subject'] },
            name
          )
        }
      }
    }
  }
  t.strictSame(await countRecords(fhir, 'Observation'), filed)
  t.equal((await fhir.send('GET', `/Observation?subject=${relative}&_summary=count`)).resource.total, 0)
  const bare = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient({ id })),
    buildEntry('POST', 'Observation', buildObservation(relative))
  )
  assertRejected(t, bare, { status: 422, diagnostics: /by its fullUrl/ }, 'an id in the content without a fullUrl')
  const update = await send(
    fhir,
    buildEntry('PUT', relative, buildPatient({ id }), { fullUrl: buildUrn(1) }),
    buildEntry('POST', 'Observation', buildObservation(relative))
  )
  t.match(
    await read(fhir, `Observation/${getCreatedId(update, 1)}`),
    { subject: { reference: relative } },
    'the stored record itself'
  )
}

async function testConditionalReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const buildOrganization = (value: string) => ({ resourceType: 'Organization', name: 'Clinic', ...buildMrn(value) })
  const [existing, leaving] = await storeResources(fhir, buildOrganization('there'), buildOrganization('leaving'))
  const buildReference = (value: string) => ({
    managingOrganization: { reference: `Organization?identifier=http://mrn%7C${value}` }
  })
  const readReference = async (response: RawResponse, at: number) =>
    (await read(fhir, `Patient/${getCreatedId(response, at)}`)).managingOrganization.reference

  const first = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient(buildReference('new'))),
    buildEntry('POST', 'Organization', buildOrganization('new'))
  )
  t.equal(first.status, 200, first.text)
  t.equal(await readReference(first, 0), `Organization/${getCreatedId(first, 1)}`)
  const ifNoneExist = 'identifier=http://mrn|there'
  const again = await send(
    fhir,
    buildEntry('POST', 'Organization', buildOrganization('there'), { ifNoneExist }),
    buildEntry('POST', 'Patient', buildPatient(buildReference('there')))
  )
  t.equal(await readReference(again, 1), `Organization/${existing}`, 'a conditional create that finds one')
  const renamed = await send(
    fhir,
    buildEntry('PUT', `Organization/${leaving}`, { ...buildOrganization('renamed'), id: leaving }),
    buildEntry('POST', 'Patient', buildPatient(buildReference('renamed')))
  )
  t.equal(await readReference(renamed, 1), `Organization/${leaving}`, 'as the update leaves it')

  const patients = await countRecords(fhir, 'Patient')
  assertRejected(
    t,
    await send(
      fhir,
      buildEntry('PUT', `Organization/${leaving}`, { ...buildOrganization('gone'), id: leaving }),
      buildEntry('POST', 'Patient', buildPatient(buildReference('renamed')))
    ),
    { status: 422, diagnostics: /meets the criteria/, expression: ['Bundle.entry[1].resource.managingOrganization'] },
    'no longer met'
  )
  assertRejected(
    t,
    await send(
      fhir,
      buildEntry('POST', 'Organization', buildOrganization('there')),
      buildEntry('POST', 'Patient', buildPatient(buildReference('there')))
    ),
    { status: 412, code: 'multiple-matches', expression: ['Bundle.entry[1].resource.managingOrganization'] },
    'a stored one and a new one'
  )
  assertRejected(
    t,
    await send(
      fhir,
      buildEntry('DELETE', `Organization/${leaving}`),
      buildEntry('POST', 'Patient', buildPatient(buildReference('renamed')))
    ),
    422,
    'deleted'
  )
  t.equal(await countRecords(fhir, 'Patient'), patients)
}

async function testDeletedTargets (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, { resourceType: 'Organization', name: 'Clinic', ...buildMrn('d') } as any)
  const expected = { status: 409, code: 'conflict', expression: ['Bundle.entry[1].resource.managingOrganization'] }
  for (const remove of [
    buildEntry('DELETE', `Organization/${id}`),
    buildEntry('DELETE', 'Organization?identifier=http://mrn|d'),
    buildEntry('DELETE', `Organization/${id}`, undefined, { fullUrl: buildUrn(3) })
  ]) {
    const reference = 'fullUrl' in remove ? buildUrn(3) : `Organization/${id}`
    assertRejected(
      t,
      await send(fhir, remove, buildEntry('POST', 'Patient', buildPatient({ managingOrganization: { reference } }))),
      expected,
      JSON.stringify(remove)
    )
  }
  t.strictSame([await countRecords(fhir, 'Organization'), await countRecords(fhir, 'Patient')], [1, 0])
}

async function testSameCriteria (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const once = { ifNoneExist: 'identifier=http://mrn|same' }
  const result = await send(fhir,
    buildEntry('POST', 'Patient', buildPatient(buildMrn('same')), { ...once, fullUrl: buildUrn(1) }),
    buildEntry('POST', 'Patient', buildPatient(buildMrn('same')), { ...once, fullUrl: buildUrn(2) }),
    buildEntry('POST', 'Observation', buildObservation(buildUrn(2))))
  t.equal(result.status, 200, result.text)
  t.strictSame(
    result.resource.entry.map(({ response }: any) => response.status),
    ['201 Created', '200 OK', '201 Created']
  )
  t.equal(getCreatedId(result, 0), getCreatedId(result, 1))
  t.match(await read(fhir, `Observation/${getCreatedId(result, 2)}`), { subject: { reference: `Patient/${getCreatedId(result, 0)}` } })
  const different = { ifNoneExist: 'identifier=http://mrn|other' }
  for (const second of [
    buildEntry('POST', 'Patient', buildPatient({ ...buildMrn('other'), active: false }), different),
    buildEntry('PUT', 'Patient?identifier=http://mrn|other', buildPatient(buildMrn('other')))
  ]) {
    assertRejected(
      t,
      await send(fhir, buildEntry('POST', 'Patient', buildPatient(buildMrn('other')), different), second),
      400,
      'one of the two would be lost'
    )
  }
  t.equal(await countRecords(fhir, 'Patient'), 1)
}

async function testSelfReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const buildOrganization = (partOf: string) => ({ resourceType: 'Organization', name: 'O', partOf: { reference: partOf } })
  for (const fullUrl of [buildUrn(1), `${ehr}/Organization/1`, 'resource:0']) {
    const response = await send(fhir, buildEntry('POST', 'Organization', buildOrganization(fullUrl), { fullUrl }))
    t.equal(response.status, 200, response.text)
    t.match(await read(fhir, `Organization/${getCreatedId(response, 0)}`), {
      partOf: { reference: `Organization/${getCreatedId(response, 0)}` }
    })
  }
  const once = { fullUrl: buildUrn(1), ifNoneExist: 'identifier=http://mrn|itself' }
  assertRejected(
    t,
    await send(fhir, buildEntry('POST', 'Organization', { ...buildOrganization(buildUrn(1)), ...buildMrn('itself') }, once)),
    { status: 422, diagnostics: /cannot refer to itself/, expression: ['Bundle.entry[0].resource.partOf'] },
    'its id is not known'
  )
  assertRejected(
    t,
    await send(
      fhir,
      buildEntry('POST', 'Patient', buildPatient(), { fullUrl: buildUrn(1) }),
      buildEntry('POST', 'Organization', buildOrganization(buildUrn(1)))
    ),
    { status: 422, diagnostics: /does not allow/, expression: ['Bundle.entry[1].resource.partOf'] },
    'a Patient is no part of what an Organization is'
  )
  t.equal(await countRecords(fhir, 'Patient'), 0)
}

async function testPlaceholders (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const buildNarrative = (to: string) => ({
    status: 'generated',
    div: `<div xmlns="http://www.w3.org/1999/xhtml"><a href="${to}">Ada</a> <img src="${to}" alt="${buildUrn(1)}"/></div>`
  })
  const [existing] = await storeResources(fhir, buildPatient())
  const response = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient(), { fullUrl: buildUrn(1) }),
    buildEntry('PUT', `Patient/${existing}`, buildPatient({ id: existing }), { fullUrl: 'resource:0' }),
    buildEntry(
      'POST',
      'Questionnaire',
      { resourceType: 'Questionnaire', status: 'active' },
      { fullUrl: `${ehr}/Questionnaire/q` }
    ),
    buildEntry(
      'POST',
      'Observation',
      buildObservation(buildUrn(1), {
        text: buildNarrative(buildUrn(1)),
        identifier: [{ system: 'http://mrn', value: buildUrn(1) }],
        extension: [
          { url: 'http://example.org/x', valueUri: buildUrn(1) },
          { url: 'http://example.org/y', valueUrl: 'resource:0' },
          { url: 'http://example.org/z', valueString: buildUrn(1) }
        ],
        note: [{ text: buildUrn(1) }]
      })
    )
  )
  t.equal(response.status, 200, response.text)
  const id = getCreatedId(response, 0)
  const shown = await read(fhir, `Observation/${getCreatedId(response, 3)}`)
  t.match(shown, {
    subject: { reference: `Patient/${id}` },
    identifier: [{ value: buildUrn(1) }],
    extension: [{ valueUri: `Patient/${id}` }, { valueUrl: new RegExp(`Patient/${existing}$`) }, { valueString: buildUrn(1) }],
    note: [{ text: buildUrn(1) }]
  })
  t.match(shown.text.div, new RegExp(`href="Patient/${id}"`))
  t.match(shown.text.div, new RegExp(`src="Patient/${id}" alt="${buildUrn(1)}"`))
  const entities = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient(), { fullUrl: 'urn:oid:1.2?a&b' }),
    buildEntry('POST', 'Observation', buildObservation('urn:oid:1.2?a&b', { text: buildNarrative('&#117;rn:oid:1.2?a&amp;b') }))
  )
  t.equal(entities.status, 200, entities.text)
  t.match(
    (await read(fhir, `Observation/${getCreatedId(entities, 1)}`)).text.div,
    new RegExp(`href="Patient/${getCreatedId(entities, 0)}".*src="Patient/${getCreatedId(entities, 0)}"`)
  )
  const conditional = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient(buildMrn('n')), { fullUrl: buildUrn(1), ifNoneExist: 'identifier=http://mrn|n' }),
    buildEntry('POST', 'Observation', buildObservation(buildUrn(1), { text: buildNarrative(buildUrn(1)) }))
  )
  assertRejected(t, conditional, { status: 422, diagnostics: /created under criteria/ }, 'an id that is not known before')
}

async function testCriteria (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const buildTask = (focus: string) => ({
    resourceType: 'Task',
    status: 'draft',
    intent: 'order',
    focus: { reference: focus }
  })
  const [id] = await storeResources(fhir, buildPatient())
  const update = () =>
    send(
      fhir,
      buildEntry('PUT', `Patient/${id}`, buildPatient({ id }), { fullUrl: buildUrn(1) }),
      buildEntry('PUT', `Task?focus=${buildUrn(1)}`, buildTask(buildUrn(1)))
    )
  t.strictSame((await update()).resource.entry.map(({ response }: any) => response.status), ['200 OK', '201 Created'])
  t.strictSame(
    (await update()).resource.entry.map(({ response }: any) => response.status),
    ['200 OK', '200 OK'],
    'the second time it is found'
  )
  const created = await send(
    fhir,
    buildEntry('POST', 'Patient', buildPatient(), { fullUrl: buildUrn(1) }),
    buildEntry('PUT', `Task?focus=${buildUrn(1)}`, buildTask(buildUrn(1)))
  )
  assertRejected(
    t,
    created,
    { status: 400, diagnostics: /same transaction creates/, expression: ['Bundle.entry[1]'] },
    'what is created'
  )
  t.equal(await countRecords(fhir, 'Task'), 1)
}

async function testBatchReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const result = await fhir.send('POST', '', buildBundle('batch',
    buildEntry('POST', 'Patient', buildPatient({ id }), { fullUrl: `${ehr}/Patient/${id}` }),
    buildEntry('POST', 'Observation', buildObservation(`Patient/${id}`), { fullUrl: `${ehr}/Observation/1` }),
    buildEntry('POST', 'Observation', buildObservation(`${ehr}/Patient/${id}`)),
    buildEntry('PUT', `Patient/${id}`, buildPatient({ id }), { fullUrl: buildUrn(1) }),
    buildPatchEntry(`Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }])))
  t.match(
    result.resource.entry.map(({ response }: any) => response.status.slice(0, 3)),
    ['201', '422', '422', '200', '200']
  )
  t.match(result.resource.entry[1].response.outcome.issue, [{ diagnostics: /Send a transaction/ }])
}

async function testStoredBundles (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  for (const [fullUrl, reference] of [
    [`${ehr}/Patient/1102`, 'Patient/1102'],
    [`${ehr}/Patient/1102`, `${ehr}/Patient/1102`],
    ['urn:oid:1.2.3', 'urn:oid:1.2.3']
  ] as const) {
    const entries = [
      { fullUrl, resource: buildPatient({ id: '1102' }) },
      { fullUrl: `${ehr}/Observation/1`, resource: buildObservation(reference, { id: '1' }) }
    ]
    const response = await fhir.send('POST', '/Bundle', { resourceType: 'Bundle', type: 'collection', entry: entries })
    if (!t.equal(response.status, 201, `${fullUrl} ${reference}: ${response.text}`)) continue
    t.strictSame(
      (await read(fhir, `Bundle/${parseVersionedId(response.headers.location!)}`)).entry,
      entries,
      'it comes back as it was sent'
    )
  }
  for (const type of ['transaction', 'batch', 'searchset']) {
    assertRejected(
      t,
      await fhir.send('POST', '/Bundle', buildBundle(type, buildEntry('POST', 'Patient', buildPatient()))),
      { status: 422, diagnostics: /POST \/v1\/fhir/, expression: ['Bundle.type'] },
      type
    )
  }
  const elsewhere = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ fullUrl: `${ehr}/Observation/1`, resource: buildObservation('Patient/1103') }]
  }
  assertRejected(t, await fhir.send('POST', '/Bundle', elsewhere), 422, 'a record that is neither in the Bundle nor here')
  const altered = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ fullUrl: 'resource:0', resource: buildPatient({ id: '0' }) }, { resource: buildObservation('resource:0') }]
  }
  assertRejected(
    t,
    await fhir.send('POST', '/Bundle', altered),
    { status: 422, diagnostics: /In a stored Bundle, use urn:uuid:/ },
    'a form of reference that HAPI would alter'
  )
}

async function testMessages (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await storeResources(fhir, buildPatient())
  const cases: ReadonlyArray<readonly [string, RegExp]> = [
    [buildUrn(7), /urn: reference .* by its fullUrl/],
    [`${ehr}/Patient/${id}`, /absolute URL/],
    ['Patient/nobody', /existing record of the same organization/],
    ['Patient?identifier=http://mrn%7Cnone', /meets the criteria/]
  ]
  for (const [reference, diagnostics] of cases) {
    assertRejected(
      t,
      await send(fhir, buildEntry('POST', 'Observation', buildObservation(reference))),
      { status: 422, diagnostics, expression: ['Bundle.entry[0].resource.subject'] },
      reference
    )
  }
  assertRejected(
    t,
    await send(fhir, buildEntry('POST', 'Observation', buildObservation('Patient?mrn=1'))),
    { status: 400, diagnostics: /search parameter of Patient/, expression: ['Bundle.entry[0].resource.subject'] },
    'criteria that are not understood'
  )
  assertRejected(
    t,
    await fhir.send('POST', '/Observation', buildObservation('Patient?identifier=x')),
    { status: 422, diagnostics: /only in a transaction/ },
    'criteria outside of a transaction'
  )
}
