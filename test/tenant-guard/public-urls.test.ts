import t, { type Test } from 'tap'
import { readRecord } from '../../src/jobs/import/record.js'
import { CheckedRecord } from '../../src/tenant-guard/import/tagged-record.js'
import type { TenantContext } from '../../src/tenant-guard/tenant-context.js'
import { relativizeReferences } from '../../src/tenant-guard/writes/own-references.js'
import { collectReferences } from '../../src/tenant-guard/writes/references.js'
import { startTestSandbox } from '../harness/sandbox.js'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  assertRejected,
  listRecords,
  buildObservation,
  openWorld,
  buildPatchEntry,
  patchType,
  buildPatient,
  storeResources,
  type World
} from '../passthrough/fixture.js'

/** A gateway to an empty server. */
async function openEmptyWorld (t: Test): Promise<World> {
  const sandbox = await startTestSandbox(t)
  return await openWorld(t, { url: sandbox.url, server: 'sandbox' })
}

const system = `${fhirBase}/sid/mrn`
const named = buildPatient({ identifier: [{ system, value: '1' }] })

// The URL of the gateway was removed from every uri, so identifiers were stored with another system than searches and
// the simple API have.
t.test('a system below the address of this gateway is stored unchanged, and is found', async t => {
  const { fhir } = await openEmptyWorld(t)
  const { send } = await fhir()
  const createOnce = () => send('POST', '/Patient', named, { 'if-none-exist': `identifier=${system}|1` })
  t.match(
    [await createOnce(), await createOnce()],
    [{ status: 201, resource: { identifier: [{ system }] } }, { status: 200 }],
    'a conditional create makes one'
  )
  t.match(await send('POST', '', buildBundle('transaction', buildEntry('POST', 'Patient', named))), { status: 200 })
  t.equal(listRecords(await send('GET', `/Patient?identifier=${system}|1`)).length, 2)
})

t.test('the same holds for a line of an import', async t => {
  const { type, body } = readRecord(Buffer.from(JSON.stringify(named)), { fhirBase })
  const context = {
    backend: { baseUrl: 'http://datastore/fhir' },
    fhirBase,
    tenant: { id: 'mine', system: 'urn:clinigate:tenant' }
  } as TenantContext
  const { resource, links } = new CheckedRecord(context, { type, id: 'p1', resource: { ...body, resourceType: type } })
  t.match({ resource, links }, { resource: { identifier: [{ system }] }, links: [] })
})

t.test('names of a questionnaire and of an extension lead to no record', async t => {
  const { fhir } = await openEmptyWorld(t)
  const { send } = await fhir()
  const url = `${fhirBase}/Questionnaire/phq9`
  t.match(await send('POST', '/Questionnaire', { resourceType: 'Questionnaire', status: 'draft', url }), {
    status: 201,
    resource: { url }
  })
  t.equal(listRecords(await send('GET', `/Questionnaire?url=${url}`)).length, 1)
  const extension = [
    { url: `${fhirBase}/StructureDefinition/eye`, valueCode: 'blue' },
    { url: `${fhirBase}/Basic/eye`, valueCode: 'blue' }
  ]
  t.match(await send('POST', '/Patient', buildPatient({ extension })), { status: 201, resource: { extension } })
})

t.test('what leads to a record becomes relative and is checked, wherever it stands', async t => {
  const { fhir } = await openEmptyWorld(t)
  const [own, other] = [await fhir(), await fhir()]
  const resources = [
    { resourceType: 'Binary', contentType: 'text/plain' },
    { resourceType: 'PlanDefinition', status: 'draft' },
    buildPatient()
  ] as const
  const [[binary, plan, ada], [foreign, foreignPlan, eve]] = [
    await storeResources(own, ...resources),
    await storeResources(other, ...resources)
  ]
  const documentReference = (id: string) => ({
    resourceType: 'DocumentReference',
    status: 'current',
    content: [{ attachment: { url: `${fhirBase}/Binary/${id}` } }]
  })
  const carePlan = (id: string) => ({
    resourceType: 'CarePlan',
    status: 'active',
    intent: 'plan',
    subject: { reference: `${fhirBase}/Patient/${ada}/_history/1` },
    instantiatesCanonical: [`${fhirBase}/PlanDefinition/${id}|1`, `${fhirBase}/plans/7`]
  })
  const patientWithExtension = (id: string) =>
    buildPatient({
      _birthDate: { extension: [{ url: 'http://x', valueReference: { reference: `${fhirBase}/Patient/${id}` } }] }
    })
  const patientWithContained = (id: string) =>
    buildPatient({
      extension: [{ url: 'http://x', valueReference: { reference: '#o' } }],
      contained: [buildObservation(`${fhirBase}/Patient/${id}`, { id: 'o' })]
    })
  t.match(await own.send('POST', '/DocumentReference', documentReference(binary!)), {
    status: 201,
    resource: { content: [{ attachment: { url: `Binary/${binary}` } }] }
  })
  t.match(await own.send('POST', '/CarePlan', carePlan(plan!)), {
    status: 201,
    resource: {
      subject: { reference: `Patient/${ada}/_history/1` },
      instantiatesCanonical: [`PlanDefinition/${plan}|1`, `${fhirBase}/plans/7`]
    }
  })
  t.match(await own.send('POST', '/Patient', patientWithExtension(ada!)), {
    status: 201,
    resource: { _birthDate: { extension: [{ valueReference: { reference: `Patient/${ada}` } }] } }
  })
  t.match(await own.send('POST', '/Patient', patientWithContained(ada!)), {
    status: 201,
    resource: { contained: [{ subject: { reference: `Patient/${ada}` } }] }
  })
  for (const theirs of [
    documentReference(foreign!),
    carePlan(foreignPlan!),
    patientWithExtension(eve!),
    patientWithContained(eve!)
  ]) {
    assertRejected(
      t,
      await own.send('POST', `/${theirs.resourceType}`, theirs),
      { status: 422, code: 'business-rule' },
      theirs.resourceType
    )
    assertRejected(
      t,
      await own.send('POST', '', buildBundle('transaction', buildEntry('POST', theirs.resourceType, theirs))),
      { status: 422, code: 'business-rule' },
      theirs.resourceType
    )
  }
  t.equal(listRecords(await own.send('GET', `/DocumentReference?location=${fhirBase}/Binary/${binary}`)).length, 1)
  t.equal(
    listRecords(await own.send('GET', `/CarePlan?instantiates-canonical=${fhirBase}/plans/7`)).length,
    1,
    'searched for as it is stored'
  )
})

// The URL was searched in the bytes of a body, and not in its parsed text.
t.test('a body may escape what it says', async t => {
  const { fhir } = await openEmptyWorld(t)
  const own = await fhir()
  const [ada] = await storeResources(own, buildPatient())
  const text = JSON.stringify(buildObservation(`${fhirBase}/Patient/${ada}`))
  for (const escaped of [text.replaceAll('/', '\\/'), text.replace('https:', '\\u0068ttps:')]) {
    t.match(await own.send('POST', '/Observation', escaped), {
      status: 201,
      resource: { subject: { reference: `Patient/${ada}` } }
    })
  }
})

// A patch was not handled as a resource, so a reference that stood alone as its value was sent with the URL.
t.test('a patch may name a record by its URL', async t => {
  const { fhir } = await openEmptyWorld(t)
  const [own, other] = [await fhir(), await fhir()]
  const [[ada, eve, weight], [foreign]] = [
    await storeResources(own, buildPatient(), buildPatient(), buildObservation('', { subject: { display: 'x' } })),
    await storeResources(other, buildPatient())
  ]
  const to = (id: string) => [{ op: 'add', path: '/subject/reference', value: `${fhirBase}/Patient/${id}` }]
  t.match(await own.send('PATCH', `/Observation/${weight}`, to(ada!), patchType), {
    status: 200,
    resource: { subject: { reference: `Patient/${ada}` } }
  })
  for (const type of ['batch', 'transaction']) {
    t.match(
      (await own.send('POST', '', buildBundle(type, buildPatchEntry(`Observation/${weight}`, to(eve!))))).resource,
      { entry: [{ response: { status: /^200/ } }] },
      type
    )
  }
  t.match(await own.send('GET', `/Observation/${weight}`), { resource: { subject: { reference: `Patient/${eve}` } } })
  assertRejected(
    t,
    await own.send('PATCH', `/Observation/${weight}`, to(foreign!), patchType),
    { status: 422, code: 'business-rule' },
    'a foreign one'
  )
})

const base = 'https://gateway.test/v1/fhir'

t.test('a canonical that begins with the address of this gateway becomes relative, alone and in a list', async t => {
  const sent = {
    resourceType: 'CarePlan',
    instantiatesCanonical: [`${base}/PlanDefinition/p1`, 'https://example.org/p2'],
    subject: { reference: `${base}/Patient/1` }
  }
  t.same(relativizeReferences(sent, base), {
    resourceType: 'CarePlan',
    instantiatesCanonical: ['PlanDefinition/p1', 'https://example.org/p2'],
    subject: { reference: 'Patient/1' }
  })
})

// A uri without a slash lost its last letter before it was looked up among the types of records: Lists became List.
t.test('a uri that is a type and one letter more leads to no record', async t => {
  for (const system of ['Lists', 'Patients', 'Tasks', 'Groups|1', 'List', 'Patient#1', 'Lists?x=1']) {
    t.strictSame(collectReferences({ resourceType: 'Patient', identifier: [{ system, value: '1' }] }, []), [], system)
  }
  t.match(
    collectReferences(
      { resourceType: 'Observation', instantiatesCanonical: 'PlanDefinition/1', implicitRules: 'List/1' },
      []
    )
      .map(({ record }) => record)
      .sort(),
    ['List/1', 'PlanDefinition/1']
  )
})
