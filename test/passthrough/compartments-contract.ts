import type { Test } from 'tap'
import {
  bundle,
  entry,
  fhirBase,
  idIn,
  isRefused,
  linkTo,
  listed,
  observation,
  pagesOf,
  patient,
  stored,
  type Fhir,
  type World
} from './fixture.js'

/**
 * What the search of a compartment must do, whichever FHIR server is behind the gateway:
 * http://hl7.org/fhir/R4/compartmentdefinition.html
 */
export async function compartmentsContract (t: Test, world: World): Promise<void> {
  await t.test('the records of a patient are found below it, and no others', t => ofPatient(t, world))
  await t.test('a record is in the compartment by each of the parameters that R4 names, and once', t => byAny(t, world))
  await t.test('the records of an encounter are found below it', t => ofEncounter(t, world))
  await t.test('a compartment is searched as its type is: filters, joins, what comes along, pages, a form', t =>
    asSearch(t, world)
  )
  await t.test("the compartment of an unknown, a deleted and another's patient are alike not there", t =>
    strangers(t, world)
  )
  await t.test('what R4 has not in a compartment is not offered', t => notOffered(t, world))
}

const condition = (more: object) => ({ resourceType: 'Condition', subject: { display: 'x' }, ...more })

async function ofPatient (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, bo] = await stored(fhir, patient(), patient())
  const [own] = await stored(fhir, observation(`Patient/${ada}`), observation(`Patient/${bo}`))
  const found = await fhir.send('GET', `/Patient/${ada}/Observation`)
  t.strictSame([found.status, listed(found), found.resource.total], [200, [`Observation/${own}`], 1])
  t.equal(linkTo(found, 'self'), `${fhirBase}/Patient/${ada}/Observation`)
  const none = await fhir.send('GET', `/Patient/${ada}/AuditEvent`)
  t.match(none.resource, { type: 'searchset', total: 0, entry: undefined })
  const noneByMany = await fhir.send('GET', `/Patient/${ada}/Condition?code=x`)
  t.match(noneByMany.resource, {
    type: 'searchset',
    total: 0,
    entry: undefined,
    link: [{ relation: 'self', url: `${fhirBase}/Patient/${ada}/Condition?code=x` }]
  })
}

async function byAny (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, bo] = await stored(fhir, patient(), patient())
  const performed = { performer: [{ reference: `Patient/${ada}` }] }
  const [ofAda, byAda, both] = await stored(
    fhir,
    observation(`Patient/${ada}`),
    observation(`Patient/${bo}`, performed),
    observation(`Patient/${ada}`, performed),
    observation(`Patient/${bo}`)
  )
  const all = (...ids: Array<string | undefined>) => ids.map(id => `Observation/${id}`).sort()
  t.strictSame(listed(await fhir.send('GET', `/Patient/${ada}/Observation`)).sort(), all(ofAda, byAda, both))
  t.strictSame(
    listed(await fhir.send('GET', `/Patient/${ada}/Observation?_id=${ofAda}`)),
    all(ofAda),
    "an id of the client's narrows as well"
  )
  const [asserted] = await stored(
    fhir,
    condition({ asserter: { reference: `Patient/${ada}` }, subject: { reference: `Patient/${bo}` } })
  )
  t.strictSame(listed(await fhir.send('GET', `/Patient/${ada}/Condition`)), [`Condition/${asserted}`])
}

async function ofEncounter (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await stored(fhir, patient())
  const [visit] = await stored(fhir, {
    resourceType: 'Encounter',
    status: 'finished',
    class: { code: 'AMB' },
    subject: { reference: `Patient/${ada}` }
  } as { resourceType: string })
  const [during] = await stored(
    fhir,
    observation(`Patient/${ada}`, { encounter: { reference: `Encounter/${visit}` } }),
    observation(`Patient/${ada}`)
  )
  t.strictSame(listed(await fhir.send('GET', `/Encounter/${visit}/Observation`)), [`Observation/${during}`])
  t.strictSame(listed(await fhir.send('GET', `/Patient/${ada}/Encounter`)), [`Encounter/${visit}`])
}

async function asSearch (t: Test, { fhir: join, server }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await stored(fhir, patient())
  const ids = await stored(
    fhir,
    ...Array.from({ length: 5 }, (_, at) => observation(`Patient/${ada}`, { status: at < 2 ? 'final' : 'amended' }))
  )
  const path = `/Patient/${ada}/Observation`
  t.equal(listed(await fhir.send('GET', `${path}?status=final`)).length, 2)
  t.strictSame(listed(await fhir.send('GET', `${path}?_count=1&_include=Observation:subject`)).slice(1), [
    `+Patient/${ada}`
  ])
  if (server === 'hapi') t.equal(listed(await fhir.send('GET', `${path}?subject:Patient.family=Byron`)).length, 5)
  const pages = await pagesOf(fhir, `${path}?_count=2`)
  t.strictSame(pages.flatMap(listed).sort(), ids.map(id => `Observation/${id}`).sort())
  t.equal(
    listed(
      await fhir.send('POST', `${path}/_search?_count=5`, 'status=final', {
        'content-type': 'application/x-www-form-urlencoded'
      })
    ).length,
    2
  )
  isRefused(t, await fhir.send('GET', `${path}?nothing=1`), 400, 'an unknown parameter')
  isRefused(
    t,
    await fhir.send('GET', `${path}?_cursor=${new URL(linkTo(pages[0]!, 'next')!).searchParams.get('_cursor')}`),
    400,
    'a cursor is taken where the link leads'
  )
}

async function strangers (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[foreign], [deleted]] = [await stored(other, patient()), await stored(fhir, patient())]
  await stored(other, observation(`Patient/${foreign}`))
  await fhir.send('DELETE', `/Patient/${deleted}`)
  for (const path of [
    'Observation',
    'Condition',
    'Observation?status=final',
    'Observation?_has:Provenance:target:recorded=2026'
  ]) {
    const answers = await Promise.all(
      ['no-such', foreign, deleted, 'x'.repeat(65)].map(id => fhir.send('GET', `/Patient/${id}/${path}`))
    )
    for (const answer of answers) {
      isRefused(t, answer, { status: 404, code: 'not-found' }, path)
      t.strictSame(answer.text, answers[0]!.text)
    }
  }
}

async function notOffered (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada] = await stored(fhir, patient())
  for (const path of [`/Patient/${ada}/*`, `/Patient/${ada}/Practitioner`, `/Patient/${ada}/ValueSet`]) {
    isRefused(t, await fhir.send('GET', path), { status: 405, code: 'not-supported' }, path)
  }
  for (const method of ['POST', 'PUT', 'DELETE']) {
    isRefused(
      t,
      await fhir.send(
        method,
        `/Patient/${ada}/Observation`,
        method === 'DELETE' ? undefined : observation(`Patient/${ada}`)
      ),
      405,
      method
    )
  }
  isRefused(t, await fhir.send('GET', `/Patient/${ada}/Observation/_search`), 405, 'GET _search')
  isRefused(t, await fhir.send('GET', '/Practitioner/1/Observation'), 404, 'another compartment')
}

/** More records than can be named, in two ways: the search says what to do instead. */
export async function tooManyContract (t: Test, { fhir: join }: World): Promise<void> {
  const fhir = await join()
  const [ada, bo] = await stored(fhir, patient(), patient())
  const many = (subject: string, more: object, count: number): Promise<unknown> =>
    fhir.send(
      'POST',
      '',
      bundle(
        'transaction',
        ...Array.from({ length: count }, () => entry('POST', 'Observation', observation(subject, more)))
      )
    )
  await many(`Patient/${ada}`, {}, 600)
  await many(`Patient/${ada}`, {}, 420)
  const path = `/Patient/${ada}/Observation?_count=1000`
  t.equal((await pagesOf(fhir, path)).flatMap(listed).length, 1_020, 'one way alone has no limit')
  const made = await fhir.send(
    'POST',
    '/Observation',
    observation(`Patient/${bo}`, { performer: [{ reference: `Patient/${ada}` }] })
  )
  const refused = await fhir.send('GET', path)
  isRefused(t, refused, { status: 400, code: 'too-costly' }, 'in two ways')
  t.match(refused.resource.issue[0].diagnostics, /subject, performer/)
  await fhir.send('DELETE', `/Observation/${idOf(made)}`)
}

const idOf = ({ headers }: Awaited<ReturnType<Fhir['send']>>): string => idIn(headers.location!)
