import { randomUUID } from 'node:crypto'
import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { createGatewayClient } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'
import { createGateway, newTenant } from '../tenant-guard/guarded.js'

const { url } = requireRealBackend()
const server = createFhirClient(url)
const isNote = ({ search }: any) => search.mode === 'outcome'
const getNote = ({ resource }: any = {}) => resource?.issue[0].diagnostics
const findNextUrl = ({ link }: any): string =>
  /Observation\?.*/.exec(link.find(({ relation }: any) => relation === 'next').url)![0]

// HAPI reads a thousand references at most for the includes of a page. Two performers each made it 1,020 here.
t.test('a page says that records may be missing from what it includes, and only then', async t => {
  const gateway = await startGateway(t, { fhirUrl: url })
  const client = await createGatewayClient(gateway)
  const performers = await server.storeAll(
    client.tenantId,
    Array.from({ length: 30 }, () => ({ resourceType: 'Practitioner' }))
  )
  const buildReferences = (...ids: ReadonlyArray<string | undefined>) => ids.map(id => ({ reference: `Practitioner/${id}` }))
  const [patient] = await server.storeAll(client.tenantId, [
    { resourceType: 'Patient', generalPractitioner: buildReferences(...performers) }
  ])
  const buildObservation = (at: number) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: `Patient/${patient}` },
    performer: buildReferences(performers[at % 15], performers[15 + Math.floor(at / 34)])
  })
  for (const part of [0, 255]) {
    await server.storeAll(
      client.tenantId,
      Array.from({ length: 255 }, (_, at) => buildObservation(part + at))
    )
  }
  const search = async (query: string) => {
    const { status, body } = await client.send('GET', `fhir/${query}`)
    t.equal(status, 200, query)
    t.notOk(body.entry.slice(0, -1).some(isNote), 'the note is the last entry')
    return {
      body,
      included: body.entry.filter(({ search: { mode } }: any) => mode === 'include').length,
      note: getNote(body.entry.find(isNote))
    }
  }
  const ofPatient = `Observation?subject=Patient/${patient}`

  const cut = await search(`${ofPatient}&_count=1000&_include=Observation:performer&_include=Observation:subject`)
  t.match(cut.note, /by _include=Observation:performer\. /, 'and what is whole is not named')
  t.match(
    (await search(`${ofPatient}&_count=1000&_include=Observation:performer&_elements=status`)).note,
    /Observation:performer/,
    'whatever elements are shown'
  )

  const complete = await search(`${ofPatient}&_count=400&_include=Observation:performer`)
  t.equal(complete.note, undefined)
  t.equal((await search(findNextUrl(complete.body))).note, undefined)

  // Reverse includes leave less room for includes, which are followed last.
  const back = `Patient?_id=${patient}&_revinclude=Observation:subject`
  t.equal((await search(`${back}&_include=Patient:general-practitioner`)).note, undefined)
  t.match(
    (await search(`${back}&_include:iterate=Observation:performer`)).note,
    /by _include:iterate=Observation:performer\. /
  )
  await server.storeAll(client.tenantId, Array.from({ length: 470 }, (_, at) => buildObservation(at)))
  const both = await search(`${back}&_include=Patient:general-practitioner`)
  t.equal(both.included, 1_000)
  t.match(both.note, /by _include=Patient:general-practitioner\. /)
  const simple = await client.send(
    'GET',
    `patients/${patient}?_revinclude=Observation:subject&_include=Patient:general-practitioner`
  )
  t.match(getNote(simple.body.data.entry.find(isNote)), /of these types .*Practitioner/)

  await server.storeAll(client.tenantId, Array.from({ length: 200 }, (_, at) => buildObservation(at)))
  const first = await search(`${ofPatient}&_count=590&_include=Observation:performer`)
  t.match(first.note, /Observation:performer/)
  t.match((await search(findNextUrl(first.body))).note, /Observation:performer/, 'on later pages as well')
})

const family = `Many${randomUUID().slice(0, 8)}`

/** 130 patients of a tenant that this gateway has not seen yet. */
async function createPatients (): Promise<{ readonly tenant: string, readonly ids: readonly string[] }> {
  const tenant = newTenant()
  const entries = Array.from({ length: 130 }, () => ({
    interaction: { kind: 'create', type: 'Patient', resource: { resourceType: 'Patient', name: [{ family }] } } as const
  }))
  const response = await createGateway(url)
    .guard(tenant)
    .perform({ kind: 'transaction', type: 'Bundle', entries, references: new Map(), showsWritten: true })
  return {
    tenant,
    ids: JSON.parse(String(response.body)).entry.map((entry: { resource: { id: string } }) => entry.resource.id)
  }
}

t.test('more than a hundred references that this gateway has not met are all found to be the tenant\'s', async t => {
  const { tenant, ids } = await createPatients()
  const resource = {
    resourceType: 'Group',
    type: 'person',
    actual: true,
    member: ids.map(id => ({ entity: { reference: `Patient/${id}` } }))
  }
  const { status } = await createGateway(url).guard(tenant).perform({ kind: 'create', type: 'Group', resource })
  t.equal(status, 201)
})

t.test('a chain over more than a hundred records loses none of them', async t => {
  const { tenant, ids } = await createPatients()
  const guard = createGateway(url).guard(tenant)
  const buildObservation = (id: string) => ({
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: `Patient/${id}` }
  })
  const entries = ids.map(id => ({
    interaction: { kind: 'create', type: 'Observation', resource: buildObservation(id) } as const
  }))
  await guard.perform({ kind: 'transaction', type: 'Bundle', entries, references: new Map(), showsWritten: false })
  const joins = [
    { direction: 'chain', types: ['Patient'], reference: 'subject', condition: ['family', family] }
  ] as const
  const { body } = await guard.perform({
    kind: 'search',
    route: 'fhir',
    type: 'Observation',
    parameters: [],
    joins,
    includes: [],
    requested: [],
    count: 0
  })
  t.equal(JSON.parse(String(body)).total, 130)
})
