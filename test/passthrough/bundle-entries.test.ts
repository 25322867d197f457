import t from 'tap'
import { parseInteraction } from '../../src/api/passthrough/interaction-of.js'
import { decorateBackend } from '../../src/backends/decorate.js'
import { createGatewayClient } from '../harness/client.js'
import { startGateway } from '../harness/gateway.js'
import { startTestSandbox } from '../harness/sandbox.js'
import { createGateway, newTenant, system } from '../tenant-guard/guarded.js'
import { buildBundle, buildEntry, assertRejected, buildPatient, createFhirSender } from './fixture.js'
import { testFhirIdempotency } from './once-contract.js'

// A read in a Bundle returned the record although its sender had that version, and an invalid condition was accepted.
t.test(
  'a read in a Bundle is 304 where the same read alone is, and a condition that cannot be read is refused',
  async t => {
    const client = await createGatewayClient(await startGateway(t))
    const {
      body: { id, meta }
    } = await client.send('POST', 'fhir/Patient', { resourceType: 'Patient', name: [{ family: 'Byron' }] })
    const sendInBundle = async (type: string, conditions: object) =>
      (
        await client.send('POST', 'fhir', {
          resourceType: 'Bundle',
          type,
          entry: [{ request: { method: 'GET', url: `Patient/${id}`, ...conditions } }]
        })
      ).body

    const later = new Date(Date.parse(meta.lastUpdated) + 5_000).toISOString()
    const before = new Date(Date.parse(meta.lastUpdated) - 5_000).toISOString()
    for (const type of ['batch', 'transaction']) {
      for (const conditions of [
        { ifNoneMatch: `W/"${meta.versionId}"` },
        { ifNoneMatch: meta.versionId },
        { ifModifiedSince: later }
      ]) {
        const {
          entry: [{ resource, response }]
        } = await sendInBundle(type, conditions)
        t.equal(resource, undefined, 'the record is not sent again')
        t.match(response, { status: '304 Not Modified', etag: `W/"${meta.versionId}"` })
      }
      for (const conditions of [
        {},
        { ifNoneMatch: 'W/"other"' },
        { ifModifiedSince: before },
        { ifNoneMatch: 'W/"other"', ifModifiedSince: later }
      ]) {
        t.match(await sendInBundle(type, conditions), { entry: [{ resource: { id }, response: { status: '200 OK' } }] })
      }
    }
    for (const conditions of [{ ifNoneMatch: 'B^n' }, { ifNoneMatch: 7 }, { ifModifiedSince: 'yesterday' }]) {
      t.match(await sendInBundle('batch', conditions), { entry: [{ response: { status: '400 Bad Request' } }] })
      t.match(await sendInBundle('transaction', conditions), { resourceType: 'OperationOutcome' })
    }
  }
)

// The issue said where the entry is, but its code was always `invalid`: a client could not distinguish a missing type
// from a typing mistake.
t.test('an entry is refused with the issue code of the same request alone', async t => {
  const gateway = await startGateway(t)
  const send = createFhirSender(gateway, (await gateway.createKey()).secret)
  const entries: ReadonlyArray<readonly [number, string, object]> = [
    [404, 'not-found', buildEntry('GET', 'Nothing/1')],
    [405, 'not-supported', buildEntry('POST', 'Patient/1', buildPatient())],
    [415, 'not-supported', buildEntry('PATCH', 'Patient/1', buildPatient())],
    [400, 'invalid', buildEntry('POST', 'Observation', buildPatient())]
  ]
  for (const [status, code, wrong] of entries) {
    assertRejected(
      t,
      await send('POST', '', buildBundle('transaction', wrong)),
      { status, code, expression: ['Bundle.entry[0]'] },
      `transaction ${status}`
    )
    const { resource } = await send('POST', '', buildBundle('batch', wrong))
    t.match(
      resource.entry[0].response,
      { status: new RegExp(`^${status}`), outcome: { issue: [{ code, expression: ['Bundle.entry[0]'] }] } },
      `batch ${status}`
    )
  }
})

const sandbox = await startTestSandbox(t)
await testFhirIdempotency(t, sandbox.url)

await t.test('the management API refuses an Idempotency-Key, since it performs each request that it gets', async t => {
  const gateway = await startGateway(t)
  const { secret } = await gateway.control.tokens.create({ role: 'operator', name: 'a test token' }, 'test')
  const response = await gateway.inject({
    method: 'POST',
    url: '/control/v1/organizations',
    headers: { authorization: `Bearer ${secret}`, 'idempotency-key': 'key' },
    payload: { name: 'clinic', plan: 'pro' }
  })
  t.match(response.json(), { code: 'BAD_REQUEST', message: /^Idempotency-Key: / })
})

const megabytes = 2 ** 20
const plain = {
  isLenient: false,
  showsWritten: true,
  fhirBase: 'http://gateway.test/v1/fhir',
  method: 'POST',
  path: [],
  query: []
}
const buildReads = (length: number) => Array.from({ length }, () => buildEntry('GET', 'Patient/1'))

/** A datastore with one patient of 4 MiB, which counts its reads. */
function createLargeStore () {
  const tenantId = newTenant()
  const patient = {
    resourceType: 'Patient',
    id: '1',
    meta: { versionId: '1', lastUpdated: '2026-03-14T09:30:00Z', tag: [{ system, code: tenantId }] },
    name: [{ given: Array.from({ length: 4 }, () => 'x'.repeat(megabytes)) }]
  }
  const { backend: real, guard } = createGateway('http://datastore.test/fhir')
  let count = 0
  const send = async () => {
    count++
    return { status: 200, headers: {}, body: JSON.stringify(patient) }
  }
  return { count: () => count, patient, store: guard(tenantId, { backend: decorateBackend(real, { send }) }) }
}

// A thousand reads of a record of 16 MiB, in a Bundle of 100 KB, ended the process: all of them were held until the
// last came.
t.test(
  'the entries of a batch share the maximum size of one response, and those beyond it are not read',
  async t => {
    const { count, store } = createLargeStore()
    const { body = '' } = await store.perform(parseInteraction({ ...plain, body: buildBundle('batch', ...buildReads(100)) }))
    type Entry = { resource?: object; response: { status: string } }
    const entries = (JSON.parse(String(body)) as { entry: Entry[] }).entry
    t.ok(body.length < 65 * megabytes)
    t.ok(count() <= 16 + 8, `${count()} were read`)
    t.equal(entries.filter(({ resource }) => resource !== undefined).length, 15)
    t.match(
      entries.filter(({ resource }) => resource === undefined),
      Array.from({ length: 85 }, () => ({
        response: {
          status: '413 Payload Too Large',
          outcome: { issue: [{ code: 'too-long', diagnostics: /Send this entry in another Bundle/ }] }
        }
      }))
    )
  }
)

t.test('a write beyond the maximum size of the response is done, and its entry has no record', async t => {
  const { store, patient } = createLargeStore()
  const { meta: _, ...content } = patient
  const { body = '' } = await store.perform(
    parseInteraction({
      ...plain,
      body: buildBundle('batch', ...buildReads(40), buildEntry('PUT', 'Patient/1', { ...content, name: [{ family: 'Byron' }] }))
    })
  )
  const last = (JSON.parse(String(body)) as { entry: unknown[] }).entry.at(-1)
  t.match(last, { response: { status: '200 OK', etag: 'W/"1"' } })
  t.notOk(Object.hasOwn(last as object, 'resource'))
})
