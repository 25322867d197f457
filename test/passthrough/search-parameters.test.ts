import { randomUUID } from 'node:crypto'
import t from 'tap'
import { readFhirSearch } from '../../src/api/passthrough/search-request.js'
import { sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  formType,
  assertRejected,
  findLink,
  listRecords,
  buildObservation,
  openWorld,
  buildPatchEntry,
  patchType,
  buildPatient,
  storeResources
} from './fixture.js'

// A long search got a cursor that was longer than the maximum of a query's values: its second page was refused.
t.test('the next page of a long search is found', async t => {
  const client = await createGatewayClient(await startGateway(t))
  const system = 'http://example.org/numbers-of-a-registry'
  const numbers = Array.from({ length: 32 }, () => randomUUID())
  const ids: string[] = []
  for (const value of numbers.slice(0, 2)) {
    ids.push(
      (await client.send('POST', 'patients', { firstName: 'Ada', lastName: 'Byron', identifiers: [{ system, value }] }))
        .data.id
    )
  }
  const searches = [
    `id=${[...ids, ...Array.from({ length: 38 }, () => randomUUID())].join()}`,
    `identifier=${encodeURIComponent(
      numbers
        .map(number => `${system}|${number}`)
        .slice(0, 24)
        .join()
    )}`
  ]
  for (const search of searches) {
    const first = await client.send('GET', `patients?count=1&${search}`)
    t.ok(first.data.cursor.length > 2000, 'a long cursor')
    const second = await client.send('GET', `patients?count=1&${search}&cursor=${first.data.cursor}`)
    t.match([second.status, second.data?.data?.length, second.data?.hasMore], [200, 1, false], second.text)
    t.strictSame([first, second].map(({ data }) => data.data[0].id).sort(), [...ids].sort())
  }
  t.match(await client.send('GET', `patients?cursor=${'x'.repeat(12_289)}`), {
    status: 400,
    body: { message: 'cursor: at most 12288 characters' }
  })
  t.match(await client.send('GET', `patients?name=${'x'.repeat(2_001)}`), {
    status: 400,
    body: { message: 'name: at most 2000 characters' }
  })
})

// A link to the next page with a long search became a cursor which was then refused as expired: the rest of the result
// was lost.
t.test('a first page never leads to a second one that is refused', async t => {
  const sandbox = await startTestSandbox(t)
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  await storeResources(fhir, buildPatient(), buildPatient())
  const outcomes = new Set<number>()
  for (let length = 1_000; length <= 14_000; length += 500) {
    const first = await fhir.send('POST', '/Patient/_search', `_count=1&family=Byron,${'x'.repeat(length)}`, formType)
    outcomes.add(first.status)
    if (first.status === 200) {
      t.equal(listRecords(await fhir.send('GET', findLink(first, 'next')!)).length, 1, `${length} characters`)
    } else assertRejected(t, first, { status: 400, code: 'too-costly' }, `${length} characters`)
  }
  t.strictSame(outcomes, new Set([200, 400]), 'short ones go on, long ones are refused at once')
})

const organization = { resourceType: 'Organization', name: 'Ward' }

// Only the search's own parameters were parsed for URLs of this gateway; a condition behind a reference found nothing,
// silently.
t.test('the condition of a chain or _has may name a record by its URL', async t => {
  const sandbox = await startTestSandbox(t)
  const fhir = await (await openWorld(t, { url: sandbox.url, server: 'sandbox' })).fhir()
  const [ward] = await storeResources(fhir, organization)
  const [ada] = await storeResources(fhir, buildPatient({ managingOrganization: { reference: `Organization/${ward}` } }))
  const [weight] = await storeResources(fhir, buildObservation(`Patient/${ada}`))
  const searchRecords = async (query: string) => listRecords(await fhir.send('GET', `/${query}`))
  for (const base of ['', `${fhirBase}/`]) {
    t.strictSame(
      await searchRecords(`Observation?subject:Patient.organization=${base}Organization/${ward}`),
      [`Observation/${weight}`],
      base
    )
    t.strictSame(
      await searchRecords(`Observation?subject:Patient.organization=Organization/nobody,${base}Organization/${ward}`),
      [`Observation/${weight}`],
      base
    )
    t.strictSame(
      await searchRecords(`Patient?_has:Observation:subject:subject=${base}Patient/${ada}`),
      [`Patient/${ada}`],
      base
    )
  }
  assertRejected(
    t,
    await fhir.send('GET', '/Observation?subject:Patient.organization=http://other.example/Organization/1'),
    400,
    'an address elsewhere, as without a chain'
  )
})

t.test("where a record's URL would mean another thing for each type, a type is required", async t => {
  const read = (name: string) =>
    readFhirSearch('ImagingStudy', { query: [[name, `${fhirBase}/Practitioner/1`]], isLenient: false, fhirBase })
  t.throws(
    () => read('basedon.performer'),
    { code: 'BAD_REQUEST', message: /name one type/ },
    'the performer of a Task is a code'
  )
  t.match(read('basedon:ServiceRequest.performer').joins, [
    { types: ['ServiceRequest'], condition: ['performer', 'Practitioner/1'] }
  ])
})

// HAPI takes birthdate:not for birthdate, so the one person born on that day would have been deleted.
t.test('a modifier that a search parameter does not have is refused before any request to the datastore', async t => {
  const server = await startFaultyServer()
  t.after(() => server.close())
  server.answerProbes()
  server.behave(sendJson(200, { resourceType: 'Bundle', type: 'searchset', total: 0 }))
  const { fhir } = await openWorld(t, { url: `${server.url}/fhir`, server: 'hapi' })
  const { send } = await fhir()
  const url = '/Patient?birthdate:not=1970-01-01'
  const rejection = {
    status: 400,
    code: 'invalid',
    diagnostics: /^birthdate:not: this parameter supports only :missing$/,
    expression: ['birthdate:not']
  }
  assertRejected(t, await send('DELETE', url), rejection, 'a delete')
  assertRejected(t, await send('PUT', url, buildPatient()), rejection, 'an update')
  assertRejected(t, await send('PATCH', url, [{ op: 'add', path: '/active', value: true }], patchType), rejection, 'a patch')
  assertRejected(
    t,
    await send('POST', '/Patient', buildPatient(), { 'if-none-exist': 'birthdate:not=1970-01-01' }),
    rejection,
    'a create'
  )
  assertRejected(t, await send('GET', url), rejection, 'a search')
  assertRejected(
    t,
    await send('GET', url, undefined, { prefer: 'handling=lenient' }),
    rejection,
    'a search that may leave out what is unknown'
  )
  assertRejected(t, await send('POST', '/Patient/_search', 'birthdate:not=1970-01-01', formType), rejection, 'a search by POST')
  for (const [name, only] of Object.entries({
    'family:not': ':contains, :exact, :missing',
    'gender:exact': ':missing, :not, :of-type, :text',
    'gender:Patient': ':missing, :not, :of-type, :text',
    'organization:text': ':identifier, :missing, :\\[type\\]'
  })) {
    assertRejected(
      t,
      await send('GET', `/Patient?${name}=x`),
      { status: 400, diagnostics: new RegExp(`^${name}: this parameter supports only ${only}$`) },
      name
    )
  }
  assertRejected(
    t,
    await send('GET', '/Observation?code-value-quantity:missing=true'),
    { status: 400, diagnostics: /^code-value-quantity:missing: this parameter supports no modifiers$/ },
    'a composite'
  )
  assertRejected(t, await send('GET', '/RiskAssessment?probability:not=0.5'), 400, 'a number')
  assertRejected(t, await send('GET', '/Observation?patient.birthdate:not=1970-01-01'), rejection, 'in a chain')
  assertRejected(
    t,
    await send('GET', '/Patient?_has:Observation:patient:date:not=1970-01-01'),
    { ...rejection, diagnostics: /^date:not: /, expression: ['date:not'] },
    'in _has'
  )
  assertRejected(
    t,
    await send(
      'POST',
      '',
      buildBundle(
        'transaction',
        buildEntry('DELETE', 'Patient?birthdate:not=1970-01-01'),
        buildPatchEntry('Patient?birthdate:not=1970-01-01', [])
      )
    ),
    400,
    'in a transaction'
  )
  const unknown = await send('GET', '/Patient?birthdate:Byron=1970')
  assertRejected(
    t,
    unknown,
    { status: 400, diagnostics: /^birthdate: this parameter supports only :missing$/ },
    'one that no parameter has is not said again'
  )
  assertRejected(
    t,
    await send('DELETE', '/Patient?birthdate:missing=1'),
    { status: 400, diagnostics: /:missing takes true or false/ },
    'HAPI takes any value but true for false'
  )
  t.equal(server.seen.length, 0, 'no request was sent')
  t.equal(
    (await send('GET', '/Patient?birthdate:missing=true&family:exact=Byron&gender:not=male&organization:missing=false'))
      .status,
    200,
    'those that there are'
  )
})
