import t, { type Test } from 'tap'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import { parseVersions } from '../../src/envelope/preconditions.js'
import type { Batch } from '../../src/tenant-guard/interaction.js'
import { startGateway } from '../harness/gateway.js'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'
import { buildBundle, buildEntry, assertRejected, buildPatient, createFhirSender } from '../passthrough/fixture.js'

// A parameter after the media type made it another type, so that valid clients got 406.
t.test('a media type is accepted with the parameters that hold for every response', async t => {
  const { createKey, inject } = await startGateway(t)
  const { secret } = await createKey()
  const get = (url: string, accept: string) => inject({ url, headers: { 'x-api-key': secret, accept } })
  for (const accept of [
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/fhir+json; fhirVersion=4.0',
    'application/fhir+json; fhirVersion=4.0; charset=utf-8; q=0.8'
  ]) {
    for (const url of ['/v1/patients', '/v1/fhir/Patient', '/v1/metadata']) {
      t.equal((await get(url, accept)).statusCode, 200, `${url} ${accept}`)
    }
  }
  for (const accept of ['application/fhir+json; fhirVersion=3.0', 'application/json; charset=utf-16']) {
    for (const url of ['/v1/patients', '/v1/fhir/Patient']) {
      t.equal((await get(url, accept)).statusCode, 406, `${url} ${accept}`)
    }
  }
  t.match((await get('/v1/metadata', 'application/json; charset=utf-8')).headers['content-type'], /^application\/json/)
})

const json = 'content-type: application/fhir+json'
const body = JSON.stringify(buildPatient({ name: [{ family: 'Müller' }], identifier: [{ system: 'urn:mrn', value: '1' }] }))

/** A gateway, and a function that posts to it over a socket, in UTF-8, as clients write headers. */
async function startPoster (t: Test) {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const post = async (type: string, content: string, ...headers: readonly string[]) => {
    const head = [
      `POST /v1/fhir/${type} HTTP/1.1`,
      'host: gateway.test',
      `x-api-key: ${secret}`,
      'connection: close',
      `content-length: ${Buffer.byteLength(content)}`,
      ...headers
    ]
    const [response] = parseResponses(await exchangeRaw(gateway.url, Buffer.from(`${head.join('\r\n')}\r\n\r\n${content}`)))
    return { status: response!.status, body: JSON.parse(response!.text) }
  }
  return { post, send: createFhirSender(gateway, secret) }
}

const buildRejection = (header: string, message: RegExp) => ({
  status: 400,
  body: { issue: [{ diagnostics: new RegExp(`^${header}: .*${message.source}`) }] }
})

// Node takes the bytes for Latin-1, so that no record matched and the same patient was created each time.
t.test('a condition outside of ASCII is rejected, and accepted when it is percent-encoded', async t => {
  const { post, send } = await startPoster(t)
  t.match(
    await post('Patient', body, json, 'if-none-exist: family=Müller'),
    buildRejection('If-None-Exist', /printable ASCII/)
  )
  t.equal((await send('GET', '/Patient?_summary=count')).resource.total, 0, 'nothing was made')
  const encoded = `if-none-exist: family=${encodeURIComponent('Müller')}`
  t.equal((await post('Patient', body, json, encoded)).status, 201)
  t.equal((await post('Patient', body, json, encoded)).status, 200)
})

// Joined by a comma they were one condition with two values, neither of which is the record's.
t.test('a condition that is sent twice is rejected', async t => {
  const { post, send } = await startPoster(t)
  const header = 'If-None-Exist: identifier=urn:mrn|1'
  t.match(await post('Patient', body, json, header, header), buildRejection('If-None-Exist', /once/))
  t.equal((await send('GET', '/Patient?_summary=count')).resource.total, 0, 'nothing was made')
  t.equal((await post('Patient', body, json, header)).status, 201)
  t.equal((await post('Patient', body, json, header)).status, 200)
})

t.test('so is the owner of a content', async t => {
  const { post, send } = await startPoster(t)
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  const header = `X-Security-Context: Patient/${id}`
  t.match(
    await post('Binary', 'content', 'content-type: text/plain', header, header),
    buildRejection('X-Security-Context', /once/)
  )
  t.match(
    await post('Binary', 'content', 'content-type: text/plain', `${header}ü`),
    buildRejection('X-Security-Context', /printable ASCII/)
  )
  t.equal((await post('Binary', 'content', 'content-type: text/plain', header)).status, 201)
})

t.test('in an entry of a Bundle, which is UTF-8, a condition has any character', async t => {
  const { send } = await startPoster(t)
  const once = buildBundle('transaction', {
    resource: JSON.parse(body),
    request: { method: 'POST', url: 'Patient', ifNoneExist: 'family=Müller' }
  })
  t.match((await send('POST', '', once)).resource.entry, [{ response: { status: /^201/ } }])
  t.match((await send('POST', '', once)).resource.entry, [{ response: { status: /^200/ } }])
})

// fhirpy refreshes a record with the version without quotes, and HAPI's client sends a tag twice where it is also set
// by hand: both got 400.
t.test('a version is accepted in the forms that clients send', async t => {
  const gateway = await startGateway(t)
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  t.equal((await send('GET', `/Patient/${id}`, undefined, { 'if-none-match': '1' })).status, 304)
  t.equal((await send('GET', `/Patient/${id}`, undefined, { 'if-none-match': '2' })).status, 200)
  t.match(await send('PUT', `/Patient/${id}`, buildPatient({ id, active: true }), { 'if-match': 'W/"1", W/"1"' }), {
    status: 200,
    headers: { etag: 'W/"2"' }
  })
  assertRejected(
    t,
    await send('PUT', `/Patient/${id}`, buildPatient({ id }), { 'if-match': 'W/"1", "1"' }),
    412,
    'an old one, twice'
  )
  assertRejected(
    t,
    await send('PUT', `/Patient/${id}`, buildPatient({ id }), { 'if-match': 'W/"1", W/"2"' }),
    400,
    'two versions cannot be demanded of a datastore'
  )
  assertRejected(t, await send('PUT', `/Patient/${id}`, buildPatient({ id }), { 'if-match': '2' }), 400, 'a demand must be clear')
})

// HAPI's client had no id of the updated record, since it reads it from there.
t.test('a response that shows a record names its location, with the version', async t => {
  const gateway = await startGateway(t)
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  const created = await send('POST', '/Patient', buildPatient())
  const { id } = created.resource
  t.equal(created.headers['content-location'], created.headers.location)
  const updated = await send('PUT', `/Patient/${id}`, buildPatient({ id, active: true }))
  const read = await send('GET', `/Patient/${id}`)
  for (const { headers } of [updated, read]) {
    t.equal(headers['content-location'], created.headers.location!.replace(/1$/, '2'))
  }
})

const spaces = ' '.repeat(2_000_000)

// The time was the square of the number of spaces: the entry of a Bundle may have millions, and half a million took two
// minutes.
t.test('an entity tag after millions of spaces is read or rejected', async t => {
  t.strictSame(parseVersions(`"1"${spaces},${spaces}W/"2"`, 'If-Match'), ['1', '2'])
  t.throws(() => parseVersions(`"1"${spaces}x`, 'If-Match'), { code: 'BAD_REQUEST' })
  const patient = { resourceType: 'Patient', id: '1' }
  const sent = buildBundle(
    'batch',
    buildEntry('GET', 'Patient/1', undefined, { ifNoneMatch: `"1"${spaces}x` }),
    buildEntry('PUT', 'Patient/1', patient, { ifMatch: `"1"${spaces}x` })
  )
  const { entries } = parseInteraction({
    method: 'POST',
    path: [],
    query: [],
    body: sent,
    isLenient: false,
    showsWritten: false,
    fhirBase: ''
  }) as Batch
  t.match(entries, [{ failure: { code: 'BAD_REQUEST' } }, { failure: { code: 'BAD_REQUEST' } }])
})

// Node responded 417 by itself: no envelope, no request id, no log line, and no key was required.
t.test('an unknown expectation is ignored, and the request is processed', async t => {
  const { url, createKey } = await startGateway(t)
  const { secret } = await createKey()
  const get = async (path: string, ...headers: readonly string[]) => {
    const [response] = parseResponses(
      await exchangeRaw(
        url,
        [
          `GET ${path} HTTP/1.1`,
          'host: gateway.test',
          'connection: close',
          'expect: miracles',
          ...headers,
          '',
          ''
        ].join('\r\n')
      )
    )
    return { status: response!.status, body: JSON.parse(response!.text) }
  }
  t.match(await get('/v1/patients'), { status: 401, body: { code: 'UNAUTHORIZED', meta: { status: 401 } } })
  t.match(await get('/v1/fhir/Patient'), { status: 401, body: { resourceType: 'OperationOutcome' } })
  t.match(await get('/v1/patients', `x-api-key: ${secret}`), { status: 200, body: { data: { total: 0 } } })
})

// A request that was rejected before its route was known got the envelope, which no FHIR client reads.
t.test(
  'every rejection below /v1/fhir is an OperationOutcome, and elsewhere the envelope',
  async t => {
    const { url } = await startGateway(t)
    for (const [line, isFhir] of [
      ['GET /v1/fhir/%zz', true],
      ['GET /v1/fhir/%', true],
      [`GET /v1/fhir?x=${'x'.repeat(20_000)}`, true],
      ['GET /v1/fhirs/%zz', false],
      [`GET /v1/patients?x=${'x'.repeat(20_000)}`, false]
    ] as const) {
      const [response] = parseResponses(await exchangeRaw(url, `${line} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`))
      const expected = isFhir
        ? { resourceType: 'OperationOutcome', issue: [{ code: 'invalid' }] }
        : { data: null, code: 'BAD_REQUEST' }
      t.match(
        response,
        {
          status: 400,
          headers: { 'content-type': isFhir ? /^application\/fhir\+json/ : /^application\/json/ },
          body: expected
        },
        line.slice(0, 40)
      )
    }
  }
)

// Where no key is needed, another method was rejected as if the path were unknown, its media type wrong or a key
// missing.
t.test('another method on a path that needs no key gets 405 with Allow, whatever the request holds', async t => {
  const { url } = await startGateway(t)
  const sendRequest = async (method: string, path: string, ...more: string[]) =>
    parseResponses(
      await exchangeRaw(
        url,
        [`${method} ${path} HTTP/1.1`, 'host: h', 'connection: close', ...more, '', ''].join('\r\n')
      )
    )[0]!
  for (const path of ['/health', '/openapi.json', '/v1/metadata']) {
    for (const [method, ...headers] of [
      ['TRACE'],
      ['QUERY'],
      ['DELETE'],
      ['OPTIONS'],
      ['POST', 'content-type: text/plain', 'content-length: 0'],
      ['PUT', 'content-type: nonsense']
    ] as const) {
      const {
        status,
        headers: { allow },
        body
      } = await sendRequest(method, path, ...headers)
      t.strictSame([status, allow], [405, 'GET, HEAD'], `${method} ${path}`)
      t.match(body, { data: null, code: 'METHOD_NOT_ALLOWED', meta: { status: 405 } })
    }
  }
  t.equal((await sendRequest('TRACE', '/nowhere')).status, 404)
  for (const path of ['/v1', '/v1/', '/v1/nowhere', '/v1/patients', '/v1/metadata/x']) {
    t.equal((await sendRequest('TRACE', path)).status, 401, `${path} tells nothing without a key`)
  }
})

t.test('Allow in raw FHIR names HEAD wherever it is served', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.createKey()
  const allowOf = async (method: 'PUT' | 'POST' | 'DELETE', path: string) =>
    (await gateway.inject({ method, url: `/v1/fhir/${path}`, headers: { 'x-api-key': secret } })).headers.allow
  t.equal(await allowOf('DELETE', 'Patient/x/_history'), 'GET, HEAD')
  t.equal(await allowOf('POST', 'Patient/x'), 'GET, HEAD, PUT, PATCH, DELETE')
  t.equal(await allowOf('PUT', '$export'), 'GET, POST', 'which a HEAD would begin')
})

t.test('a body of another media type is rejected with the accepted ones', async t => {
  const { createKey, inject } = await startGateway(t)
  const { secret } = await createKey()
  for (const [method, url, types] of [
    ['POST', '/v1/patients', ['application/json', 'application/fhir+json']],
    ['PUT', '/v1/fhir/Patient/p1', ['application/fhir+json', 'application/json']],
    ['PATCH', '/v1/patients/p1', ['application/json', 'application/merge-patch+json', 'application/json-patch+json']],
    ['PATCH', '/v1/fhir/Patient/p1', ['application/json-patch+json', 'application/json']]
  ] as const) {
    const headers = { 'x-api-key': secret, 'content-type': 'text/plain' }
    const refused = await inject({ method, url, headers, payload: '{}' })
    const { message, issue } = refused.json() as { message?: string, issue?: [{ diagnostics: string }] }
    t.equal(refused.statusCode, 415, url)
    for (const type of types) t.match(message ?? issue![0].diagnostics, type, `${method} ${url}`)
  }
})
