import type { Test } from 'tap'
import { parseResponses, exchangeRaw } from '../harness/raw-http.js'
import { startGateway } from '../harness/gateway.js'
import {
  buildBundle,
  buildEntry,
  formType,
  assertRejected,
  buildObservation,
  patchType,
  buildPatient,
  createFhirSender,
  storeResources,
  type World
} from './fixture.js'

/** What raw FHIR refuses, and how: always with an OperationOutcome, whichever part of the gateway refuses. */
export async function testRejections (t: Test, world: World): Promise<void> {
  await t.test('a method that a path does not support is 405 with those that it supports', t => testMethods(t, world))
  await t.test('a path that FHIR does not have is not found', t => testPaths(t, world))
  await t.test('only JSON is read', t => testContentTypes(t, world))
  await t.test('only JSON is returned, however a client requests it', t => testAccept(t, world))
  await t.test('a key is authorized by its scopes and the interaction of a request, not by its method', t => testScopes(t, world))
  await t.test('a request without a valid key is refused', t => testKeys(t, world))
  await t.test('a request beyond the limit per minute is refused', t => testRateLimit(t))
  await t.test('a body beyond the maximum size is refused', t => testBodyLimit(t))
  await t.test('a datastore that is down is reported, without its details', t => testBackendDown(t))
  await t.test('errors of the framework and the parser are OperationOutcomes', t => testMalformedRequests(t, world))
}

async function testMethods (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const paths: ReadonlyArray<readonly [string, string, readonly string[]]> = [
    ['/Patient', 'GET, POST, PUT, PATCH, DELETE', ['OPTIONS', 'TRACE']],
    ['/Patient/1', 'GET, PUT, PATCH, DELETE', ['POST', 'OPTIONS']],
    ['/Patient/1/_history', 'GET', ['POST', 'PUT', 'DELETE', 'PATCH']],
    ['/Patient/1/_history/1', 'GET', ['PUT', 'DELETE', 'POST']],
    ['/Patient/_search', 'POST', ['GET', 'PUT', 'DELETE']],
    ['/Patient/1/$everything', 'GET, HEAD, POST', ['PUT', 'DELETE']],
    ['/Patient/_history', '', ['GET', 'POST']],
    ['/Patient/1/$meta-add', '', ['POST', 'GET']],
    ['/$export', 'GET, POST', ['PUT', 'DELETE']]
  ]
  for (const [path, allow, methods] of paths) {
    for (const method of methods) {
      const response = await send(method, path)
      assertRejected(t, response, { status: 405, code: 'not-supported' }, `${method} ${path}`)
      // Other helpers of the gateway may offer more there; the refused method is never among it.
      for (const offered of allow.split(', ')) {
        t.ok(response.headers.allow!.split(', ').includes(offered), `${path} has ${offered}`)
      }
      t.notOk(response.headers.allow!.split(', ').includes(method), `${path} has no ${method}`)
    }
  }
  for (const [method, path] of [
    ['GET', '/StructureDefinition/1'],
    ['POST', '/SearchParameter'],
    ['PUT', '/Subscription/1'],
    ['DELETE', '/ValueSet/1']
  ] as const) {
    assertRejected(
      t,
      await send(
        method,
        path,
        method === 'POST' || method === 'PUT' ? { resourceType: path.split('/')[1], id: '1' } : undefined
      ),
      405,
      `${method} ${path}: shared by nature`
    )
  }
  for (const name of ['x-http-method-override', 'x-http-method']) {
    assertRejected(t, await send('POST', '/Patient', buildPatient(), { [name]: 'DELETE' }), 400, name)
  }
}

async function testPaths (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const id = (await send('POST', '/Patient', buildPatient())).resource.id
  for (const path of [
    '/patient',
    '/Nothing',
    '/Nothing/1',
    '/Resource/1',
    `/Patient/${id}/`,
    `/Patient//${id}`,
    `/Patient/${id}/x`,
    `/Patient/${id};x=1`,
    `/Patient/${id}%2F_history`,
    `/Patient/${id}%252F`,
    '/Patient/a_b',
    `/Patient/${'x'.repeat(65)}`,
    '/Patient/%00',
    '/Patient/a%20b',
    `/Patient/${id}/_history/`
  ]) {
    assertRejected(t, await send('GET', path), { status: 404, code: 'not-found' }, path.slice(0, 60))
  }
  t.equal((await send('GET', `/%50atient/${id}`)).status, 200, 'a path is decoded once')
  for (const path of [
    '/Patient/%',
    '/Patient/%zz',
    '/Patient/%ff',
    '/%c0%ae',
    '/Patient?family=%ff',
    '/Patient?family=%'
  ]) { assertRejected(t, await send('GET', path), 400, path) }
}

async function testContentTypes (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const { id } = (await send('POST', '/Patient', buildPatient())).resource
  const withType = (type: string) => ({ 'content-type': type })
  for (const type of [
    'text/plain',
    'application/fhir+xml',
    'application/xml',
    'application/fhir+ndjson',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/fhir+json, text/plain',
    'nonsense',
    'application/fhir+json; charset=utf-16'
  ]) {
    assertRejected(t, await send('POST', '/Patient', buildPatient(), withType(type)), 415, `POST ${type}`)
    assertRejected(t, await send('POST', '', buildBundle('batch'), withType(type)), 415, `Bundle ${type}`)
    assertRejected(
      t,
      await send('PATCH', `/Patient/${id}`, [{ op: 'remove', path: '/name' }], withType(type)),
      415,
      `PATCH ${type}`
    )
  }
  const fhirPathPatch = { resourceType: 'Parameters', parameter: [] }
  for (const type of ['application/fhir+json', 'application/merge-patch+json', 'application/xml-patch+xml']) {
    assertRejected(t, await send('PATCH', `/Patient/${id}`, fhirPathPatch, withType(type)), 415, `PATCH ${type}`)
  }
  assertRejected(t, await send('POST', '/Patient', buildPatient(), patchType), 415, 'a patch is no create')
  for (const type of ['application/fhir+json', 'text/plain', 'application/x-www-form-urlencoded; charset=latin1']) {
    assertRejected(t, await send('POST', '/Patient/_search', 'family=Byron', withType(type)), 415, `search ${type}`)
  }
  assertRejected(t, await send('POST', '/Patient', buildPatient(), { 'content-encoding': 'gzip' }), 415, 'compressed')
  t.equal((await send('GET', '/Patient')).resource.total, 1)
}

async function testAccept (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const path = `/Patient/${(await send('POST', '/Patient', buildPatient())).resource.id}`
  for (const accept of [
    'application/fhir+xml',
    'text/turtle',
    'application/fhir+ndjson',
    'text/html',
    'application/fhir+json;q=0',
    'application/fhir+json; fhirVersion=3.0'
  ]) { assertRejected(t, await send('GET', path, undefined, { accept }), 406, accept) }
  for (const format of ['xml', 'ttl', 'application/fhir%2Bxml', 'html', '']) {
    assertRejected(t, await send('GET', `${path}?_format=${format}`), 406, format)
  }
  assertRejected(t, await send('GET', '/Patient?_format=json&_format=xml'), 406, 'two formats')
  for (const accept of [
    '*/*',
    'application/*',
    'application/json',
    'application/fhir+json',
    'application/fhir+json; charset=utf-8',
    'application/fhir+json;fhirVersion=4.0',
    'application/fhir+xml, application/fhir+json;q=0.5',
    'text/html, */*;q=0.1',
    'Application/FHIR+JSON; Charset=UTF-8'
  ]) {
    t.match(
      await send('GET', path, undefined, { accept }),
      { status: 200, headers: { 'content-type': 'application/fhir+json; charset=utf-8' } },
      accept
    )
  }
  t.equal(
    (await send('GET', `${path}?_format=json`, undefined, { accept: 'application/fhir+xml' })).status,
    200,
    '_format counts more than the header'
  )
  t.equal(
    (await send('POST', '/Patient/_search', '_format=json', { ...formType, accept: 'text/html' })).status,
    200,
    'in a form as well'
  )
}

async function testScopes (t: Test, { fhir: join }: World): Promise<void> {
  const all = await join()
  const [reader, writer] = [
    await join({ tenantId: all.tenantId, scopes: ['read'] }),
    await join({ tenantId: all.tenantId, scopes: ['write'] })
  ]
  const [id, going] = await storeResources(all, buildPatient(), buildPatient())
  const reads: ReadonlyArray<readonly [string, string, unknown?, Record<string, string>?]> = [
    ['GET', `/Patient/${id}`],
    ['HEAD', `/Patient/${id}`],
    ['GET', `/Patient/${id}/_history/1`],
    ['GET', `/Patient/${id}/_history`],
    ['GET', '/Patient'],
    ['POST', '/Patient/_search', 'family=Byron', formType]
  ]
  for (const request of reads) {
    t.equal((await reader.send(...request)).status, 200, `${request[0]} ${request[1]} with read`)
    const refused = await writer.send(...request)
    t.equal(refused.status, 403, `${request[0]} ${request[1]} with write`)
    if (request[0] !== 'HEAD') assertRejected(t, refused, { status: 403, code: 'forbidden' }, request[1])
  }
  const writes: ReadonlyArray<readonly [number, string, string, unknown?, Record<string, string>?]> = [
    [201, 'POST', '/Patient', buildPatient()],
    [200, 'PUT', `/Patient/${id}`, buildPatient({ id, active: true })],
    [200, 'PATCH', `/Patient/${id}`, [{ op: 'remove', path: '/active' }], patchType],
    [204, 'DELETE', `/Patient/${going}`]
  ]
  for (const [status, ...request] of writes) {
    assertRejected(
      t,
      await reader.send(...request),
      { status: 403, code: 'forbidden' },
      `${request[0]} ${request[1]} with read`
    )
    t.equal((await writer.send(...request)).status, status, `${request[0]} ${request[1]} with write`)
  }
  const byCriteria: ReadonlyArray<readonly [string, string, unknown?, Record<string, string>?]> = [
    ['PUT', '/Patient?identifier=none', buildPatient()],
    ['PATCH', '/Patient?family=Byron', [{ op: 'test', path: '/active', value: false }], patchType],
    ['DELETE', '/Patient?identifier=none']
  ]
  for (const request of byCriteria) {
    for (const who of [reader, writer]) {
      assertRejected(
        t,
        await who.send(...request),
        { status: 403, code: 'forbidden' },
        `${request[0]} by criteria reads and writes`
      )
    }
  }
  const once = { 'if-none-exist': 'identifier=x' }
  for (const who of [reader, writer]) {
    assertRejected(t, await who.send('POST', '/Patient', buildPatient(), once), 403, 'a conditional create reads and writes')
  }
  t.equal((await all.send('POST', '/Patient', buildPatient({ identifier: [{ value: 'x' }] }), once)).status, 201)
  const mixed = [buildEntry('GET', `Patient/${id}`), buildEntry('POST', 'Patient', buildPatient())]
  const sendMixed = async (who: typeof all) =>
    (await who.send('POST', '', buildBundle('batch', ...mixed))).resource.entry.map(({ response }: any) => [
      response.status.slice(0, 3),
      response.outcome?.issue[0].code
    ])
  t.strictSame(
    [await sendMixed(reader), await sendMixed(writer)],
    [
      [
        ['200', undefined],
        ['403', 'forbidden']
      ],
      [
        ['403', 'forbidden'],
        ['201', undefined]
      ]
    ]
  )
  const before = (await all.send('GET', '/Patient')).resource.total
  for (const who of [reader, writer]) {
    assertRejected(
      t,
      await who.send('POST', '', buildBundle('transaction', ...mixed)),
      { status: 403, code: 'forbidden' },
      'a transaction is refused whole'
    )
  }
  t.equal((await all.send('GET', '/Patient')).resource.total, before)
  t.equal(
    (await reader.send('POST', '', buildBundle('transaction', mixed[0]!))).status,
    200,
    'one that only reads takes a key that reads'
  )
  assertRejected(t, await reader.send('DELETE', '/Patient/no-such'), 403, 'before anything is looked up')
}

async function testKeys (t: Test, { gateway, fhir: join }: World): Promise<void> {
  const { secret } = await join()
  for (const headers of [
    {},
    { 'x-api-key': 'none' },
    { 'x-api-key': `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}` },
    { authorization: `Basic ${secret}` }
  ]) {
    for (const url of ['/v1/fhir/Patient', '/v1/fhir', '/v1/fhir/no/such/path', '/v1/fhir/Patient/1/$everything']) {
      const response = await gateway.inject({ url, headers })
      t.match(
        { status: response.statusCode, headers: response.headers, body: response.json() },
        {
          status: 401,
          headers: { 'content-type': /^application\/fhir\+json/, 'www-authenticate': /ApiKey/ },
          body: { resourceType: 'OperationOutcome', issue: [{ code: 'login' }] }
        },
        `${JSON.stringify(Object.keys(headers))} ${url}`
      )
    }
  }
  const { secret: revoked, keyId } = await gateway.createKey()
  await gateway.control.keys.revoke(keyId, 'test')
  await gateway.catchUp()
  assertRejected(t, await createFhirSender(gateway, revoked)('GET', '/Patient'), { status: 401, code: 'login' }, 'revoked')
}

async function testRateLimit (t: Test): Promise<void> {
  const gateway = await startGateway(t, {
    plans: { pro: { requestsPerMinute: 2, requestsPerMonth: null, overage: true } }
  })
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  t.match(await send('GET', '/Patient'), { status: 200, headers: { 'x-ratelimit-remaining': 1 } })
  t.equal((await send('GET', '/Patient')).status, 200)
  const refused = await send('GET', '/Patient')
  assertRejected(t, refused, { status: 429, code: 'throttled' }, 'the third')
  t.match(refused.headers['retry-after'], /^\d+$/)
}

async function testBodyLimit (t: Test): Promise<void> {
  const gateway = await startGateway(t, { config: { limits: { bundleBytes: 2_048 } } })
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  t.equal((await send('POST', '/Patient', JSON.stringify(buildPatient()).padEnd(2_048))).status, 201)
  assertRejected(
    t,
    await send('POST', '/Patient', JSON.stringify(buildPatient()).padEnd(2_049)),
    { status: 413, code: 'too-long' },
    'one byte more'
  )
  assertRejected(t, await send('POST', '/Patient/_search', `family=${'x'.repeat(2_048)}`, formType), 413, 'a form')
}

async function testBackendDown (t: Test): Promise<void> {
  const gateway = await startGateway(t, { fhirUrl: 'http://127.0.0.1:9/fhir' })
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  const requests: ReadonlyArray<readonly [string, string, unknown?]> = [
    ['GET', '/Patient/1'],
    ['GET', '/Patient'],
    ['POST', '/Patient', buildPatient()],
    ['DELETE', '/Patient/1'],
    ['GET', '/Patient/1/_history'],
    ['POST', '', buildBundle('transaction', buildEntry('POST', 'Patient', buildPatient()))]
  ]
  for (const [method, path, body] of requests) {
    const response = await send(method, path, body)
    assertRejected(t, response, { status: 503, code: 'transient' }, `${method} ${path}`)
    t.match(response.headers['retry-after'], /^\d+$/)
    t.notMatch(response.text, /127\.0\.0\.1|ECONN/)
  }
  const batch = await send(
    'POST',
    '',
    buildBundle('batch', buildEntry('GET', 'Patient/1'), buildEntry('POST', 'Observation', buildObservation('Patient/1')))
  )
  t.strictSame(
    [batch.status, batch.resource.entry.map(({ response }: any) => response.status)],
    [200, ['503 Service Unavailable', '503 Service Unavailable']]
  )
}

async function testMalformedRequests (t: Test, { gateway, fhir: join }: World): Promise<void> {
  const { secret } = await join()
  const buildHead = (line: string, ...headers: string[]) =>
    [line, 'host: h', `x-api-key: ${secret}`, 'connection: close', ...headers, '', ''].join('\r\n')
  const requests: ReadonlyArray<readonly [string, string]> = [
    ['a path that cannot be decoded', buildHead('GET /v1/fhir/Patient/%zz HTTP/1.1')],
    ['a URL that is too long', buildHead(`GET /v1/fhir/Patient?family=${'x'.repeat(20_000)} HTTP/1.1`)],
    ['headers that are too long', buildHead('GET /v1/fhir/Patient HTTP/1.1', `x-long: ${'x'.repeat(20_000)}`)],
    ['a version of HTTP that is none', buildHead('GET /v1/fhir/Patient HTTP/9.9')],
    ['two lengths', buildHead('POST /v1/fhir/Patient HTTP/1.1', 'content-length: 1', 'content-length: 2')],
    ['two hosts', buildHead('GET /v1/fhir/Patient HTTP/1.1', 'host: other')],
    ['no host', buildHead('GET /v1/fhir/Patient HTTP/1.1').replace('host: h\r\n', '')]
  ]
  for (const [name, bytes] of requests) {
    const [response] = parseResponses(await exchangeRaw(gateway.url, bytes))
    t.match(
      response,
      {
        status: 400,
        headers: { 'content-type': 'application/fhir+json; charset=utf-8', 'x-request-id': /./, 'x-timestamp': /Z$/ },
        body: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'invalid', diagnostics: /./ }] }
      },
      name
    )
    const [simple] = parseResponses(await exchangeRaw(gateway.url, bytes.replace('/v1/fhir/Patient', '/v1/fhirs')))
    t.notMatch(simple!.body, { resourceType: 'OperationOutcome' }, `${name}: elsewhere in the envelope`)
  }
}
