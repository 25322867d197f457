import t from 'tap'
import { json, startFaultyServer } from '../backends/faulty-server.js'
import { isRefused, openWorld } from '../passthrough/fixture.js'

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
    `${url}?start=2020-01-01&end=2021-01-01&_since=2020-01-01T00:00:00Z&_count=5&_type=Patient,Observation`
  )
  const given = [
    { name: 'start', valueDate: '2020-01-01' },
    { name: 'end', valueDate: '2021-01-01' },
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
