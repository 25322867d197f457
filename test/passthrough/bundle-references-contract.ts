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

/** Where references inside a Bundle lead: http://hl7.org/fhir/R4/bundle.html#references and http.html#trules */
export async function bundleReferencesContract (t: Test, world: World): Promise<void> {
  await t.test("an Observation of another system's transaction is never filed for a stored patient of the same id", t =>
    misfiling(t, world)
  )
  await t.test('a conditional reference leads to what the same transaction creates, changes or leaves', t =>
    conditionalReferences(t, world)
  )
  await t.test('a transaction that deletes what another entry refers to does nothing', t => deletions(t, world))
  await t.test('two creates under the same criteria make one record', t => sameCriteria(t, world))
  await t.test('placeholders are replaced in uris and narratives, and in no string', t => placeholders(t, world))
  await t.test('a record that refers to itself is stored, and a reference to a type that R4 forbids is refused', t =>
    itself(t, world)
  )
  await t.test('a fullUrl in criteria stands for its record', t => criteria(t, world))
  await t.test('an entry of a batch cannot refer to another', t => batches(t, world))
  await t.test('a stored Bundle may have fullUrls of any form', t => storedBundles(t, world))
  await t.test('each cause has a text of its own', t => texts(t, world))
}

const ehr = 'http://ehr.example.com/fhir'
const urn = (digit: number) => `urn:uuid:00000000-0000-4000-8000-0000000000a${digit}`
const send = ({ send }: Fhir, ...entries: object[]): Promise<Answer> =>
  send('POST', '', bundle('transaction', ...entries))
const made = ({ resource }: Answer, at: number): string => idIn(resource.entry[at].response.location)
const read = async ({ send }: Fhir, path: string) => (await send('GET', `/${path}`)).resource
const total = async ({ send }: Fhir, type: string) => (await send('GET', `/${type}?_summary=count`)).resource.total
const mrn = (value: string) => ({ identifier: [{ system: 'http://mrn', value }] })

/** Whether R4 resolves a reference within the Bundle, written from its text and not from the code. */
function resolvesInside (reference: string, fullUrl: string, from: string | undefined): boolean {
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

async function misfiling (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const relative = `Patient/${id}`
  const fullUrls = [
    `${ehr}/${relative}`,
    urn(1),
    'urn:oid:1.2.3.4',
    'resource:0',
    relative,
    `${fhirBase}/${relative}`,
    `https://other.example.org/${relative}`
  ]
  const froms = [undefined, `${ehr}/Observation/7`, 'https://third.example.org/r4/Observation/7', urn(2)]
  let filed = 0
  for (const fullUrl of fullUrls) {
    for (const from of froms) {
      for (const reference of new Set([fullUrl, relative, `${ehr}/${relative}`, `${fullUrl}/_history/1`])) {
        const answer = await send(fhir,
          entry('POST', 'Patient', patient({ id, gender: 'other' }), { fullUrl }),
          entry('POST', 'Observation', observation(reference), from === undefined ? {} : { fullUrl: from }))
        const name = `${reference} to ${fullUrl} from ${from}`
        if (resolvesInside(reference, fullUrl, from)) {
          filed++
          if (!t.equal(answer.status, 200, `${name}: ${answer.text}`)) continue
          t.match(
            await read(fhir, `Observation/${made(answer, 1)}`),
            { subject: { reference: `Patient/${made(answer, 0)}` } },
            name
          )
        } else {
          isRefused(
            t,
            answer,
            { status: 422, code: 'business-rule', expression: ['Bundle.entry[1].resource.subject'] },
            name
          )
        }
      }
    }
  }
  t.strictSame(await total(fhir, 'Observation'), filed)
  t.equal((await fhir.send('GET', `/Observation?subject=${relative}&_summary=count`)).resource.total, 0)
  const bare = await send(
    fhir,
    entry('POST', 'Patient', patient({ id })),
    entry('POST', 'Observation', observation(relative))
  )
  isRefused(t, bare, { status: 422, diagnostics: /by its fullUrl/ }, 'an id in the content without a fullUrl')
  const update = await send(
    fhir,
    entry('PUT', relative, patient({ id }), { fullUrl: urn(1) }),
    entry('POST', 'Observation', observation(relative))
  )
  t.match(
    await read(fhir, `Observation/${made(update, 1)}`),
    { subject: { reference: relative } },
    'the stored record itself'
  )
}

async function conditionalReferences (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const organization = (value: string) => ({ resourceType: 'Organization', name: 'Clinic', ...mrn(value) })
  const [existing, leaving] = await stored(fhir, organization('there'), organization('leaving'))
  const reference = (value: string) => ({
    managingOrganization: { reference: `Organization?identifier=http://mrn%7C${value}` }
  })
  const about = async (answer: Answer, at: number) =>
    (await read(fhir, `Patient/${made(answer, at)}`)).managingOrganization.reference

  const first = await send(
    fhir,
    entry('POST', 'Patient', patient(reference('new'))),
    entry('POST', 'Organization', organization('new'))
  )
  t.equal(first.status, 200, first.text)
  t.equal(await about(first, 0), `Organization/${made(first, 1)}`)
  const ifNoneExist = 'identifier=http://mrn|there'
  const again = await send(
    fhir,
    entry('POST', 'Organization', organization('there'), { ifNoneExist }),
    entry('POST', 'Patient', patient(reference('there')))
  )
  t.equal(await about(again, 1), `Organization/${existing}`, 'a conditional create that finds one')
  const renamed = await send(
    fhir,
    entry('PUT', `Organization/${leaving}`, { ...organization('renamed'), id: leaving }),
    entry('POST', 'Patient', patient(reference('renamed')))
  )
  t.equal(await about(renamed, 1), `Organization/${leaving}`, 'as the update leaves it')

  const patients = await total(fhir, 'Patient')
  isRefused(
    t,
    await send(
      fhir,
      entry('PUT', `Organization/${leaving}`, { ...organization('gone'), id: leaving }),
      entry('POST', 'Patient', patient(reference('renamed')))
    ),
    { status: 422, diagnostics: /meets the criteria/, expression: ['Bundle.entry[1].resource.managingOrganization'] },
    'no longer met'
  )
  isRefused(
    t,
    await send(
      fhir,
      entry('POST', 'Organization', organization('there')),
      entry('POST', 'Patient', patient(reference('there')))
    ),
    { status: 412, code: 'multiple-matches', expression: ['Bundle.entry[1].resource.managingOrganization'] },
    'a stored one and a new one'
  )
  isRefused(
    t,
    await send(
      fhir,
      entry('DELETE', `Organization/${leaving}`),
      entry('POST', 'Patient', patient(reference('renamed')))
    ),
    422,
    'deleted'
  )
  t.equal(await total(fhir, 'Patient'), patients)
}

async function deletions (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, { resourceType: 'Organization', name: 'Clinic', ...mrn('d') } as any)
  const expected = { status: 409, code: 'conflict', expression: ['Bundle.entry[1].resource.managingOrganization'] }
  for (const remove of [
    entry('DELETE', `Organization/${id}`),
    entry('DELETE', 'Organization?identifier=http://mrn|d'),
    entry('DELETE', `Organization/${id}`, undefined, { fullUrl: urn(3) })
  ]) {
    const reference = 'fullUrl' in remove ? urn(3) : `Organization/${id}`
    isRefused(
      t,
      await send(fhir, remove, entry('POST', 'Patient', patient({ managingOrganization: { reference } }))),
      expected,
      JSON.stringify(remove)
    )
  }
  t.strictSame([await total(fhir, 'Organization'), await total(fhir, 'Patient')], [1, 0])
}

async function sameCriteria (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const once = { ifNoneExist: 'identifier=http://mrn|same' }
  const answer = await send(fhir,
    entry('POST', 'Patient', patient(mrn('same')), { ...once, fullUrl: urn(1) }),
    entry('POST', 'Patient', patient(mrn('same')), { ...once, fullUrl: urn(2) }),
    entry('POST', 'Observation', observation(urn(2))))
  t.equal(answer.status, 200, answer.text)
  t.strictSame(
    answer.resource.entry.map(({ response }: any) => response.status),
    ['201 Created', '200 OK', '201 Created']
  )
  t.equal(made(answer, 0), made(answer, 1))
  t.match(await read(fhir, `Observation/${made(answer, 2)}`), { subject: { reference: `Patient/${made(answer, 0)}` } })
  const different = { ifNoneExist: 'identifier=http://mrn|other' }
  for (const second of [
    entry('POST', 'Patient', patient({ ...mrn('other'), active: false }), different),
    entry('PUT', 'Patient?identifier=http://mrn|other', patient(mrn('other')))
  ]) {
    isRefused(
      t,
      await send(fhir, entry('POST', 'Patient', patient(mrn('other')), different), second),
      400,
      'one of the two would be lost'
    )
  }
  t.equal(await total(fhir, 'Patient'), 1)
}

async function itself (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const organization = (partOf: string) => ({ resourceType: 'Organization', name: 'O', partOf: { reference: partOf } })
  for (const fullUrl of [urn(1), `${ehr}/Organization/1`, 'resource:0']) {
    const answer = await send(fhir, entry('POST', 'Organization', organization(fullUrl), { fullUrl }))
    t.equal(answer.status, 200, answer.text)
    t.match(await read(fhir, `Organization/${made(answer, 0)}`), {
      partOf: { reference: `Organization/${made(answer, 0)}` }
    })
  }
  const once = { fullUrl: urn(1), ifNoneExist: 'identifier=http://mrn|itself' }
  isRefused(
    t,
    await send(fhir, entry('POST', 'Organization', { ...organization(urn(1)), ...mrn('itself') }, once)),
    { status: 422, diagnostics: /cannot refer to itself/, expression: ['Bundle.entry[0].resource.partOf'] },
    'its id is not known'
  )
  isRefused(
    t,
    await send(
      fhir,
      entry('POST', 'Patient', patient(), { fullUrl: urn(1) }),
      entry('POST', 'Organization', organization(urn(1)))
    ),
    { status: 422, diagnostics: /does not allow/, expression: ['Bundle.entry[1].resource.partOf'] },
    'a Patient is no part of what an Organization is'
  )
  t.equal(await total(fhir, 'Patient'), 0)
}

async function placeholders (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const narrative = (to: string) => ({
    status: 'generated',
    div: `<div xmlns="http://www.w3.org/1999/xhtml"><a href="${to}">Ada</a> <img src="${to}" alt="${urn(1)}"/></div>`
  })
  const [kept] = await stored(fhir, patient())
  const answer = await send(
    fhir,
    entry('POST', 'Patient', patient(), { fullUrl: urn(1) }),
    entry('PUT', `Patient/${kept}`, patient({ id: kept }), { fullUrl: 'resource:0' }),
    entry(
      'POST',
      'Questionnaire',
      { resourceType: 'Questionnaire', status: 'active' },
      { fullUrl: `${ehr}/Questionnaire/q` }
    ),
    entry(
      'POST',
      'Observation',
      observation(urn(1), {
        text: narrative(urn(1)),
        identifier: [{ system: 'http://mrn', value: urn(1) }],
        extension: [
          { url: 'http://example.org/x', valueUri: urn(1) },
          { url: 'http://example.org/y', valueUrl: 'resource:0' },
          { url: 'http://example.org/z', valueString: urn(1) }
        ],
        note: [{ text: urn(1) }]
      })
    )
  )
  t.equal(answer.status, 200, answer.text)
  const id = made(answer, 0)
  const shown = await read(fhir, `Observation/${made(answer, 3)}`)
  t.match(shown, {
    subject: { reference: `Patient/${id}` },
    identifier: [{ value: urn(1) }],
    extension: [{ valueUri: `Patient/${id}` }, { valueUrl: new RegExp(`Patient/${kept}$`) }, { valueString: urn(1) }],
    note: [{ text: urn(1) }]
  })
  t.match(shown.text.div, new RegExp(`href="Patient/${id}"`))
  t.match(shown.text.div, new RegExp(`src="Patient/${id}" alt="${urn(1)}"`))
  const entities = await send(
    fhir,
    entry('POST', 'Patient', patient(), { fullUrl: 'urn:oid:1.2?a&b' }),
    entry('POST', 'Observation', observation('urn:oid:1.2?a&b', { text: narrative('&#117;rn:oid:1.2?a&amp;b') }))
  )
  t.equal(entities.status, 200, entities.text)
  t.match(
    (await read(fhir, `Observation/${made(entities, 1)}`)).text.div,
    new RegExp(`href="Patient/${made(entities, 0)}".*src="Patient/${made(entities, 0)}"`)
  )
  const conditional = await send(
    fhir,
    entry('POST', 'Patient', patient(mrn('n')), { fullUrl: urn(1), ifNoneExist: 'identifier=http://mrn|n' }),
    entry('POST', 'Observation', observation(urn(1), { text: narrative(urn(1)) }))
  )
  isRefused(t, conditional, { status: 422, diagnostics: /created under criteria/ }, 'an id that is not known before')
}

async function criteria (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const task = (focus: string) => ({
    resourceType: 'Task',
    status: 'draft',
    intent: 'order',
    focus: { reference: focus }
  })
  const [id] = await stored(fhir, patient())
  const update = () =>
    send(
      fhir,
      entry('PUT', `Patient/${id}`, patient({ id }), { fullUrl: urn(1) }),
      entry('PUT', `Task?focus=${urn(1)}`, task(urn(1)))
    )
  t.strictSame((await update()).resource.entry.map(({ response }: any) => response.status), ['200 OK', '201 Created'])
  t.strictSame(
    (await update()).resource.entry.map(({ response }: any) => response.status),
    ['200 OK', '200 OK'],
    'the second time it is found'
  )
  const created = await send(
    fhir,
    entry('POST', 'Patient', patient(), { fullUrl: urn(1) }),
    entry('PUT', `Task?focus=${urn(1)}`, task(urn(1)))
  )
  isRefused(
    t,
    created,
    { status: 400, diagnostics: /same transaction creates/, expression: ['Bundle.entry[1]'] },
    'what is created'
  )
  t.equal(await total(fhir, 'Task'), 1)
}

async function batches (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const answer = await fhir.send('POST', '', bundle('batch',
    entry('POST', 'Patient', patient({ id }), { fullUrl: `${ehr}/Patient/${id}` }),
    entry('POST', 'Observation', observation(`Patient/${id}`), { fullUrl: `${ehr}/Observation/1` }),
    entry('POST', 'Observation', observation(`${ehr}/Patient/${id}`)),
    entry('PUT', `Patient/${id}`, patient({ id }), { fullUrl: urn(1) }),
    patchEntry(`Patient/${id}`, [{ op: 'add', path: '/gender', value: 'other' }])))
  t.match(
    answer.resource.entry.map(({ response }: any) => response.status.slice(0, 3)),
    ['201', '422', '422', '200', '200']
  )
  t.match(answer.resource.entry[1].response.outcome.issue, [{ diagnostics: /Send a transaction/ }])
}

async function storedBundles (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  for (const [fullUrl, reference] of [
    [`${ehr}/Patient/1102`, 'Patient/1102'],
    [`${ehr}/Patient/1102`, `${ehr}/Patient/1102`],
    ['urn:oid:1.2.3', 'urn:oid:1.2.3']
  ] as const) {
    const entries = [
      { fullUrl, resource: patient({ id: '1102' }) },
      { fullUrl: `${ehr}/Observation/1`, resource: observation(reference, { id: '1' }) }
    ]
    const answer = await fhir.send('POST', '/Bundle', { resourceType: 'Bundle', type: 'collection', entry: entries })
    if (!t.equal(answer.status, 201, `${fullUrl} ${reference}: ${answer.text}`)) continue
    t.strictSame(
      (await read(fhir, `Bundle/${idIn(answer.headers.location!)}`)).entry,
      entries,
      'it comes back as it was sent'
    )
  }
  const uuid = '0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
  const twice = {
    resourceType: 'Bundle',
    type: 'document',
    entry: [{ fullUrl: `urn:uuid:${uuid}`, resource: patient({ id: uuid }) }]
  }
  isRefused(
    t,
    await fhir.send('POST', '/Bundle', twice),
    { status: 422, diagnostics: /leave out the id/, expression: ['Bundle.entry[0].resource.id'] },
    'an id that HAPI would drop'
  )
  for (const type of ['transaction', 'batch', 'searchset']) {
    isRefused(
      t,
      await fhir.send('POST', '/Bundle', bundle(type, entry('POST', 'Patient', patient()))),
      { status: 422, diagnostics: /POST \/v1\/fhir/, expression: ['Bundle.type'] },
      type
    )
  }
  const elsewhere = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ fullUrl: `${ehr}/Observation/1`, resource: observation('Patient/1103') }]
  }
  isRefused(t, await fhir.send('POST', '/Bundle', elsewhere), 422, 'a record that is neither in the Bundle nor here')
  const altered = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [{ fullUrl: 'resource:0', resource: patient({ id: '0' }) }, { resource: observation('resource:0') }]
  }
  isRefused(
    t,
    await fhir.send('POST', '/Bundle', altered),
    { status: 422, diagnostics: /In a stored Bundle, use urn:uuid:/ },
    'a form of reference that HAPI would alter'
  )
}

async function texts (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [id] = await stored(fhir, patient())
  const cases: ReadonlyArray<readonly [string, RegExp]> = [
    [urn(7), /urn: reference .* by its fullUrl/],
    [`${ehr}/Patient/${id}`, /absolute URL/],
    ['Patient/nobody', /existing record of the same organization/],
    ['Patient?identifier=http://mrn%7Cnone', /meets the criteria/]
  ]
  for (const [reference, diagnostics] of cases) {
    isRefused(
      t,
      await send(fhir, entry('POST', 'Observation', observation(reference))),
      { status: 422, diagnostics, expression: ['Bundle.entry[0].resource.subject'] },
      reference
    )
  }
  isRefused(
    t,
    await send(fhir, entry('POST', 'Observation', observation('Patient?mrn=1'))),
    { status: 400, diagnostics: /search parameter of Patient/, expression: ['Bundle.entry[0].resource.subject'] },
    'criteria that are not understood'
  )
  isRefused(
    t,
    await fhir.send('POST', '/Observation', observation('Patient?identifier=x')),
    { status: 422, diagnostics: /only in a transaction/ },
    'criteria outside of a transaction'
  )
}
