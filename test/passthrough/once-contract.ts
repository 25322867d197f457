import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { printJson } from '../../src/json/json.js'
import { startGateway } from '../harness/gateway.js'
import { startWatched } from '../harness/recording-backend.js'
import {
  buildBundle,
  buildEntry,
  fhirBase,
  parseVersionedId,
  assertRejected,
  patchType,
  buildPatient,
  createFhirSender,
  type RawResponse,
  type Fhir
} from './fixture.js'

const added = [{ op: 'add', path: '/identifier/-', value: { system: 'http://ward', value: '1' } }]
const withIdentifier = buildPatient({ identifier: [{ value: '0' }] })

/** The guarantees of an Idempotency-Key in raw FHIR, whichever FHIR server is behind the gateway. */
export async function testFhirIdempotency (t: Test, fhirUrl: string): Promise<void> {
  const backend = await startWatched(fhirUrl)
  t.after(() => backend.close())
  const gateway = await startGateway(t, { fhirUrl: backend.url, config: { publicUrl: new URL(fhirBase).origin } })
  const join = async (): Promise<Fhir> => {
    const { tenantId, secret } = await gateway.createKey()
    return { tenantId, secret, send: createFhirSender(gateway, secret) }
  }
  const countRecords = async ({ send }: Fhir, path = '/Patient'): Promise<number> =>
    (await send('GET', `${path}?_summary=count`)).resource.total
  const withKey = (key: string, more: object = {}) => ({ 'idempotency-key': key, ...more })
  // HAPI says the whole id of the request as the source only when it stores a record, and cuts it off then.
  const toComparable = ({
    status,
    headers,
    resource: {
      meta: { source: _, ...meta },
      ...content
    }
  }: RawResponse) => [status, headers.etag, headers.location, headers['content-location'], printJson({ ...content, meta })]

  await t.test(
    'a create with a key is done once; sent again it gets the first response, whatever became of the record since',
    async t => {
      const own = await join()
      const key = randomUUID()
      const first = await own.send('POST', '/Patient', buildPatient({ gender: 'female' }), withKey(key))
      t.strictSame([first.status, first.headers['idempotent-replayed']], [201, undefined])
      const id = parseVersionedId(first.headers.location!)
      t.equal((await own.send('PUT', `/Patient/${id}`, { ...first.resource, active: false })).status, 200)
      const again = await own.send('POST', '/Patient', { gender: 'female', ...buildPatient() }, withKey(key))
      t.equal(again.headers['idempotent-replayed'], 'true')
      t.strictSame(toComparable(again), toComparable(first))
      t.equal(await countRecords(own), 1)
      assertRejected(
        t,
        await own.send('POST', '/Patient', buildPatient({ gender: 'male' }), withKey(key)),
        422,
        'another request with the key'
      )
      assertRejected(
        t,
        await own.send('PATCH', `/Patient/${id}`, added, withKey(key, patchType)),
        422,
        'another request with the key'
      )
      t.equal((await own.send('DELETE', `/Patient/${id}`)).status, 204)
      assertRejected(
        t,
        await own.send('POST', '/Patient', buildPatient({ gender: 'female' }), withKey(key)),
        409,
        'what was deleted since is not made again'
      )
    }
  )

  await t.test('a patch with a key is done once, also one that would do more each time', async t => {
    const own = await join()
    const key = randomUUID()
    const id = parseVersionedId((await own.send('POST', '/Patient', withIdentifier)).headers.location!)
    const first = await own.send('PATCH', `/Patient/${id}`, added, withKey(key, patchType))
    t.match(first, { status: 200, resource: { identifier: { length: 2 } } })
    t.equal((await own.send('PUT', `/Patient/${id}`, { ...first.resource, active: false })).status, 200)
    const again = await own.send('PATCH', `/Patient/${id}`, added, withKey(key, patchType))
    t.equal(again.headers['idempotent-replayed'], 'true')
    t.strictSame(toComparable(again), toComparable(first))
    t.match((await own.send('GET', `/Patient/${id}`)).resource, { active: false, identifier: { length: 2 } })
    assertRejected(
      t,
      await own.send('PATCH', `/Patient/${id}`, [...added, ...added], withKey(key, patchType)),
      422,
      'another patch with the key'
    )
  })

  await t.test(
    'a write whose response was lost is found by the next try, and one that was never stored is stored then',
    async t => {
      for (const what of ['answer', 'request'] as const) {
        const own = await join()
        const dropConnection = async (method: string, sending: () => ReturnType<Fhir['send']>): Promise<void> => {
          const held = backend.hold(what, method)
          const first = sending()
          ;(await held).drop()
          t.equal((await first).status, 502)
        }
        const create = (): ReturnType<Fhir['send']> => own.send('POST', '/Patient', withIdentifier, withKey('create'))
        await dropConnection('POST', create)
        const made = await create()
        t.strictSame(
          [made.status, made.headers['idempotent-replayed'], made.resource.meta.versionId],
          [201, what === 'answer' ? 'true' : undefined, '1']
        )
        t.equal(await countRecords(own), 1)
        const change = (): ReturnType<Fhir['send']> =>
          own.send(
            'PATCH',
            `/Patient/${made.resource.id}`,
            added,
            withKey('change', { ...patchType, 'if-match': 'W/"1"' })
          )
        await dropConnection('PUT', change)
        const changed = await change()
        t.strictSame(
          [changed.status, changed.headers['idempotent-replayed'], changed.resource.identifier.length],
          [200, what === 'answer' ? 'true' : undefined, 2]
        )
        t.equal((await own.send('GET', `/Patient/${made.resource.id}`)).resource.identifier.length, 2)
      }
    }
  )

  await t.test('of many concurrent creates with one key one is performed', async t => {
    const own = await join()
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => own.send('POST', '/Patient', buildPatient(), withKey('one')))
    )
    t.strictSame([...new Set(responses.map(({ status }) => status))].sort(), [201, 409])
    t.equal(await countRecords(own), 1)
  })

  await t.test('a key is refused where each request would be performed, and nothing is done', async t => {
    const own = await join()
    const id = parseVersionedId((await own.send('POST', '/Patient', buildPatient())).headers.location!)
    const requests: ReadonlyArray<readonly [method: string, path: string, body: unknown, headers?: object]> = [
      ['POST', '', buildBundle('transaction', buildEntry('POST', 'Patient', buildPatient()))],
      ['POST', '', buildBundle('batch', buildEntry('POST', 'Patient', buildPatient()))],
      ['POST', '/Patient', buildPatient(), { 'if-none-exist': 'identifier=1' }],
      ['PATCH', '/Patient?identifier=1', added, patchType],
      ['POST', '/$export', { resourceType: 'Parameters', parameter: [] }, { prefer: 'respond-async' }],
      ['POST', '/$import', { resourceType: 'Parameters', parameter: [] }, { prefer: 'respond-async' }],
      ['POST', '/Patient', buildPatient(), { 'idempotency-key': 'two words' }]
    ]
    for (const [method, path, body, headers] of requests) {
      const response = await own.send(method, path, body, withKey('key', headers))
      assertRejected(t, response, 400, `${method} ${path}`)
      t.match(response.resource.issue[0].diagnostics, /^Idempotency-Key: /)
    }
    const simple = { 'x-api-key': own.secret, 'content-type': 'application/json', 'idempotency-key': 'key' }
    for (const [url, payload] of [
      ['/v1/bulk/export', {}],
      ['/v1/bulk/import', { resourceType: 'patients', data: '{ "lastName": "Byron" }' }]
    ] as const) {
      t.match(
        (await gateway.inject({ method: 'POST', url, headers: simple, payload })).json(),
        { code: 'BAD_REQUEST', message: /^Idempotency-Key: / },
        url
      )
    }
    t.equal((await gateway.inject({ url: '/v1/bulk/jobs', headers: { 'x-api-key': own.secret } })).json().data.total, 0)
    t.equal(await countRecords(own), 1)
    for (const [method, path, body] of [
      ['GET', `/Patient/${id}`],
      ['POST', '/Patient/_search'],
      ['PUT', `/Patient/${id}`, { ...buildPatient(), id }]
    ] as const) {
      t.equal(
        (
          await own.send(
            method,
            path,
            body,
            withKey('key', path.endsWith('_search') ? { 'content-type': 'application/x-www-form-urlencoded' } : {})
          )
        ).status,
        200,
        `${method} ${path} does nothing twice`
      )
    }
  })
}
