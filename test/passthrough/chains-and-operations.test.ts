import t, { type Test } from 'tap'
import { readFhirSearch } from '../../src/api/passthrough/search-request.js'
import { listReferenceParameters } from '../../src/mappings/r4/search-parameters.js'
import type { Search } from '../../src/tenant-guard/interaction.js'
import { type Behaviour, sendJson, startFaultyServer } from '../backends/faulty-server.js'
import { catchFailure, createGateway, system } from '../tenant-guard/guarded.js'
import { assertRejected, openWorld } from './fixture.js'

const buildRecord = (resourceType: string, id: string) => ({
  resourceType,
  id,
  meta: { versionId: '1', tag: [{ system, code: 'tenant-a' }] }
})
const group = buildRecord('Group', 'g1')
const buildMembers = (count: number) => Array.from({ length: count }, (_, at) => buildRecord('Patient', `p${at}`))

const respondSearchset = (matches: readonly object[], included: readonly object[] = [], more: object = {}): Behaviour =>
  sendJson(200, {
    resourceType: 'Bundle',
    type: 'searchset',
    entry: [
      ...matches.map(resource => ({ resource, search: { mode: 'match' } })),
      ...included.map(resource => ({ resource, search: { mode: 'include' } }))
    ],
    ...more
  })

const search: Search = {
  kind: 'search',
  route: 'fhir',
  type: 'Patient',
  parameters: [],
  joins: [{ direction: 'has', types: ['Group'], reference: 'member', condition: ['_id', 'g1'] }],
  includes: [],
  count: 1,
  total: 'accurate',
  requested: []
}

async function startGuard (t: Test) {
  const server = await startFaultyServer()
  const gateway = createGateway(`${server.url}/fhir`)
  t.teardown(async () => { await Promise.all([server.close(), gateway.backend.close()]) })
  return { server, perform: () => gateway.guard('tenant-a').perform(search) }
}

// HAPI includes 1,000 records in a search and does not mention the others: of 1,500 members the accurate total was
// 1,000.
t.test('_has over more records than a server includes is refused, and never truncated', async t => {
  const { server, perform } = await startGuard(t)
  const assertTooCostly = async (behaviour: Behaviour, message: string) => {
    server.behave(behaviour)
    t.match(await catchFailure(perform()), { code: 'BAD_REQUEST', status: 400, issues: [{ code: 'too-costly' }] }, message)
    t.equal(server.seen.length, 1, `${message}: no further request`)
  }
  await assertTooCostly(respondSearchset([group], buildMembers(1_000)), 'as many as HAPI brings along at most')
  await assertTooCostly(
    respondSearchset([group], buildMembers(10), { link: [{ relation: 'related', url: 'http://x' }] }),
    'a server that links to the rest'
  )
  await assertTooCostly(
    sendJson(200, {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: [{ resource: group }, { resource: { resourceType: 'OperationOutcome' }, search: { mode: 'outcome' } }]
    }),
    'a server that notes that there is more'
  )
  const buildGroups = (...sizes: number[]) =>
    sizes.map((size, at) => ({
      ...buildRecord('Group', `g${at}`),
      member: buildMembers(size).map(({ id }) => ({ entity: { reference: `Patient/${id}` } }))
    }))
  // Of two groups with 800 members each, 700 of them in both, HAPI included 800 and not 900.
  await assertTooCostly(respondSearchset(buildGroups(800, 800), buildMembers(800)), 'more references than HAPI reads')
  t.match(
    decodeURIComponent(server.seen[0]!.url),
    /&_include=Group:member:Patient&_elements=id,meta,member$/,
    'the references are requested'
  )
  const mixed = Array.from({ length: 999 }, (_, at) => ({
    ...buildRecord('Group', `g${at}`),
    member: [{ entity: { reference: 'Patient/p0' } }, { entity: { reference: 'Device/d' } }]
  }))
  server.behave(respondSearchset(mixed, buildMembers(1)), respondSearchset(buildMembers(1), [], { total: 1 }))
  t.match(JSON.parse(String((await perform()).body)), { total: 1 }, 'references to other types are not followed')
  server.behave(respondSearchset([group], buildMembers(999)), respondSearchset(buildMembers(1), [], { total: 999 }))
  t.match(JSON.parse(String((await perform()).body)), { total: 999 }, '999 are not too many')
})

const buildSearch = (type: string, name: string, value: string) => () =>
  readFhirSearch(type, { query: [[name, value]], isLenient: false, fhirBase: 'https://gateway.test/v1/fhir' })
const rejection = { status: 400, message: /canonical URLs are not followed/ }

// A datastore follows them to the records of every organization, and to a thousand at most.
t.test('no search follows a canonical URL to other records', async t => {
  t.throws(buildSearch('QuestionnaireResponse', '_include', 'QuestionnaireResponse:questionnaire'), rejection)
  t.throws(buildSearch('Questionnaire', '_revinclude', 'QuestionnaireResponse:questionnaire'), rejection)
  t.throws(buildSearch('QuestionnaireResponse', '_include:iterate', 'PlanDefinition:depends-on'), rejection)
  t.throws(buildSearch('Questionnaire', '_has:QuestionnaireResponse:questionnaire:status', 'completed'), rejection)
  t.throws(buildSearch('QuestionnaireResponse', 'questionnaire:Questionnaire.name', 'x'), rejection)
  t.doesNotThrow(
    buildSearch('QuestionnaireResponse', 'questionnaire', 'http://example.org/q'),
    'they are conditions as before'
  )
})

t.test('of the parameters of kind reference, those that look at canonicals are not followed', async t => {
  t.notOk(listReferenceParameters('QuestionnaireResponse').includes('questionnaire'))
  t.notOk(
    listReferenceParameters('PlanDefinition').some(name => ['definition', 'depends-on', 'composed-of'].includes(name)),
    'in a choice, a list or next to another'
  )
  t.ok(
    ['source', 'subject', 'part-of', 'based-on'].every(name =>
      listReferenceParameters('QuestionnaireResponse').includes(name)
    )
  )
  t.ok(
    listReferenceParameters('Linkage').includes('item'),
    'a Reference of the name that related artifacts have for a canonical'
  )
  t.ok(listReferenceParameters('Substance').includes('substance-reference'), 'a Reference among other types')
  t.ok(listReferenceParameters('Composition').includes('patient'), 'a Reference to one type')
})

// R4 lets every operation be invoked by POST, which is the default of HAPI's client.
t.test('$everything by POST is what it is by GET', async t => {
  const server = await startFaultyServer()
  t.after(() => server.close())
  server.answerProbes()
  const { fhir } = await openWorld(t, { url: `${server.url}/fhir`, server: 'hapi' })
  const { tenantId, send } = await fhir()
  const patient = {
    resourceType: 'Patient',
    id: '1',
    meta: { tag: [{ system: 'urn:clinigate:tenant', code: tenantId }] }
  }
  const buildParameters = (...parameter: object[]) => ({
    resourceType: 'Parameters',
    ...(parameter.length > 0 && { parameter })
  })
  const sendEverything = async (...request: Parameters<typeof send>) => {
    server.behave(
      sendJson(200, patient),
      sendJson(200, { resourceType: 'Bundle', type: 'searchset', entry: [{ resource: patient }] })
    )
    t.match(await send(...request), {
      status: 200,
      resource: { type: 'searchset', entry: [{ resource: { id: '1' } }] }
    })
    return server.seen.map(({ method, url }) => `${method} ${decodeURIComponent(url)}`)
  }
  const url = '/Patient/1/$everything'
  const plain = await sendEverything('GET', url)
  t.match(plain, [/^GET .*Patient\/1/, /^GET \/fhir\/Patient\/1\/\$everything\?_count=100$/])
  t.strictSame(await sendEverything('POST', url), plain, 'without a body')
  t.strictSame(await sendEverything('POST', url, buildParameters()), plain, 'without parameters')
  const some = await sendEverything(
    'GET',
    `${url}?_since=2020-01-01T00:00:00Z&_count=5&_type=Patient,Observation`
  )
  const received = [
    { name: '_since', valueInstant: '2020-01-01T00:00:00Z' },
    { name: '_count', valueInteger: 5 }
  ]
  t.strictSame(
    await sendEverything(
      'POST',
      url,
      buildParameters(...received, { name: '_type', valueCode: 'Patient' }, { name: '_type', valueCode: 'Observation' })
    ),
    some,
    'a parameter that may be repeated'
  )
  t.strictSame(
    await sendEverything('POST', `${url}?_type=Patient,Observation`, buildParameters(...received)).then(all => all.map(sortQuery)),
    some.map(sortQuery),
    'some in the URL'
  )

  server.behave(sendJson(200, patient))
  const reader = await fhir({ tenantId, scopes: ['read'] })
  const writer = await fhir({ tenantId, scopes: ['write'] })
  assertRejected(t, await writer.send('POST', url, buildParameters()), { status: 403, code: 'forbidden' }, 'it reads')
  const refused = [
    buildParameters({ name: 'patient', valueId: '1' }),
    buildParameters({ name: '_elements', valueString: 'id' }),
    buildParameters({ name: '_count', valueInteger: 1 }, { name: '_count', valueInteger: 2 }),
    buildParameters({ name: '_count', valueInteger: -1 }),
    buildParameters({ name: '_type', valueCoding: { code: 'Patient' } }),
    { resourceType: 'Patient' },
    []
  ]
  for (const body of refused) assertRejected(t, await reader.send('POST', url, body), 400, JSON.stringify(body))
  assertRejected(
    t,
    await reader.send('POST', `${url}?_count=1`, buildParameters({ name: '_count', valueInteger: 2 })),
    400,
    'which of the two counts?'
  )
  assertRejected(t, await reader.send('POST', '/Patient/$everything', buildParameters()), 405, 'of all patients')
  t.equal(server.seen.length, 0, 'no request was sent')
  t.equal((await reader.send('PUT', url, buildParameters())).headers.allow, 'GET, HEAD, POST')
})

const sortQuery = (request: string): string => request.split(/[?&]/).sort().join('&')
