import t, { type Test } from 'tap'
import { readSearch } from '../../src/api/passthrough/search-request.js'
import { referenceParameters } from '../../src/mappings/r4/search-parameters.js'
import type { Search } from '../../src/tenant-guard/interaction.js'
import { type Behaviour, json, startFaultyServer } from '../backends/faulty-server.js'
import { failureOf, gatewayTo, system } from '../tenant-guard/guarded.js'
import { isRefused, openWorld } from './fixture.js'

const record = (resourceType: string, id: string) => ({
  resourceType,
  id,
  meta: { versionId: '1', tag: [{ system, code: 'tenant-a' }] }
})
const group = record('Group', 'g1')
const members = (count: number) => Array.from({ length: count }, (_, at) => record('Patient', `p${at}`))

const searchset = (matches: readonly object[], included: readonly object[] = [], more: object = {}): Behaviour =>
  json(200, {
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

async function rig (t: Test) {
  const server = await startFaultyServer()
  const gateway = gatewayTo(`${server.url}/fhir`)
  t.teardown(async () => { await Promise.all([server.close(), gateway.backend.close()]) })
  return { server, perform: () => gateway.guard('tenant-a').perform(search) }
}

// HAPI brings 1,000 records along with a search and says nothing of the others: of 1,500 members the accurate total was
// 1,000.
t.test('_has over more records than a server brings along is refused, and never cut', async t => {
  const { server, perform } = await rig(t)
  const refused = async (behaviour: Behaviour, message: string) => {
    server.behave(behaviour)
    t.match(await failureOf(perform()), { code: 'BAD_REQUEST', status: 400, issues: [{ code: 'too-costly' }] }, message)
    t.equal(server.seen.length, 1, `${message}: nothing more is asked`)
  }
  await refused(searchset([group], members(1_000)), 'as many as HAPI brings along at most')
  await refused(
    searchset([group], members(10), { link: [{ relation: 'related', url: 'http://x' }] }),
    'a server that links to the rest'
  )
  await refused(
    json(200, {
      resourceType: 'Bundle',
      type: 'searchset',
      entry: [{ resource: group }, { resource: { resourceType: 'OperationOutcome' }, search: { mode: 'outcome' } }]
    }),
    'a server that notes that there is more'
  )
  const ofMany = (...sizes: number[]) =>
    sizes.map((size, at) => ({
      ...record('Group', `g${at}`),
      member: members(size).map(({ id }) => ({ entity: { reference: `Patient/${id}` } }))
    }))
  // Of two groups with 800 members each, 700 of them in both, HAPI brought 800 along and not 900.
  await refused(searchset(ofMany(800, 800), members(800)), 'more references than HAPI reads')
  t.match(
    decodeURIComponent(server.seen[0]!.url),
    /&_include=Group:member:Patient&_elements=id,meta,member$/,
    'the references are asked for'
  )
  const mixed = Array.from({ length: 999 }, (_, at) => ({
    ...record('Group', `g${at}`),
    member: [{ entity: { reference: 'Patient/p0' } }, { entity: { reference: 'Device/d' } }]
  }))
  server.behave(searchset(mixed, members(1)), searchset(members(1), [], { total: 1 }))
  t.match(JSON.parse(String((await perform()).body)), { total: 1 }, 'references to other types are not followed')
  server.behave(searchset([group], members(999)), searchset(members(1), [], { total: 999 }))
  t.match(JSON.parse(String((await perform()).body)), { total: 999 }, '999 are not too many')
})

const request = (type: string, name: string, value: string) => () =>
  readSearch(type, { query: [[name, value]], isLenient: false, fhirBase: 'https://gateway.test/v1/fhir' })
const says = { status: 400, message: /canonical URLs are not followed/ }

// A datastore follows them to the records of every organization, and to a thousand at most.
t.test('no search follows a canonical URL to other records', async t => {
  t.throws(request('QuestionnaireResponse', '_include', 'QuestionnaireResponse:questionnaire'), says)
  t.throws(request('Questionnaire', '_revinclude', 'QuestionnaireResponse:questionnaire'), says)
  t.throws(request('QuestionnaireResponse', '_include:iterate', 'PlanDefinition:depends-on'), says)
  t.throws(request('Questionnaire', '_has:QuestionnaireResponse:questionnaire:status', 'completed'), says)
  t.throws(request('QuestionnaireResponse', 'questionnaire:Questionnaire.name', 'x'), says)
  t.doesNotThrow(
    request('QuestionnaireResponse', 'questionnaire', 'http://example.org/q'),
    'they are conditions as before'
  )
})

t.test('of the parameters of kind reference, those that look at canonicals are not followed', async t => {
  t.notOk(referenceParameters('QuestionnaireResponse').includes('questionnaire'))
  t.notOk(
    referenceParameters('PlanDefinition').some(name => ['definition', 'depends-on', 'composed-of'].includes(name)),
    'in a choice, a list or beside another'
  )
  t.ok(
    ['source', 'subject', 'part-of', 'based-on'].every(name =>
      referenceParameters('QuestionnaireResponse').includes(name)
    )
  )
  t.ok(
    referenceParameters('Linkage').includes('item'),
    'a Reference of the name that related artifacts have for a canonical'
  )
  t.ok(referenceParameters('Substance').includes('substance-reference'), 'a Reference among other types')
  t.ok(referenceParameters('Composition').includes('patient'), 'a Reference to one type')
})

// R4 lets every operation be invoked by POST, and HAPI's client does nothing else unless it is told to.
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
  const parameters = (...parameter: object[]) => ({
    resourceType: 'Parameters',
    ...(parameter.length > 0 && { parameter })
  })
  const requested = async (...request: Parameters<typeof send>) => {
    server.behave(
      json(200, patient),
      json(200, { resourceType: 'Bundle', type: 'searchset', entry: [{ resource: patient }] })
    )
    t.match(await send(...request), {
      status: 200,
      resource: { type: 'searchset', entry: [{ resource: { id: '1' } }] }
    })
    return server.seen.map(({ method, url }) => `${method} ${decodeURIComponent(url)}`)
  }
  const url = '/Patient/1/$everything'
  const plain = await requested('GET', url)
  t.match(plain, [/^GET .*Patient\/1/, /^GET \/fhir\/Patient\/1\/\$everything\?_count=100$/])
  t.strictSame(await requested('POST', url), plain, 'without a body')
  t.strictSame(await requested('POST', url, parameters()), plain, 'without parameters')
  const some = await requested(
    'GET',
    `${url}?_since=2020-01-01T00:00:00Z&_count=5&_type=Patient,Observation`
  )
  const given = [
    { name: '_since', valueInstant: '2020-01-01T00:00:00Z' },
    { name: '_count', valueInteger: 5 }
  ]
  t.strictSame(
    await requested(
      'POST',
      url,
      parameters(...given, { name: '_type', valueCode: 'Patient' }, { name: '_type', valueCode: 'Observation' })
    ),
    some,
    'a parameter that may be repeated'
  )
  t.strictSame(
    await requested('POST', `${url}?_type=Patient,Observation`, parameters(...given)).then(all => all.map(sorted)),
    some.map(sorted),
    'some in the URL'
  )

  server.behave(json(200, patient))
  const reader = await fhir({ tenantId, scopes: ['read'] })
  const writer = await fhir({ tenantId, scopes: ['write'] })
  isRefused(t, await writer.send('POST', url, parameters()), { status: 403, code: 'forbidden' }, 'it reads')
  const refused = [
    parameters({ name: 'patient', valueId: '1' }),
    parameters({ name: '_elements', valueString: 'id' }),
    parameters({ name: '_count', valueInteger: 1 }, { name: '_count', valueInteger: 2 }),
    parameters({ name: '_count', valueInteger: -1 }),
    parameters({ name: '_type', valueCoding: { code: 'Patient' } }),
    { resourceType: 'Patient' },
    []
  ]
  for (const body of refused) isRefused(t, await reader.send('POST', url, body), 400, JSON.stringify(body))
  isRefused(
    t,
    await reader.send('POST', `${url}?_count=1`, parameters({ name: '_count', valueInteger: 2 })),
    400,
    'which of the two counts?'
  )
  isRefused(t, await reader.send('POST', '/Patient/$everything', parameters()), 405, 'of all patients')
  t.equal(server.seen.length, 0, 'nothing was asked')
  t.equal((await reader.send('PUT', url, parameters())).headers.allow, 'GET, HEAD, POST')
})

const sorted = (request: string): string => request.split(/[?&]/).sort().join('&')
