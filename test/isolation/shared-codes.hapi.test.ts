import { randomUUID } from 'node:crypto'
import t from 'tap'
import { requireRealBackend } from '../harness/backend.js'
import { createGatewayClient } from '../harness/client.js'
import { createFhirClient } from '../harness/fhir-server.js'
import { startGateway } from '../harness/gateway.js'

const { url } = requireRealBackend()
const server = createFhirClient(url)
const questionnaire = `http://example.org/Questionnaire/${randomUUID()}`

// HAPI follows a canonical to whatever has that url, and a thousand records at most: who had 999 of their own saw
// whether there was another.
t.test('no organization can count by a canonical URL what others have', async t => {
  const gateway = await startGateway(t, { fhirUrl: url })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  await server.storeAll(
    client.tenantId,
    Array.from({ length: 999 }, () => ({ resourceType: 'Questionnaire', status: 'active', url: questionnaire }))
  )
  await server.storeAll(client.tenantId, [
    { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire }
  ])
  const requested = [
    'fhir/Questionnaire?_count=0&_has:QuestionnaireResponse:questionnaire:status=completed',
    'fhir/QuestionnaireResponse?_include=QuestionnaireResponse:questionnaire&_include:iterate=Questionnaire:composed-of',
    'fhir/QuestionnaireResponse?_count=1&_include:iterate=QuestionnaireResponse:questionnaire'
  ]
  const searchAll = async () => await Promise.all(requested.map(async path => {
    const { status, body } = await client.send('GET', path)
    return { path, status, total: body.total, entries: body.entry?.length, issue: body.issue }
  }))
  const before = await searchAll()
  await server.storeAll(other.tenantId, [{ resourceType: 'Questionnaire', status: 'active', url: questionnaire }])
  t.same(await searchAll(), before)
})

// HAPI looks up the target of a canonical among the records of all organizations, and reports its requirements.
t.test("$validate discloses nothing of another organization's questionnaires or measures", async t => {
  const gateway = await startGateway(t, { fhirUrl: requireRealBackend().url })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const [theirs, unused] = [randomUUID(), randomUUID()]
  const url = (name: string) => `http://forms.example/${name}`
  const definitions = [
    {
      resourceType: 'Questionnaire',
      url: url(theirs),
      status: 'active',
      item: [{ linkId: 'their-question', text: 'their-question', type: 'string', required: true }]
    },
    {
      resourceType: 'Measure',
      url: url(theirs),
      status: 'active',
      scoring: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/measure-scoring', code: 'proportion' }] },
      group: [
        {
          code: { text: 'their-group' },
          population: [{ code: { text: 'their-population' }, criteria: { language: 'text/cql', expression: 'x' } }]
        }
      ]
    },
    { resourceType: 'Library', url: url(theirs), status: 'active', type: { text: 'x' } }
  ]
  for (const definition of definitions) {
    t.equal((await other.send('POST', `fhir/${definition.resourceType}`, definition)).status, 201)
  }
  const buildResources = (name: string) => [
    {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      questionnaire: url(name),
      item: [{ linkId: 'mine' }]
    },
    {
      resourceType: 'QuestionnaireResponse',
      status: 'completed',
      questionnaire: `${url(name)}|1`,
      item: [{ linkId: 'mine' }]
    },
    {
      resourceType: 'List',
      status: 'current',
      mode: 'working',
      contained: [{ resourceType: 'QuestionnaireResponse', id: 'q', status: 'completed', questionnaire: url(name) }],
      entry: [{ item: { reference: '#q' } }]
    },
    {
      resourceType: 'MeasureReport',
      status: 'complete',
      type: 'summary',
      measure: url(name),
      period: { start: '2020', end: '2021' },
      group: [{ measureScore: { value: 1 } }]
    },
    { resourceType: 'Questionnaire', status: 'active', derivedFrom: [url(name)] },
    {
      resourceType: 'Measure',
      status: 'active',
      library: [url(name)],
      relatedArtifact: [{ type: 'depends-on', resource: url(name) }]
    }
  ]
  for (const [at, resource] of buildResources(theirs).entries()) {
    const [response, unknown] = await Promise.all(
      [resource, buildResources(unused)[at]!].map(body => client.send('POST', `fhir/${body.resourceType}/$validate`, body))
    )
    t.equal(response!.status, 200)
    t.notMatch(response!.text, /their-|urn:uuid/)
    t.equal(
      response!.text.replaceAll(theirs, ''),
      unknown!.text.replaceAll(unused, ''),
      `${resource.resourceType} as by an unknown one`
    )
  }
})

// HAPI stores the other members of a tag once, for all records with its system and code.
t.test('what one organization says in a tag or label is not shown to another that uses the same code', async t => {
  const gateway = await startGateway(t, { fhirUrl: requireRealBackend().url })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  const basic = (coding: object) => ({
    resourceType: 'Basic',
    meta: { tag: [coding], security: [coding] },
    code: { text: 'x' }
  })
  const coding = { system: `urn:ward:${client.tenantId}`, code: '3' }
  const codingDetails = { display: 'Words of the other', version: '7', userSelected: true }
  for (const [method, path] of [['POST', 'fhir/Basic'], ['PUT', 'fhir/Basic/']] as const) {
    const made = await other.send('POST', 'fhir/Basic', basic(method === 'POST' ? { ...coding, ...codingDetails } : coding))
    t.equal(made.status, 201)
    if (method === 'PUT') {
      t.equal(
        (
          await other.send('PUT', path + made.body.id, {
            ...basic({ ...coding, code: '4', ...codingDetails }),
            id: made.body.id
          })
        ).status,
        200
      )
    }
  }
  for (const code of ['3', '4']) {
    const made = await client.send('POST', 'fhir/Basic', basic({ ...coding, code }))
    const read = await client.send('GET', `fhir/Basic/${made.body.id}`)
    t.strictSame(read.body.meta.security, [{ ...coding, code }])
    t.strictSame(
      read.body.meta.tag.filter(({ system }: { system: string }) => system === coding.system),
      [{ ...coding, code }]
    )
  }
})

t.test('a label without a system, which HAPI would take for one of another organization, is refused', async t => {
  const client = await createGatewayClient(await startGateway(t, { fhirUrl: requireRealBackend().url }))
  const { status, body } = await client.send('POST', 'fhir/Basic', {
    resourceType: 'Basic',
    meta: { security: [{ code: '3' }] },
    code: { text: 'x' }
  })
  t.equal(status, 422)
  t.match(body.issue[0], { diagnostics: 'Each label in meta.security needs a system.' })
})

t.test("a tag without a system whose code is another organization's id gives the record to no other organization", async t => {
  const { url } = requireRealBackend()
  const gateway = await startGateway(t, { fhirUrl: url })
  const [client, other] = [await createGatewayClient(gateway), await createGatewayClient(gateway)]
  // HAPI knows the other's tag from then on.
  t.equal((await other.send('POST', 'fhir/Basic', { resourceType: 'Basic', code: { text: 'theirs' } })).status, 201)
  const code = other.tenantId
  for (const tag of [
    { code },
    { system: '', code },
    { system: ' ', code },
    { _system: { extension: [{ url: 'http://x.example/e', valueString: 'x' }] }, code }
  ]) {
    const body = { resourceType: 'Basic', meta: { tag: [tag] }, code: { text: 'mine' } }
    const made = await client.send('POST', 'fhir/Basic', body)
    t.equal(made.status, 201)
    t.equal(
      (await client.send('PUT', `fhir/Basic/${made.body.id}`, { ...body, id: made.body.id, code: { text: 'changed' } }))
        .status,
      200
    )
    t.equal((await client.send('GET', `fhir/Basic/${made.body.id}`)).status, 200, 'its owner still has it')
  }
  t.equal((await createFhirClient(url).fetchTagged(code, 'Basic')).length, 1, 'the other has its own record and no other')
  t.equal((await other.send('GET', 'fhir/Basic')).body.total, 1)
})
