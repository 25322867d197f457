import type { Test } from 'tap'
import { createFhirClient } from '../harness/fhir-server.js'
import {
  parseVersionedId, assertRejected, buildPatient, storeResources, type RawResponse, type Fhir, type World
} from './fixture.js'

/** Reads and writes of content, whichever FHIR server is behind the gateway: http://hl7.org/fhir/R4/binary.html */
export async function testBinary (t: Test, world: World, serverUrl: string): Promise<void> {
  await t.test('content is returned as it was sent when Accept has no media type of FHIR', t => testRoundTrip(t, world))
  await t.test('and as a resource when it has one', t => testAsResource(t, world))
  await t.test('content that was stored as a resource is returned as content, and does not run in a browser', t =>
    testContentOfResource(t, world)
  )
  await t.test('it is stored with the tenant\'s tag, as the resource would be', t => testStoredTag(t, world, serverUrl))
  await t.test('the security context must lead to a record of the tenant', t => testSecurityContext(t, world))
  await t.test('content of other tenants is not found', t => testOtherTenants(t, world))
  await t.test('content is replaced under its id and version', t => testReplace(t, world))
  await t.test('invalid content is refused', t => testInvalidContent(t, world))
}

// Each byte once: invalid UTF-8 shows whether it was converted to text.
const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
const png = { 'content-type': 'image/png' }

/** The content itself, which the sender of JSON cannot show. */
async function fetchContent (
  { gateway }: World,
  { secret }: Fhir,
  id: string,
  headers: Readonly<Record<string, string>> = {}
) {
  return await gateway.inject({ url: `/v1/fhir/Binary/${id}`, headers: { 'x-api-key': secret, ...headers } })
}

const getCreatedId = ({ headers }: RawResponse): string => parseVersionedId(headers.location!)

async function testRoundTrip (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  // Medplum's client names the file in the URL.
  const made = await fhir.send('POST', '/Binary?_filename=scan.png', bytes, png)
  t.match(made, {
    status: 201,
    headers: { etag: 'W/"1"' },
    resource: { resourceType: 'Binary', contentType: 'image/png', data: bytes.toString('base64') }
  })
  for (const accept of [undefined, '*/*', 'image/png', 'image/*', 'text/html, image/png;q=0.1', '']) {
    const out = await fetchContent(world, fhir, getCreatedId(made), accept === undefined ? {} : { accept })
    t.strictSame(
      [
        out.statusCode,
        out.headers['content-type'],
        out.headers['content-disposition'],
        out.headers['x-content-type-options'],
        out.headers.etag
      ],
      [200, 'image/png', 'attachment', 'nosniff', 'W/"1"'],
      String(accept)
    )
    t.ok(out.rawPayload.equals(bytes), String(accept))
  }
  for (const type of [
    'text/plain; charset=utf-8',
    'application/pdf',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary="a b"',
    'application/vnd.ms-excel',
    'text/html',
    'application/hl7-v2+er7'
  ]) {
    const sent = await fhir.send('POST', '/Binary', Buffer.from('a=b&c'), { 'content-type': type })
    t.equal(sent.status, 201, type)
    const out = await fetchContent(world, fhir, getCreatedId(sent))
    t.strictSame([out.headers['content-type'], out.body], [type, 'a=b&c'], type)
  }
  const unchanged = await fetchContent(world, fhir, getCreatedId(made), { 'if-none-match': 'W/"1"' })
  t.strictSame([unchanged.statusCode, unchanged.body], [304, ''])
  const head = await world.gateway.inject({
    method: 'HEAD',
    url: `/v1/fhir/Binary/${getCreatedId(made)}`,
    headers: { 'x-api-key': fhir.secret }
  })
  t.strictSame(
    [head.statusCode, head.body, head.headers['content-type'], head.headers['content-length']],
    [200, '', 'image/png', '256']
  )
}

async function testAsResource (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  const id = getCreatedId(await send('POST', '/Binary', bytes, png))
  const fhirType = 'application/fhir+json; charset=utf-8'
  for (const headers of [
    { accept: 'application/fhir+json' },
    { accept: 'application/json' },
    { accept: 'application/fhir+json;fhirVersion=4.0, */*;q=0.1' }
  ]) {
    t.match(
      await send('GET', `/Binary/${id}`, undefined, headers),
      {
        status: 200,
        headers: { 'content-type': fhirType },
        resource: { id, contentType: 'image/png', data: bytes.toString('base64') }
      },
      JSON.stringify(headers)
    )
  }
  t.match(await send('GET', `/Binary/${id}?_format=json`), { status: 200, headers: { 'content-type': fhirType } })
  t.match(await send('GET', `/Binary/${id}/_history/1`), { status: 200, headers: { 'content-type': fhirType } })
  t.match(await send('GET', `/Binary?_id=${id}`), {
    status: 200,
    headers: { 'content-type': fhirType },
    resource: { total: 1 }
  })
  for (const accept of ['application/fhir+xml', 'text/plain', 'application/fhir+ndjson', 'image/png;q=0']) {
    assertRejected(t, await send('GET', `/Binary/${id}`, undefined, { accept }), 406, accept)
  }
}

async function testContentOfResource (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  for (const [contentType, expected] of [
    ['text/html', 'text/html'],
    ['image/svg+xml', 'image/svg+xml'],
    ['nonsense', 'application/octet-stream'],
    ['text/html,x', 'application/octet-stream']
  ] as const) {
    const made = await fhir.send('POST', '/Binary', {
      resourceType: 'Binary',
      contentType,
      data: bytes.toString('base64')
    })
    const out = await fetchContent(world, fhir, getCreatedId(made))
    t.strictSame(
      [out.headers['content-type'], out.headers['content-disposition'], out.headers['content-security-policy']],
      [expected, 'attachment', "sandbox; default-src 'none'"],
      contentType
    )
    t.ok(out.rawPayload.equals(bytes))
  }
  const empty = await fhir.send('POST', '/Binary', { resourceType: 'Binary', contentType: 'text/plain' })
  const out = await fetchContent(world, fhir, getCreatedId(empty))
  t.strictSame([out.statusCode, out.body, out.headers['content-type']], [200, '', 'text/plain'])
}

async function testStoredTag (t: Test, { fhir: join }: World, serverUrl: string): Promise<void> {
  const { send, tenantId } = await join()
  const id = getCreatedId(await send('POST', '/Binary', bytes, png))
  t.match(await createFhirClient(serverUrl).fetchTagged(tenantId, 'Binary'), [
    { id, contentType: 'image/png', data: bytes.toString('base64') }
  ])
}

async function testSecurityContext (t: Test, { fhir: join }: World): Promise<void> {
  const [fhir, other] = [await join(), await join()]
  const [[own], [foreign]] = [await storeResources(fhir, buildPatient()), await storeResources(other, buildPatient())]
  for (const reference of [`Patient/${own}`, `https://gateway.test/v1/fhir/Patient/${own}`]) {
    t.match(await fhir.send('POST', '/Binary', bytes, { ...png, 'x-security-context': reference }), {
      status: 201,
      resource: { securityContext: { reference: `Patient/${own}` } }
    })
  }
  const responses = await Promise.all(
    [`Patient/${foreign}`, 'Patient/nobody'].map(reference =>
      fhir.send('POST', '/Binary', bytes, { ...png, 'x-security-context': reference })
    )
  )
  for (const response of responses) {
    assertRejected(
      t,
      response,
      { status: 422, code: 'business-rule', expression: ['Binary.securityContext'] },
      'a foreign context'
    )
    t.equal(response.text, responses[0]!.text)
  }
  const criteria = await fhir.send('POST', '/Binary', bytes, { ...png, 'x-security-context': 'Patient?_id=x' })
  assertRejected(t, criteria, { status: 422, code: 'business-rule', expression: ['Binary.securityContext'] }, 'criteria')
}

async function testOtherTenants (t: Test, world: World): Promise<void> {
  const [fhir, other] = [await world.fhir(), await world.fhir()]
  const foreign = getCreatedId(await other.send('POST', '/Binary', bytes, png))
  for (const accept of ['*/*', 'image/png', 'text/plain']) {
    const [theirs, unknown] = [
      await fetchContent(world, fhir, foreign, { accept }),
      await fetchContent(world, fhir, 'nobody', { accept })
    ]
    t.strictSame([theirs.statusCode, theirs.body], [404, unknown.body], accept)
    t.match(theirs.headers['content-type'], 'application/fhir+json')
  }
  assertRejected(t, await fhir.send('PUT', `/Binary/${foreign}`, bytes, png), 404, 'PUT')
  assertRejected(t, await fhir.send('PUT', '/Binary/nobody', bytes, png), 404, 'PUT of none')
}

async function testReplace (t: Test, world: World): Promise<void> {
  const fhir = await world.fhir()
  const id = getCreatedId(await fhir.send('POST', '/Binary', bytes, png))
  t.match(
    await fhir.send('PUT', `/Binary/${id}`, Buffer.from('new'), { 'content-type': 'text/plain', 'if-match': 'W/"1"' }),
    { status: 200, resource: { id, contentType: 'text/plain' } }
  )
  assertRejected(t, await fhir.send('PUT', `/Binary/${id}`, bytes, { ...png, 'if-match': 'W/"1"' }), 412, 'an old version')
  t.equal((await fetchContent(world, fhir, id)).body, 'new')
}

async function testInvalidContent (t: Test, { fhir: join }: World): Promise<void> {
  const { send } = await join()
  for (const type of ['application/fhir+xml', 'application/fhir+turtle', 'nonsense', 'image/', 'text/plain; a']) {
    assertRejected(t, await send('POST', '/Binary', Buffer.from('x'), { 'content-type': type }), 415, type)
  }
  assertRejected(t, await send('POST', '/Binary', bytes, { ...png, 'content-encoding': 'gzip' }), 415, 'packed')
  assertRejected(
    t,
    await send('POST', '/Binary', '{"a":1}', { 'content-type': 'application/json' }),
    400,
    'JSON is the resource'
  )
  assertRejected(t, await send('POST', '/Patient', bytes, png), 415, 'another type')
  assertRejected(t, await send('POST', '/Binary', Buffer.alloc(0), png), 400, 'nothing')
  assertRejected(t, await send('POST', '/Binary', Buffer.alloc(16 * 1024 * 1024 + 1), png), 413, 'too large')
  assertRejected(
    t,
    await (await join({ scopes: ['read'] })).send('POST', '/Binary', bytes, png),
    403,
    'a key that may not write'
  )
}
